"""The real kubectl on the sandbox, over the gateway: what people type, and what it prints."""

from __future__ import annotations

import json
import re
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.e2e.program import running_fleet
from tests.sandbox.kubectl import GET_KUBECTL, Kubectl, find_kubectl

_KUBECTL = find_kubectl()
pytestmark = pytest.mark.skipif(_KUBECTL is None, reason=GET_KUBECTL)

CONFIG = """\
apiVersion: machineconfiguration.alauda.io/v1alpha1
kind: MachineConfig
metadata:
  name: {name}
  labels: {{for: nobody}}
spec:
  config:
    ignition: {{version: {version}}}
"""
POOL = """\
apiVersion: machineconfiguration.alauda.io/v1alpha1
kind: MachineConfigPool
metadata: {{name: {name}}}
spec:
  {field}
  machineConfigSelector: {{matchLabels: {{for: nobody}}}}
  nodeSelector: {{matchLabels: {{for: nobody}}}}
"""
FULL = "machineconfig.machineconfiguration.alauda.io"


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    folder = tmp_path_factory.mktemp("kubectl")
    with running_fleet(folder, "edge-1") as place:
        assert _KUBECTL is not None
        assert place.kubeconfig is not None
        at_edge = Kubectl(_KUBECTL, place.kubeconfig, folder, "edge-1")
        at_edge.ok("wait", "--for=condition=Updated", "mcp", "--all", "--timeout=15s")
        yield at_edge


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    words = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower()).strip("-")
    return f"{words.removeprefix('test-')[:50]}"


# ------------------------------------------------------------------------------------------------------------ looking


def test_get_prints_the_columns_of_the_kinds(kubectl: Kubectl) -> None:
    pools = kubectl.ok("get", "mcp")
    assert pools.rows[0] == [
        *("NAME", "CONFIG", "UPDATED", "UPDATING", "DEGRADED", "MACHINECOUNT", "READYMACHINECOUNT"),
        *("UPDATEDMACHINECOUNT", "DEGRADEDMACHINECOUNT", "AGE"),
    ]
    assert pools.column("NAME") == ["master", "worker"]
    assert pools.column("UPDATED") == ["True", "True"]
    assert pools.column("MACHINECOUNT") == ["1", "2"]
    configs = kubectl.ok("get", "machineconfigs")
    assert configs.rows[0] == ["NAME", "IGNITIONVERSION", "AGE"]
    assert {"00-master", "00-worker"} <= set(configs.column("NAME"))
    nodes = kubectl.ok("get", "nodes", "-o", "wide")
    assert nodes.column("STATUS") == ["Ready"] * 3
    assert nodes.column("ROLES") == ["control-plane", "worker", "worker"]
    assert nodes.column("INTERNAL-IP") == ["10.0.0.2", "10.0.0.3", "10.0.0.4"]


def test_modules_are_looked_at_on_the_global_cluster(kubectl: Kubectl) -> None:
    modules = replace(kubectl, context="global").ok("get", "minfo")
    assert modules.rows[0] == [
        *(
            "NAME",
            "CLUSTER",
            "MODULE",
            "DISPLAY_NAME",
            "STATUS",
            "TARGET_VERSION",
            "CURRENT_VERSION",
            "NEW_VERSION",
        ),
    ]
    assert modules.column("CLUSTER") == ["edge-1"]


def test_get_prints_other_forms(kubectl: Kubectl) -> None:
    assert kubectl.ok("get", "mcp", "-o", "jsonpath={.items[*].metadata.name}").out == "master worker"
    columns = kubectl.ok("get", "mcp", "-o", "custom-columns=WHO:.metadata.name,HOW:.status.machineCount")
    assert columns.rows == [["WHO", "HOW"], ["master", "1"], ["worker", "2"]]
    assert "kind: MachineConfigPool" in kubectl.ok("get", "mcp", "worker", "-o", "yaml").out
    assert json.loads(kubectl.ok("get", "mcp", "-o", "json").out)["kind"] == "List"
    sorted_ = kubectl.ok("get", "mcp", "--sort-by", "{.status.machineCount}", "-o", "name")
    assert [line.rpartition("/")[2] for line in sorted_.out.split()] == ["master", "worker"]


