"""What a pull request changes, by Git alone."""

from __future__ import annotations

from gitops_mc.core.desired import DesiredState
from gitops_mc.core.preview.changes import pull_changes
from gitops_mc.core.preview.digest import pull_digest
from gitops_mc.core.preview.model import ChangeOf, ClusterChange, PullChanges
from tests.core.desired_repositories import FLEET, desired

HEAD = "apiVersion: machineconfiguration.alauda.io/v1alpha1\n"


def config(name: str, path: str = "/etc/a", text: str = "1", role: str = "worker", line: str = "") -> str:
    return (
        f"{line}{HEAD}kind: MachineConfig\n"
        f"metadata: {{name: {name}, labels: {{machineconfiguration.alauda.io/role: {role}}}}}\n"
        "spec:\n  config:\n    ignition: {version: 3.4.0}\n    storage:\n      files:\n"
        f"        - {{path: {path}, mode: 0644, contents: {{inline: {text!r}}}}}\n"
    )


def policy(**restarts: str) -> str:
    entries = ", ".join(
        f"{{path: /etc/{path}, actions: [{{type: Restart, restart: {{serviceName: {unit}}}}}]}}"
        for path, unit in restarts.items()
    )
    return f"{HEAD}kind: MachineConfiguration\nmetadata: {{name: cluster}}\nspec: {{nodeDisruptionPolicy: {{files: [{entries}]}}}}\n"


def changes(before: dict[str, str], after: dict[str, str]) -> PullChanges:
    return pull_changes(desired(before), desired(after))


def only(found: PullChanges) -> ClusterChange:
    (cluster,) = found.clusters
    return cluster


def told(found: ClusterChange) -> dict[str, list[str]]:
    return {p.pool: [str(a) for a in p.disruption.actions] for p in found.pools}


A = "clusters/edge-01/a.yaml"
PRUNE = {"fleet.yaml": FLEET + "  prune: {enabled: true}\n"}


def test_the_same_twice_changes_nothing() -> None:
    state: DesiredState = desired({A: config("50-worker-a")})
    found = pull_changes(state, state)
    assert found.clusters == ()
    assert found.untouched == 1
    assert not found.settings
    assert not found.new_problems
    assert not found.solved
    assert pull_digest(found) == pull_digest(changes({A: config("50-worker-a")}, {A: config("50-worker-a")}))


def test_a_file_that_no_policy_covers_is_written_and_inert() -> None:
    cluster = only(changes({A: config("50-worker-a")}, {A: config("50-worker-a", text="2")}))
    assert [(str(o.key), o.change) for o in cluster.objects] == [
        ("edge-01/MachineConfig/50-worker-a", ChangeOf.CHANGED)
    ]
    assert told(cluster) == {"worker": ["nothing restarts"]}
    (pool,) = cluster.pools
    assert [str(i.entry) for i in pool.inert] == ["file /etc/a"]
    assert str(pool.entries[0].decides.place) == "clusters/edge-01/a.yaml:9:11"
