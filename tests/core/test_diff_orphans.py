"""What left Git, and what was not read."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gitops_mc.core.diff import (
    Create,
    Delete,
    diff_cluster,
)
from gitops_mc.core.live import Dark, Fact, MachineApis
from gitops_mc.core.model import (
    FLEET_LABEL,
    JsonObject,
    Kind,
    Known,
    Outage,
    Place,
    Problem,
    canonical_json,
)
from gitops_mc.core.model import ClusterScope as Scope
from tests.core.diff_world import (
    CLUSTER,
    FLEET,
    NAME,
    NOW,
    World,
    blind,
    chrony,
    desired,
    edited,
    key,
    policy,
    pool,
    unknown_everything,
)

CONFIG, POOL, POLICY = Kind.MACHINE_CONFIG, Kind.MACHINE_CONFIG_POOL, Kind.MACHINE_CONFIGURATION


@pytest.fixture
def world() -> World:
    return World()


def test_what_left_git_is_an_orphan_and_a_candidate_when_it_is_provably_ours(world: World) -> None:
    world.roll(chrony(), pool())
    found = world.diff(pool())
    (change,) = found.changes
    assert isinstance(change, Delete)
    assert change.key == key(CONFIG, NAME)
    assert found.orphans[0].reason == ""


def test_the_prune_annotation_is_read_from_the_live_object(world: World) -> None:
    world.roll(chrony(), pool())
    world.merge_patch(CONFIG, NAME, {"metadata": {"annotations": {"gitops-mc.io/prune": "disabled"}}})
    (change,) = world.diff(pool()).changes
    assert isinstance(change, Delete)
    assert change.prune == "disabled"


def test_without_inventory_or_label_an_orphan_is_no_candidate(world: World) -> None:
    world.roll(chrony(), pool("infra"), pool("gpu"))
    del world.inventory[key(CONFIG, NAME)]
    world.merge_patch(POOL, "gpu", {"metadata": {"labels": {FLEET_LABEL: None}}})
    found = world.diff(pool("infra"))
    assert found.changes == ()
    assert [o.reason for o in found.orphans] == [
        "its label gitops-mc.io/fleet is gone",
        "it is not in the inventory of what we wrote",
    ]


def test_an_orphan_changed_by_hand_is_no_candidate(world: World) -> None:
    world.roll(chrony(), pool())
    world.merge_patch(CONFIG, NAME, edited("data:,emergency"))
    found = world.diff(pool())
    assert found.changes == ()
    assert "changed by hand" in found.orphans[0].reason


def test_a_human_may_say_that_a_changed_orphan_goes(world: World) -> None:
    world.roll(chrony(), pool())
    world.merge_patch(CONFIG, NAME, edited("data:,emergency"))
    world.git_wins = frozenset({key(CONFIG, NAME)})
    (change,) = world.diff(pool()).changes
    assert isinstance(change, Delete)


def test_an_orphan_that_somebody_made_again_is_no_candidate(world: World) -> None:
    world.roll(chrony(), pool())
    marks = {"labels": {FLEET_LABEL: FLEET}}
    world.delete(CONFIG, NAME)
    world.create({**chrony(), "metadata": {"name": NAME, **marks}})
    found = world.diff(pool())
    assert found.changes == ()
    assert "made another" in found.orphans[0].reason


@pytest.mark.parametrize(
    ("kind", "body"), [(POLICY, policy("/etc/a")), (POOL, pool("worker")), (POOL, pool("master"))]
)
def test_protected_objects_are_never_candidates(world: World, kind: Kind, body: JsonObject) -> None:
    world.roll(chrony(), body)
    found = world.diff(chrony())
    assert found.changes == ()
    assert found.orphans[0].key.kind is kind
    assert "never deleted" in found.orphans[0].reason


def test_objects_of_others_are_not_mentioned(world: World) -> None:
    world.create(chrony())
    assert world.diff(pool("infra")).orphans == ()


def test_nothing_is_a_candidate_after_an_incomplete_read_of_either_side(world: World) -> None:
    world.roll(chrony(), pool())
    live, inventory = world.live(), world.inventory
    dark = replace(live, dark=Dark("timed out", Outage.UNREACHABLE, NOW))
    blocked = replace(
        desired(pool()), problems=(Problem(Place("a.yaml", 1, 1), "yaml", "", "bad", "", Scope(CLUSTER)),)
    )
    for git, cluster in (
        (desired(), live),
        (blocked, live),
        (desired(pool()), blind(live, "modules")),
        (desired(pool()), dark),
    ):
        found = diff_cluster(git, cluster, inventory, fleet=FLEET)
        assert not [c for c in found.changes if isinstance(c, Delete)]
        assert found.orphans[0].reason


def test_with_every_fact_unknown_nothing_is_said_to_change_or_to_stay() -> None:
    found = diff_cluster(desired(chrony(), pool(), policy("/etc/a")), unknown_everything(), {}, fleet=FLEET)
    assert [*found.changes, *found.drifts, *found.unchanged, *found.orphans] == []
    assert {n.kind for n in found.not_read} == set(Kind)


def test_where_the_machine_kinds_are_not_served_yet_everything_is_to_be_created(world: World) -> None:
    live = replace(
        unknown_everything(), machine_apis=Known(MachineApis(served=False), NOW), modules=world.live().modules
    )
    found = diff_cluster(desired(chrony(), pool()), live, {}, fleet=FLEET)
    assert [type(c) for c in found.changes] == [Create, Create]


def test_inputs_are_left_as_they_are(world: World) -> None:
    world.roll(chrony(), policy("/etc/a", "/etc/b"))
    bodies = (chrony("data:,b"), policy("/etc/b"))
    live = world.live()
    before = canonical_json([bodies, *map(_value, (live.configs, live.policies))])
    diff_cluster(desired(*bodies), live, world.inventory, fleet=FLEET)
    assert canonical_json([bodies, *map(_value, (live.configs, live.policies))]) == before


def _value(fact: Fact) -> JsonObject:
    assert isinstance(fact, Known)
    return dict(fact.value)