def test_get_all_shows_the_workloads_of_every_namespace(kubectl: Kubectl) -> None:
    out = kubectl.ok("get", "all", "-A").out
    assert "daemonset.apps/machine-config-daemon 3 3 3 3 3 <none>" in out
    assert "deployment.apps/machine-config-controller 1/1 1 1" in out


def test_describe_shows_spec_status_and_events(kubectl: Kubectl) -> None:
    pool = kubectl.ok("describe", "mcp", "worker").out
    assert "Machine Count: 2" in pool
    assert pool.rstrip().endswith("Events: <none>")
    node = kubectl.ok("describe", "node", "edge-1-w1").out
    assert "Roles: worker" in node
    assert "machineconfiguration.alauda.io/state: Done" in node


def test_explain_tells_fields_and_what_they_are_for(kubectl: Kubectl) -> None:
    pool = kubectl.ok("explain", "mcp.spec").out
    assert "maxUnavailable <Object>" in pool
    assert "How many nodes, or what percentage of them" in pool
    policy = kubectl.ok("explain", "machineconfigurations.spec.nodeDisruptionPolicy.files.actions.type").out
    assert "ENUM:\n Reboot\n Drain\n Reload\n Restart\n" in policy
    wrong = kubectl("explain", "mcp.spec.bogus")
    assert (wrong.code, wrong.err) == (1, 'error: field "bogus" does not exist\n')


def test_api_resources_lists_what_is_served(kubectl: Kubectl) -> None:
    rows = kubectl.ok("api-resources", "--api-group=machineconfiguration.alauda.io", "--no-headers").rows
    version = "machineconfiguration.alauda.io/v1alpha1"
    assert rows == [
        ["machineconfigpools", "mcp", version, "false", "MachineConfigPool"],
        ["machineconfigs", "mc", version, "false", "MachineConfig"],
        ["machineconfigurations", version, "false", "MachineConfiguration"],
    ]
    assert version in kubectl.ok("api-versions").out.split()


def test_what_there_is_not_is_said_as_ever(kubectl: Kubectl) -> None:
    assert kubectl("get", "foos").err == 'error: the server doesn\'t have a resource type "foos"\n'
    missing = (
        'Error from server (NotFound): machineconfigpools.machineconfiguration.alauda.io "none" not found\n'
    )
    assert kubectl("get", "mcp", "none").err == missing
    assert kubectl("get", "events").err == "No resources found in default namespace.\n"


def test_wait_ends_when_it_is_so_and_not_before(kubectl: Kubectl) -> None:
    full = "machineconfigpool.machineconfiguration.alauda.io/worker"
    for condition in ("condition=Updated", "condition=Degraded=False", "jsonpath={.status.machineCount}=2"):
        assert (
            kubectl.ok("wait", f"--for={condition}", "mcp/worker", "--timeout=10s").out
            == f"{full} condition met\n"
        )
    late = kubectl("wait", "--for=condition=Degraded", "mcp/worker", "--timeout=1s")
    assert (late.code, "timed out waiting for the condition" in late.err) == (1, True)


def test_get_watches(kubectl: Kubectl, name: str) -> None:
    kubectl.ok("apply", "--server-side", "-f", "-", stdin=CONFIG.format(name=name, version="3.4.0"))
    watching = kubectl.start("get", "mc", "-w", "--field-selector", f"metadata.name={name}")
    limit = threading.Timer(15, watching.kill)
    limit.start()
    try:
        lines = [_next_line(watching) for _ in range(2)]
        kubectl.ok("apply", "--server-side", "-f", "-", stdin=CONFIG.format(name=name, version="3.3.0"))
        lines.append(_next_line(watching))
    finally:
        limit.cancel()
        watching.kill()
        watching.communicate()
    assert [line.split()[:2] for line in lines] == [
        ["NAME", "IGNITIONVERSION"],
        [name, "3.4.0"],
        [name, "3.3.0"],
    ]


def _next_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


# ------------------------------------------------------------------------------------------------------------ writing


