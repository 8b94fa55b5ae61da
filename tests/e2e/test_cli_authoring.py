"""import, new, set and fmt as people use them; import against a running fleet that has been kept by hand."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitops_mc.adapters.system import ScaledClock
from gitops_mc.core.model import JsonObject
from gitops_mc.sandbox.options import SandboxOptions
from gitops_mc.sandbox.serving import serve
from tests.core.machine_configs import file, machine_config
from tests.e2e.program import Place

SPEED = 240
SECRET = "hunter2-is-no-password"
UNIT = "[Unit]\nDescription=x\n[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n"


def by_hand() -> list[JsonObject]:
    """What somebody has applied with kubectl, in the spellings of several tools."""
    files = [
        file("/etc/chrony.conf", "data:,server%20ntp-1.example.com%20iburst%0A", mode=0o644),
        file("/etc/registry/token", f"data:,{SECRET}", mode=0o600),
        file("/opt/tool/data.bin", "data:;base64,AAEC/w==", mode=0o755),
    ]
    units = [{"name": "x.service", "contents": UNIT}]
    return [
        machine_config("50-worker-chrony", files=files, units=units, kernel_arguments=[f"app.token={SECRET}"])
    ]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """Two clusters; on the first one somebody has been at work, and its nodes have what he applied."""
    folder = tmp_path_factory.mktemp("fleet")
    stop = threading.Event()
    clock = ScaledClock(SPEED, stop=stop)
    serving = serve(SandboxOptions(clusters=2), clock, SPEED, folder, stop)
    try:
        person = serving.fleet.person("edge-1")
        for body in by_hand():
            person.apply("machineconfigs", body)
        person.edit("machineconfigpools", "worker", {"spec": {"maxUnavailable": 2}})
        end = time.monotonic() + 30
        while not _settled(person.get("machineconfigpools", "worker")):
            assert time.monotonic() < end
            time.sleep(0.05)
        (folder / "reader").write_text(serving.fleet.reader_token)
        environment = {"GITOPS_MC_GATEWAY": serving.url, "GITOPS_MC_TOKEN_FILE": str(serving.token_file)}
        yield Place(folder, environment, serving.fleet, serving.kubeconfig)
    finally:
        serving.stop()


def _settled(pool: JsonObject | None) -> bool:
    """Every node of the pool has what was applied."""
    assert pool is not None
    rendered = pool["spec"].get("configuration", {})
    sources = [source["name"] for source in rendered.get("source", ())]
    done = pool.get("status", {}).get("configuration", {}).get("name")
    return "50-worker-chrony" in sources and rendered.get("name") == done


@pytest.fixture
def place(fleet: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.chdir(tmp_path)
    for name, value in fleet.environment.items():
        monkeypatch.setenv(name, value)
    return Place(tmp_path, fleet.environment, fleet.fleet, fleet.kubeconfig)


def files_below(folder: Path) -> dict[str, bytes]:
    return {
        p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()
    }


def test_what_stands_on_a_cluster_becomes_files_and_a_plan_of_them_changes_no_node(place: Place) -> None:
    ended = place.run("import", "--cluster", "edge-1", "repo")
    assert ended.code == 0, ended.err
    assert "edge-1: 3 objects in 5 files written" in ended.out
    assert "a rollout adopts 3 objects, which writes nothing but our marks; nothing else happens" in ended.out
    found = files_below(place.folder / "repo")
    assert found["clusters/edge-1/files/50-worker-chrony/opt/tool/data.bin"] == b"\0\1\2\xff"
    manifest = found["clusters/edge-1/50-worker-chrony.yaml"].decode()
    assert "          inline: |\n            server ntp-1.example.com iburst\n".replace(
        " ", ""
    ) in manifest.replace(" ", "")
    assert "mode: 0755" in manifest
    assert place.here("validate", "repo").code == 0
    plan = place.here("plan", "repo", "--cluster", "edge-1")
    assert plan.code == 0
    assert "= adopt MachineConfig 50-worker-chrony" in plan.out
    assert "0 nodes to reboot, 0 to drain" in plan.out
    assert not re.search(r"^ +[~+] ", plan.out, flags=re.MULTILINE)
    assert not re.search(
        r"^ +[~+] ", place.here("diff", "repo", "--cluster", "edge-1").out, flags=re.MULTILINE
    )


def test_secrets_are_named_and_never_shown_and_stay_out_where_that_is_asked(place: Place) -> None:
    shown = place.here("import", "--cluster", "edge-1", "repo", "--output-only")
    assert "warning: 2 places may hold a secret" in shown.err
    assert "file /etc/registry/token of MachineConfig 50-worker-chrony" in shown.err
    assert 'in fleet.yaml: sensitive: ["/etc/registry/token", "kernelArguments"]' in shown.err
    assert SECRET not in shown.out + shown.err
    assert not (place.folder / "repo").exists()
    ended = place.here("import", "--cluster", "edge-1", "repo", "--secrets", "leave-out")
    assert "it may hold a secret: file /etc/registry/token, kernelArguments" in ended.out
    assert SECRET.encode() not in b"".join(files_below(place.folder / "repo").values())


def test_an_import_into_a_repository_leaves_alone_what_is_there(place: Place) -> None:
    place.write(
        {
            "repo/fleet.yaml": "apiVersion: gitops-mc.io/v1alpha1\nkind: FleetConfig\nspec:\n"
            "  shared: [{path: shared/base, clusters: {}}]\n",
            "repo/shared/base/pool.yaml": "apiVersion: machineconfiguration.alauda.io/v1alpha1\n"
            "kind: MachineConfigPool\nmetadata: {name: worker}\nspec: {maxUnavailable: 1}\n",
            "repo/clusters/edge-1/files/50-worker-chrony/etc/registry/token": "somebody's",
        }
    )
    before = files_below(place.folder / "repo")
    ended = place.here("import", "--cluster", "edge-1", "repo", "-o", "json")
    told = json.loads(ended.out)
    assert ended.code == 0
    assert {"kind": "MachineConfigPool", "name": "worker", "reason": "the repository has it already"} in told[
        "leftOut"
    ]
    (beside,) = told["beside"]
    assert beside.startswith("refused MachineConfigPool worker: it conflicts with other field managers")
    after = files_below(place.folder / "repo")
    assert {path: after[path] for path in before} == before
    assert told["written"] is True


def test_errors_that_touch_the_cluster_come_first_and_nothing_is_written(place: Place) -> None:
    place.write({"repo/clusters/edge-1/a.yaml": "kind: [\n"})
    ended = place.here("import", "--cluster", "edge-1", "repo")
    assert (ended.code, ended.out) == (4, "")
    assert "clusters/edge-1/a.yaml:2:1: error" in ended.err
    assert list(files_below(place.folder / "repo")) == ["clusters/edge-1/a.yaml"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--cluster", "edge-11"], 2, "did you mean edge-1?"),
        (["--cluster", "../edge-1"], 2, "is no cluster name"),
        (["--cluster", "edge-1", "--token-file", "wrong"], 1, "401"),
        (["--cluster", "edge-1", "--secrets", "maybe"], 2, "'write', 'leave-out'"),
        ([], 2, "Missing option '--cluster'"),
    ],
)
def test_what_cannot_be_imported_is_said_and_leaves_nothing(
    place: Place, arguments: list[str], code: int, message: str
) -> None:
    place.write({"wrong": "wrong-token-value"})
    ended = place.here("import", "repo", *arguments)
    assert ended.code == code, ended.err
    assert message in ended.err
    assert not (place.folder / "repo").exists()


def test_a_token_that_may_only_read_can_import(place: Place, fleet: Place) -> None:
    ended = place.here("import", "--cluster", "edge-2", "repo", "--token-file", str(fleet.folder / "reader"))
    assert ended.code == 0
    assert list(files_below(place.folder / "repo")) == ["clusters/edge-2/module-machine-config.yaml"]


def test_adopted_and_then_changed_in_git(place: Place) -> None:
    """Last, since it writes to the fleet: from the import to the first change, with what each step says to do."""
    assert place.fleet is not None
    person = place.fleet.person("edge-1")
    before = person.get("machineconfigs", "50-worker-chrony")
    place.here("import", "--cluster", "edge-1", "repo")
    assert place.run("apply", "repo", "--yes").code == 6  # first contact waits for a human
    ended = place.run("apply", "repo", "--yes", "--approve", "edge-1")
    assert ended.code == 0, ended.out + ended.err
    adopted = person.get("machineconfigs", "50-worker-chrony")
    assert before is not None
    assert adopted is not None
    assert adopted["spec"] == before["spec"]
    manifest = place.folder / "repo/clusters/edge-1/50-worker-chrony.yaml"
    text = manifest.read_text().replace("ntp-1", "ntp-2")
    manifest.write_text(text)
    refused = place.here("plan", "repo")
    assert "set gitops-mc.io/adopt-from: kubectl-client-side-apply on the manifest" in refused.out
    note = "  annotations:\n    gitops-mc.io/adopt-from: kubectl-client-side-apply\n  labels:"
    manifest.write_text(text.replace("  labels:", note, 1))
    assert place.run("apply", "repo", "--yes").code == 0
    changed = person.get("machineconfigs", "50-worker-chrony")
    assert changed is not None
    assert changed["spec"] != before["spec"]
    assert place.here("plan", "repo", "--exit-code").code == 0


# --------------------------------------------------------------------------------------- without a connection


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.chdir(tmp_path)
    return Place(tmp_path)


def test_a_repository_from_nothing_is_valid_at_every_step(desk: Place) -> None:
    steps = (
        ("cluster", "edge-1", "--version", "v4.3.0"),
        ("cluster", "edge-2"),
        ("machineconfig", "50-worker-chrony", "--cluster", "edge-1"),
        ("machineconfig", "chrony", "--role", "master", "--cluster", "edge-1"),
        ("pool", "infra", "--cluster", "edge-1"),
        ("pool", "worker", "--shared", "base"),
        ("module", "logcenter", "--version", "v4.1.0", "--cluster", "edge-2"),
    )
    for step in steps:
        ended = desk.here("new", *step[:2], "repo", *step[2:])
        assert ended.code == 0, ended.err
        assert " written" in ended.out
        assert desk.here("validate", "repo").code == 0
        assert desk.here("fmt", "--check", "repo").code == 0
    found = files_below(desk.folder)
    for step in steps:
        assert desk.here("new", *step[:2], "repo", *step[2:]).code == 6
    assert files_below(desk.folder) == found


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["cluster", "edge-1"], 2, "say --version"),
        (["cluster", "Edge_1"], 2, "is no cluster name"),
        (["machineconfig", "50-worker-a", "--cluster", "edge-1"], 2, "gitops-mc new cluster edge-1"),
        (["machineconfig", "50-worker-a"], 2, "--cluster CLUSTER, or --shared SET"),
        (["machineconfig", "chrony", "--shared", "base"], 2, "NN-<role>-<topic>"),
        (["machineconfig", "../../x", "--role", "worker", "--shared", "base"], 2, "is no name of an object"),
        (["machineconfig", "50-worker-a.-b", "--shared", "base"], 2, "is no name of an object"),
        (["pool", "a" * 254, "--shared", "base"], 2, "is no name of an object"),
        (["machineconfig", "00-worker-x", "--shared", "base"], 4, "mc-protected-name"),
        (["module", "a", "--version", "v1\n", "--shared", "base"], 2, "is no version"),
        (["module", "a", "--version", "v1", "--shared", "../base"], 2, "is no name"),
    ],
)
def test_what_cannot_be_begun_is_said_and_nothing_is_written(
    desk: Place, arguments: list[str], code: int, message: str
) -> None:
    place = "clusters/other/a.yaml" if code == 4 else ""
    if place:
        desk.write(
            {
                f"repo/{place}": "apiVersion: machineconfiguration.alauda.io/v1alpha1\nkind: MachineConfigPool\n"
                "metadata: {name: worker}\nspec: {maxUnavailable: 1}\n",
                "repo/fleet.yaml": "apiVersion: gitops-mc.io/v1alpha1\nkind: FleetConfig\nspec:\n"
                "  shared: [{path: shared/base, clusters: {}}]\n",
                "repo/shared/base/.gitkeep": "",
            }
        )
    before = files_below(desk.folder)
    ended = desk.here("new", *arguments[:2], "repo", *arguments[2:])
    assert ended.code == code, ended.err
    assert message in ended.err
    assert files_below(desk.folder) == before


MODULE = """\
# Why this version: see OPS-7.
apiVersion: cluster.alauda.io/v1alpha1
kind: ModuleInfo
metadata:
    name:   x-temporary-name
    labels: {{cpaas.io/module-name: logcenter, cpaas.io/module-type: plugin{cluster}}}
