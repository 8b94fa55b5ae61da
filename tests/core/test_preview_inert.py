"""Files that change while nothing takes them up, and the policy entry that is pasted to change that."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from gitops_mc.core.ignition import MergeOrder, merge
from gitops_mc.core.model import JsonObject
from gitops_mc.core.preview.changed import ClusterChange, Inert
from gitops_mc.core.preview.inert import PLACEHOLDER
from gitops_mc.core.preview.services import READERS, taken_up
from tests.core.machine_configs import machine_config
from tests.core.test_preview_changes import HEAD, A, changes, config, only, told

POLICY = "clusters/edge-01/policy.yaml"
SSHKEY = "sshkey: {actions: [{type: None}]}"


def manifest(spec: str) -> str:
    return f"{HEAD}kind: MachineConfiguration\nmetadata: {{name: cluster}}\n{spec}"


def inert(cluster: ClusterChange) -> list[Inert]:
    return [found for pool in cluster.pools for found in pool.inert]


def pasted(text: str | None, paste: str) -> str:
    """The manifest with what was pasted, put where the reason says: as deep as there is something already."""
    said = yaml.safe_load(paste)
    if text is None:
        return paste
    body = yaml.safe_load(text)
    if isinstance(said, list):
        body["spec"]["nodeDisruptionPolicy"]["files"] += said
    elif "files" in said:
        body["spec"]["nodeDisruptionPolicy"].update(said)
    elif "nodeDisruptionPolicy" in said:
        body["spec"].update(said)
    else:
        body.update(said)
    return yaml.safe_dump(body)


@pytest.mark.parametrize(
    ("there", "where"),
    [
        (None, "as a manifest of its own"),
        (manifest("spec: {}\n"), f"into {POLICY}:1"),
        (
            manifest("spec: {defaultNodeDisruptionPolicySpecAction: {files: [{type: None}]}}\n"),
            f"below `spec` of {POLICY}:1",
        ),
        (manifest(f"spec: {{nodeDisruptionPolicy: {{{SSHKEY}}}}}\n"), "below `spec.nodeDisruptionPolicy`"),
        (
            manifest(
                f"spec: {{nodeDisruptionPolicy: {{files: [{{path: /etc/x, actions: [{{type: None}}]}}], {SSHKEY}}}}}\n"
            ),
            "into `spec.nodeDisruptionPolicy.files`",
        ),
    ],
)
def test_what_is_pasted_makes_the_change_effective(there: str | None, where: str) -> None:
    before = {
        A: config("50-worker-a", "/etc/chrony.conf"),
        **({} if there is None else {POLICY: there}),
    }
    after = {**before, A: config("50-worker-a", "/etc/chrony.conf", text="2")}
    (found,) = inert(only(changes(before, after)))
    assert where in found.reason
    assert "chronyd.service reads it (chronyd(8))" in found.reason
    mended = only(changes(before, {**after, POLICY: pasted(there, found.paste)}))
    assert not mended.blocked
    assert not inert(mended)
    assert told(mended) == {"worker": ["restart chronyd.service"]}


def test_where_nobody_knows_the_unit_the_paste_is_refused_until_its_name_is_written() -> None:
    before = {A: config("50-worker-a", "/etc/myapp/main.conf")}
    after = {A: config("50-worker-a", "/etc/myapp/main.conf", text="2")}
    (found,) = inert(only(changes(before, after)))
    assert PLACEHOLDER in found.reason
    unfilled = only(changes(before, {**after, POLICY: found.paste}))
    assert [p.rule for p in unfilled.blocked] == ["policy-service-name"]
    filled = only(changes(before, {**after, POLICY: found.paste.replace(PLACEHOLDER, "myapp.service")}))
    assert told(filled) == {"worker": ["restart myapp.service"]}


def test_a_file_that_goes_is_inert_too() -> None:
    prune = {
        "fleet.yaml": "apiVersion: gitops-mc.io/v1alpha1\nkind: FleetConfig\nspec: {prune: {enabled: true}}\n"
    }
    files = {**prune, A: config("50-worker-a"), "clusters/edge-01/b.yaml": config("50-worker-b", "/etc/b")}
    (found,) = inert(only(changes(files, {**prune, A: files[A]})))
    assert found.reason.startswith("it is removed, and nothing restarts")
    assert found.place is None


@pytest.mark.parametrize("actions", ["[{type: None}]", "[{type: Drain}]"])
def test_who_has_said_what_happens_is_not_told_again(actions: str) -> None:
    stated = manifest(f"spec: {{nodeDisruptionPolicy: {{files: [{{path: /etc, actions: {actions}}}]}}}}\n")
    found = changes(
        {A: config("50-worker-a"), POLICY: stated}, {A: config("50-worker-a", text="2"), POLICY: stated}
    )
    assert not inert(only(found))


def unit(name: str, contents: str, dropin: str = "", **fields: Any) -> JsonObject:
    found: JsonObject = {"name": name, "contents": contents, **fields}
    return {**found, "dropins": [{"name": "10-x.conf", "contents": dropin}]} if dropin else found


@pytest.mark.parametrize(
    ("units", "path", "restarted"),
    [
        ([unit("a.service", "[Service]\nEnvironmentFile=-/etc/a.env\n")], "/etc/a.env", ["a.service"]),
        ([unit("a.service", "[Service]\nExecStart=/bin/a --config=/etc/a.env\n")], "/etc/a.env", ["a.service"]),
        ([unit("a.service", "[Unit]\n", "[Service]\nEnvironmentFile=/etc/a.env\n")], "/etc/a.env", ["a.service"]),
        ([unit("a.service", "[Service]\n# EnvironmentFile=/etc/a.env\n")], "/etc/a.env", []),
        ([unit("a.service", "[Service]\nEnvironmentFile=/etc/a.env.d/x\n")], "/etc/a.env", []),
        ([unit("a.service", "[Service]\nEnvironmentFile=/opt/etc/a.env\n")], "/etc/a.env", []),
        ([unit("a.service", "[Service]\nEnvironmentFile=/etc/a.env\n", mask=True)], "/etc/a.env", []),
        ([unit("a@.service", "[Service]\nEnvironmentFile=/etc/a.env\n")], "/etc/a.env", []),
        (
            [unit(f"{n}.service", "[Service]\nEnvironmentFile=/etc/a.env\n") for n in "ba"],
            "/etc/a.env",
            ["a.service", "b.service"],
        ),
    ],
)  # fmt: skip
def test_a_unit_of_the_pool_that_names_the_file_takes_it_up(
    units: list[JsonObject], path: str, restarted: list[str]
) -> None:
    effective = merge([machine_config(units=units)], MergeOrder.ALPHABETICAL)
    assert [action.service for action in taken_up(path, effective).actions] == restarted


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/etc/systemd/system/kubelet.service.d/30-max.conf", ["daemon-reload", "restart kubelet.service"]),
        ("/etc/systemd/system/a.service", ["daemon-reload", "restart a.service"]),
        ("/etc/sysctl.d/90-net.conf", ["restart systemd-sysctl.service"]),
        ("/etc/ssh/sshd_config.d/10-x.conf", ["reload sshd.service"]),
        ("/etc/ssh/ssh_config", []),
        ("/etc/sudoers.d/ops", ["nothing restarts"]),
        ("/etc/sudoers.dist", []),
        ("/etc/systemd/system/multi-user.target.wants/a.service", []),
    ],
)
def test_well_known_files_are_taken_up_as_their_programs_say(path: str, words: list[str]) -> None:
    nothing = merge([], MergeOrder.ALPHABETICAL)
    assert [str(action) for action in taken_up(path, nothing).actions] == words


def test_no_path_of_the_table_stands_in_it_twice() -> None:
    paths = [path for reader in READERS for path in reader.paths]
    assert len(set(paths)) == len(paths)
    assert all(reader.source for reader in READERS)