def test_apply_on_the_server_creates_changes_and_refuses_what_the_schema_does_not_have(
    kubectl: Kubectl, name: str
) -> None:
    apply = ("apply", "--server-side", "-f", "-")
    for version in ("3.4.0", "3.4.0", "3.3.0"):
        said = kubectl.ok(*apply, stdin=CONFIG.format(name=name, version=version))
        assert said.out == f"{FULL}/{name} serverside-applied\n"
    wrong = kubectl(*apply, stdin=POOL.format(name=name, field="bogus: 1"))
    assert wrong.err == (
        f"Error from server: failed to create typed patch object (/{name}; machineconfiguration.alauda.io/v1alpha1, "
        "Kind=MachineConfigPool): .spec.bogus: field not declared in schema\n"
    )


def test_apply_on_the_server_names_who_owns_what_it_would_change(kubectl: Kubectl, name: str) -> None:
    apply = ("apply", "--server-side", "-f", "-")
    kubectl.ok(*apply, "--field-manager=other", stdin=CONFIG.format(name=name, version="3.4.0"))
    changed = CONFIG.format(name=name, version="3.3.0")
    refused = kubectl(*apply, stdin=changed)
    assert (refused.code, refused.err.splitlines()[0]) == (
        1,
        'error: Apply failed with 1 conflict: conflict with "other": .spec.config.ignition.version',
    )
    kubectl.ok(*apply, "--force-conflicts", stdin=changed)


def test_apply_on_the_client_creates_changes_and_leaves_alone(kubectl: Kubectl, name: str) -> None:
    said = [
        kubectl.ok("apply", "-f", "-", stdin=CONFIG.format(name=name, version=version)).out
        for version in ("3.4.0", "3.4.0", "3.3.0")
    ]
    assert said == [f"{FULL}/{name} {what}\n" for what in ("created", "unchanged", "configured")]
    moved = kubectl.ok("apply", "--server-side", "-f", "-", stdin=CONFIG.format(name=name, version="3.4.0"))
    assert moved.out == f"{FULL}/{name} serverside-applied\n"


@pytest.mark.parametrize("form", ["strict", "warn", "ignore"])
def test_unknown_fields_are_refused_warned_of_or_dropped(kubectl: Kubectl, name: str, form: str) -> None:
    said = kubectl("apply", f"--validate={form}", "-f", "-", stdin=POOL.format(name=name, field="bogus: 1"))
    unknown = 'unknown field "spec.bogus"'
    match form:
        case "strict":
            assert said.code == 1
            assert f"cannot be handled as a MachineConfigPool: strict decoding error: {unknown}" in said.err
        case "warn":
            assert (said.code, said.err) == (0, f"Warning: {unknown}\n")
        case _:
            assert (said.code, said.err) == (0, "")


def test_what_is_invalid_is_told_field_by_field(kubectl: Kubectl, name: str) -> None:
    said = kubectl("apply", "-f", "-", stdin=POOL.format(name=name, field="paused: soon"))
    assert said.code == 1
    assert said.err.splitlines()[:2] == [
        f'The MachineConfigPool "{name}" is invalid: ',
        '* spec.paused: Invalid value: "string": spec.paused in body must be of type boolean: "string"',
    ]


@pytest.mark.parametrize("side", ["client", "server"])
def test_diff_shows_what_would_change(kubectl: Kubectl, name: str, side: str) -> None:
    where = ("--server-side",) if side == "server" else ()
    kubectl.ok("apply", *where, "-f", "-", stdin=CONFIG.format(name=name, version="3.4.0"))
    same = kubectl("diff", *where, "-f", "-", stdin=CONFIG.format(name=name, version="3.4.0"))
    assert (same.code, same.out) == (0, "")
    other = kubectl("diff", *where, "-f", "-", stdin=CONFIG.format(name=name, version="3.3.0"))
    changed = [line for line in other.out.splitlines() if re.match(r"[-+] ", line)]
    assert (other.code, changed) == (
        1,
        ["- generation: 1", "+ generation: 2", "- version: 3.4.0", "+ version: 3.3.0"],
    )


