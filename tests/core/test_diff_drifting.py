"""One answer to whether somebody has changed what we wrote, for what Git still names and for what has left it."""

from __future__ import annotations

from typing import Any

import pytest

from gitops_mc.core.diff.changes import Delete, Written
from gitops_mc.core.diff.digests import applied_digest, desired_leaves
from gitops_mc.core.diff.drifting import is_drifted, last_written
from gitops_mc.core.diff.paths import Leaves
from gitops_mc.core.model import APPLIED_ANNOTATION, JsonObject, Kind, metadata
from tests.core.diff_world import NAME, World, chrony, edited, key, policy, pool

POLICY = Kind.MACHINE_CONFIGURATION
HERE = key(POLICY, "cluster")


def leaves(body: JsonObject) -> Leaves:
    return desired_leaves(POLICY, body)


def digest(body: JsonObject) -> str:
    return applied_digest(POLICY, "cluster", body)


def test_entries_of_a_keyed_list_that_only_moved_are_no_drift_in_either_order() -> None:
    wanted, moved = policy("/etc/a", "/etc/b"), policy("/etc/b", "/etc/a")
    assert not is_drifted(HERE, leaves(moved), digest(wanted), leaves(wanted))
    assert not is_drifted(HERE, leaves(moved), digest(moved), leaves(wanted)), (
        "Git has changed the order since"
    )


@pytest.mark.parametrize("live", [policy("/etc/a"), policy("/etc/a", "/etc/b", action="Reboot")])
def test_an_entry_that_is_gone_or_other_is_drift_in_every_order(live: JsonObject) -> None:
    wanted = policy("/etc/b", "/etc/a")
    assert is_drifted(HERE, leaves(live), digest(wanted), leaves(wanted))


def test_what_we_never_wrote_has_not_drifted() -> None:
    assert not is_drifted(HERE, leaves(policy("/etc/a")), None)


def test_the_annotation_tells_what_was_written_last_and_where_it_is_gone_the_memory() -> None:
    live: JsonObject = {"metadata": {"annotations": {APPLIED_ANNOTATION: "new"}}}
    assert last_written(live, Written("old", "uid", "name")) == "new"
    assert last_written({"metadata": {}}, Written("old", "uid", "name")) == "old"
    assert last_written({"metadata": {}}, None) is None


@pytest.mark.parametrize(
    ("patch", "drifted"),
    [
        (edited("data:,emergency"), True),
        ({"metadata": {"annotations": {"team": "night shift"}}}, False),
        ({"metadata": {"annotations": {APPLIED_ANNOTATION: None}}}, False),
    ],
)
def test_an_object_is_drifted_before_it_leaves_git_exactly_if_it_is_afterwards(
    patch: Any, drifted: Any
) -> None:
    world = World()
    world.roll(chrony(), pool())
    world.merge_patch(Kind.MACHINE_CONFIG, NAME, patch)
    named = world.diff(chrony(), pool())
    assert any("spec." in field.path for drift in named.drifts for field in drift.fields) is drifted
    gone = world.diff(pool())
    assert any(isinstance(change, Delete) for change in gone.changes) is not drifted
    assert ("changed by hand" in gone.orphans[0].reason) is drifted
    assert metadata(world.get(Kind.MACHINE_CONFIG, NAME))["name"] == NAME
