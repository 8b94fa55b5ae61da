"""What a pull request is said to do to nodes, and what the daemons of an embedded fleet then did."""

from __future__ import annotations

import pytest

from gitops_mc.core.preview.changed import PullChanges
from gitops_mc.core.rollout.inputs import Acts
from gitops_mc.core.rollout.moves import Done
from gitops_mc.sandbox.fleet import FleetSpec, simple_fleet
from gitops_mc.sandbox.nodes.machine import NodeLog, What
from tests.core.preview_cases import CASES, changes_of, texts
from tests.scenarios.rollout_world import RolloutWorld

INFRA = "node-role.kubernetes.io/infra"
NOT_ROLLED = {
    "fleet": "clusters join and leave it, and a module goes to a version that rolls every pool by itself",
    "broken-head": "head is refused for one of its clusters",
}
ROLLED = [case for case in CASES if case not in NOT_ROLLED]


def fleet_of(case: str) -> FleetSpec:
    clusters = {path.split("/")[1] for path in texts(case, "base") if path.startswith("clusters/")}
    return simple_fleet(*sorted(clusters), workers=3)


def done_on(log: NodeLog, since: int) -> tuple[str, ...] | None:
    """What the daemon did, in the words of the policy; None: it updated nothing."""
    events = log.events[since:]
    if not any(event.what is What.DONE for event in events):
        return None
    deeds = [event for event in events if event.what in (What.REBOOTED, What.ACTED)]
    return tuple("Reboot" if event.what is What.REBOOTED else event.detail for event in deeds)


def forecast(changes: PullChanges, cluster: str) -> dict[str, tuple[str, ...] | None]:
    """By pool the same, as the preview has it."""
    found = next((c for c in changes.clusters if c.name == cluster), None)
    return {
        pool.pool: tuple(
            f"{action.type.value} {action.service}".rstrip()
            for action in pool.disruption.actions
            if action.type.value != "None"
        )
        if pool.disruption.causes
        else None
        for pool in ([] if found is None else found.pools)
    }


@pytest.mark.parametrize("case", ROLLED)
def test_every_node_goes_through_what_the_preview_said(case: str) -> None:
    world = RolloutWorld(spec=fleet_of(case))
    clusters = [c.name for c in world.spec.clusters]
    for cluster in clusters:
        world.fleet.person(cluster).label_node(f"{cluster}-w3", **{INFRA: ""})
    acts = Acts(approved=frozenset(clusters))
    world.files = texts(case, "base")
    assert isinstance(world.run(acts), Done)
    since = {(c, n): len(world.fleet.node_log(c, n).events) for c in clusters for n in world.fleet.nodes(c)}
    world.files = texts(case, "head")
    assert isinstance(world.run(acts), Done)
    for cluster in clusters:
        said = forecast(changes_of(case), cluster)
        custom = "infra" in said
        for node in world.fleet.nodes(cluster):
            worker = "infra" if custom and node.endswith("w3") else "worker"
            pool = "master" if node.endswith("m1") else worker
            assert done_on(world.fleet.node_log(cluster, node), since[cluster, node]) == said.get(pool), (
                node,
                pool,
            )