def test_patch_takes_three_forms_and_a_strategic_one_on_built_in_kinds_alone(
    kubectl: Kubectl, name: str
) -> None:
    kubectl.ok("apply", "-f", "-", stdin=POOL.format(name=name, field="maxUnavailable: 1"))
    read = ("get", "mcp", name, "-o", "jsonpath={.spec.maxUnavailable}")
    kubectl.ok("patch", "mcp", name, "--type=merge", "-p", '{"spec": {"maxUnavailable": 2}}')
    assert kubectl.ok(*read).out == "2"
    operation = '[{"op": "replace", "path": "/spec/maxUnavailable", "value": "50%"}]'
    kubectl.ok("patch", "mcp", name, "--type=json", "-p", operation)
    assert kubectl.ok(*read).out == "50%"
    strategic = kubectl("patch", "mcp", name, "--type=strategic", "-p", '{"spec": {"maxUnavailable": 3}}')
    assert "application/strategic-merge-patch+json is not supported by machineconfiguration" in strategic.err
    status = '{"status": {"conditions": [{"type": "Mine", "status": "True"}]}}'
    kubectl.ok("patch", "node", "edge-1-w1", "--subresource=status", "-p", status)
    conditions = kubectl.ok("get", "node", "edge-1-w1", "-o", "jsonpath={.status.conditions[*].type}")
    assert {"Ready", "Mine"} <= set(conditions.out.split())


def test_edit_writes_what_the_editor_leaves(kubectl: Kubectl, name: str) -> None:
    kubectl.ok("apply", "-f", "-", stdin=POOL.format(name=name, field="maxUnavailable: 1"))
    edited = kubectl.ok("edit", "mcp", name, KUBE_EDITOR="sed -i s/maxUnavailable:.1/maxUnavailable:\\ 7/")
    assert edited.out == f"machineconfigpool.machineconfiguration.alauda.io/{name} edited\n"
    assert kubectl.ok("get", "mcp", name, "-o", "jsonpath={.spec.maxUnavailable}").out == "7"


def test_label_annotate_and_cordon(kubectl: Kubectl) -> None:
    kubectl.ok("label", "node", "edge-1-w2", "rack=7")
    kubectl.ok("annotate", "node", "edge-1-w2", "note=mine")
    assert kubectl.ok("get", "nodes", "-l", "rack=7", "-o", "name").out == "node/edge-1-w2\n"
    kubectl.ok("label", "node", "edge-1-w2", "rack-")
    assert kubectl.ok("get", "nodes", "-l", "rack=7", "-o", "name").out == ""
    kubectl.ok("cordon", "edge-1-w2")
    assert kubectl.ok("get", "node", "edge-1-w2").column("STATUS") == ["Ready,SchedulingDisabled"]
    kubectl.ok("uncordon", "edge-1-w2")


def test_delete_by_name_and_by_label(kubectl: Kubectl, name: str) -> None:
    for end in "ab":
        kubectl.ok("apply", "-f", "-", stdin=CONFIG.format(name=f"{name}-{end}", version="3.4.0"))
        kubectl.ok("label", "mc", f"{name}-{end}", f"test={name}")
    assert kubectl.ok("delete", "mc", f"{name}-a").out == f'{FULL} "{name}-a" deleted\n'
    assert kubectl.ok("delete", "mc", "-l", f"test={name}").out == f'{FULL} "{name}-b" deleted\n'
    kubectl.ok("wait", "--for=delete", f"mc/{name}-b", "--timeout=5s")


# ------------------------------------------------------------------------------------------------------------- access


def test_auth_says_who_one_is_and_what_one_may(kubectl: Kubectl) -> None:
    assert kubectl.ok("auth", "can-i", "patch", "mcp").out == "yes\n"
    assert "Username gitops-mc" in kubectl.ok("auth", "whoami").out
    assert "*.* [] [] [*]" in kubectl.ok("auth", "can-i", "--list").out


def test_a_token_that_may_only_read_is_told_no(kubectl: Kubectl, tmp_path: Path) -> None:
    config = kubectl.kubeconfig.read_text(encoding="utf-8").replace("sandbox-token", "sandbox-reader")
    (tmp_path / "kubeconfig").write_text(config, encoding="utf-8")
    reader = replace(kubectl, kubeconfig=tmp_path / "kubeconfig")
    assert reader.ok("auth", "can-i", "get", "mcp").out == "yes\n"
    refused = reader("auth", "can-i", "patch", "mcp")
    assert (refused.code, refused.out) == (1, "no\n")
    assert (
        'is forbidden: User "gitops-mc-reader" cannot patch resource "nodes"'
        in reader("cordon", "edge-1-w1").err
    )