spec:
    version:   "v4.1.0"   # pinned
"""
FLEET = """\
apiVersion: gitops-mc.io/v1alpha1
kind: FleetConfig
spec:
  shared:
    - {path: shared/logs, clusters: {names: ["edge-*"]}}
"""


@pytest.fixture
def versions(desk: Place) -> Place:
    own = MODULE.format(cluster=", cpaas.io/cluster-name: dc-1")
    desk.write(
        {
            "fleet.yaml": FLEET,
            "shared/logs/logs.yaml": MODULE.format(cluster=""),
            "clusters/edge-1/.gitkeep": "",
            "clusters/edge-2/.gitkeep": "",
            "clusters/dc-1/logs.yaml": own.replace("\n", "\r\n"),
        }
    )
    (desk.folder / "clusters/dc-1/logs.yaml").write_bytes(own.replace("\n", "\r\n").encode())
    return desk


def test_a_version_changes_in_clusters_and_shared_sets_one_line_each(versions: Place) -> None:
    before = files_below(versions.folder)
    shown = versions.here("set", "module-version", "logcenter", "v4.2.0", "--output-only")
    assert "2 files to change" in shown.out
    assert files_below(versions.folder) == before
    ended = versions.here("set", "module-version", "logcenter", "v4.2.0")
    assert ended.code == 0
    assert "shared/logs/logs.yaml:8:5: v4.1.0 -> v4.2.0 (edge-1, edge-2)" in ended.out
    after = files_below(versions.folder)
    changed = [path for path in before if before[path] != after[path]]
    assert changed == ["clusters/dc-1/logs.yaml", "shared/logs/logs.yaml"]
    for path in changed:
        assert after[path] == before[path].replace(b'"v4.1.0"', b'"v4.2.0"')
    assert versions.here("set", "module-version", "logcenter", "v4.2.0").out.endswith("nothing to change\n")


def test_a_shared_set_is_changed_for_all_that_use_it_or_not_at_all(versions: Place) -> None:
    before = files_below(versions.folder)
    ended = versions.here(
        "set", "module-version", "logcenter", "v4.2.0", "--clusters", "edge-1", "--clusters", "dc-*"
    )
    assert ended.code == 6
    assert "shared/logs/logs.yaml is for edge-1, edge-2, and edge-2 was not asked for" in ended.err
    assert files_below(versions.folder) == before
    assert versions.here("set", "module-version", "logcenter", "v4.2.0", "--clusters", "edge-*").code == 0


def test_all_that_is_in_the_way_of_a_version_is_told_at_once(versions: Place) -> None:
    """A shared set that is used elsewhere, too; an alias; a link."""
    module = {n: MODULE.format(cluster=f", cpaas.io/cluster-name: dc-{n}") for n in (3, 4, 5)}
    aliased = module[3].replace('"v4.1.0"', "*v").replace("x-temporary-name", "&v v4.1.0")
    versions.write(
        {
            "clusters/dc-3/logs.yaml": aliased,
            "shared/elsewhere.yaml": module[4],
            "clusters/dc-4/.gitkeep": "",
            "clusters/dc-5/logs.yaml": module[5],
        }
    )
    (versions.folder / "clusters/dc-4/logs.yaml").symlink_to("../../shared/elsewhere.yaml")
    before = files_below(versions.folder)
    ended = versions.here(
        "set", "module-version", "logcenter", "v4.2.0", "--clusters", "edge-1", "--clusters", "dc-[345]"
    )
    assert ended.code == 6, ended
    assert "shared/logs/logs.yaml is for edge-1, edge-2, and edge-2 was not asked for; " in ended.err
    assert "clusters/dc-3/logs.yaml" in ended.err
    assert "clusters/dc-4/logs.yaml is a link" in ended.err
    assert files_below(versions.folder) == before


def test_a_module_that_is_not_there_and_a_version_that_is_none_are_wrong_usage(versions: Place) -> None:
    assert "there are logcenter" in versions.here("set", "module-version", "logcentre", "v1").err
    assert versions.here("set", "module-version", "logcenter", "v4 2").code == 2


def test_a_lower_version_is_changed_and_the_way_out_is_told(versions: Place) -> None:
    ended = versions.here("set", "module-version", "logcenter", "v4.0.0")
    assert ended.code == 0
    assert 'until the manifest says gitops-mc.io/allow-downgrade: "v4.0.0"' in ended.out


def test_fmt_tells_what_would_change_changes_it_and_the_contents_stay(versions: Place) -> None:
    told = versions.here("fmt", "--check")
    assert told.code == 5
    assert "clusters/dc-1/logs.yaml\nshared/logs/logs.yaml\n2 of 3 files to lay out anew" in told.out
    rendered = versions.here("render").out
    assert versions.here("fmt").code == 0
    assert versions.here("render").out == rendered
    assert versions.here("fmt", "--check").code == 0
    assert b"\r" not in files_below(versions.folder)["clusters/dc-1/logs.yaml"]


def test_fmt_leaves_alone_what_has_errors_and_says_so(versions: Place) -> None:
    versions.write({"clusters/edge-1/bad.yaml": "a:   1\na: 2\n"})
    ended = versions.here("fmt")
    assert "note: clusters/edge-1/bad.yaml is left as it is: it has errors; see validate" in ended.err
    assert files_below(versions.folder)["clusters/edge-1/bad.yaml"] == b"a:   1\na: 2\n"


def test_a_slip_in_the_path_is_no_repository_without_a_fault(tmp_path: Path) -> None:
    ended = Place(tmp_path).here("fmt", "--check", "nonexistent")
    assert (ended.code, "there is no folder nonexistent" in ended.err) == (2, True)


def test_a_version_is_not_said_to_be_set_where_a_cluster_that_is_asked_for_cannot_be_read(
    versions: Place,
) -> None:
    own = versions.folder / "clusters/dc-1/logs.yaml"
    own.write_bytes(own.read_bytes() + b"---\n: [\n")
    before = files_below(versions.folder)
    ended = versions.here("set", "module-version", "logcenter", "v4.2.0")
    assert (ended.code, "clusters/dc-1/logs.yaml" in ended.err) == (4, True)
    shared = versions.here("set", "module-version", "logcenter", "v4.2.0", "--clusters", "edge-*")
    assert shared.code == 4, "nobody knows whether dc-1 uses the set"
    assert files_below(versions.folder) == before


def test_a_pattern_that_matches_no_cluster_is_wrong_usage(versions: Place) -> None:
    ended = versions.here(
        "set", "module-version", "logcenter", "v4.2.0", "--clusters", "edge-*", "--clusters", "edge-99"
    )
    assert (ended.code, "no cluster of the repository matches edge-99" in ended.err) == (2, True)


def test_a_version_that_a_shared_set_decides_is_not_taken_in_silence(versions: Place) -> None:
    text = (versions.folder / "shared/logs/logs.yaml").read_text(encoding="utf-8")
    brought = text.replace("logcenter", "machine-config")
    (versions.folder / "shared/logs/mc.yaml").write_text(brought, encoding="utf-8")
    ended = versions.here("new", "cluster", "edge-3", "--version", "v7.7.7")
    assert (ended.code, "leave --version out" in ended.err) == (2, True), ended
