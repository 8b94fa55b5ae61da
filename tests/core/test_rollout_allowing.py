"""What one content of a cluster is allowed, and when that is over."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from gitops_mc.core.custom.kept import cluster_memory, cluster_part, with_cluster_spec
from gitops_mc.core.model import Content
from gitops_mc.core.rollout import acts
from gitops_mc.core.rollout.allowing import while_it_lasts
from gitops_mc.core.rollout.memory import ClusterMemory, FleetMemory, Leave

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)
BY = acts.By("mei", NOW, "production is down")
OLD, NEW, NEWER = Content("a" * 64), Content("b" * 64), Content("c" * 64)
LEAVE = Leave(NEW, "mei", NOW, "production is down")
BOTH = ClusterMemory(started=OLD, hurried=LEAVE, overridden=LEAVE)


def passed(content: Content) -> ClusterMemory:
    return ClusterMemory(started=content, passed=content, passed_at=NOW)


def after(m: ClusterMemory, newest: Content) -> tuple[bool, bool]:
    """Whether haste stands, and whether an override does."""
    memory = while_it_lasts(FleetMemory(clusters={"edge-1": m}), {"edge-1": newest})
    return memory.cluster("edge-1").hurried is not None, memory.cluster("edge-1").overridden is not None


@pytest.mark.parametrize(
    ("memory", "newest", "stands"),
    [
        (BOTH, NEW, (True, True)),
        (replace(BOTH, started=None), NEW, (True, True)),
        (replace(BOTH, started=NEW), NEW, (False, True)),
        (replace(BOTH, started=NEW), NEWER, (False, True)),
        (replace(passed(NEW), hurried=LEAVE, overridden=LEAVE), NEW, (False, False)),
        (BOTH, NEWER, (False, False)),
        (BOTH, OLD, (False, False)),
    ],
)
def test_it_stands_for_its_content_alone(
    memory: ClusterMemory, newest: Content, stands: tuple[bool, bool]
) -> None:
    assert after(memory, newest) == stands


def test_a_cluster_that_git_does_not_have_keeps_what_it_was_allowed() -> None:
    memory = FleetMemory(clusters={"edge-1": BOTH})
    assert while_it_lasts(memory, {"edge-2": NEW}) is memory


def test_the_whole_fleet_is_every_cluster_that_has_something_to_pass() -> None:
    memory = FleetMemory(clusters={"edge-1": passed(NEW), "edge-2": passed(OLD)})
    found = acts.override_all(memory, {"edge-1": NEW, "edge-2": NEW, "edge-3": NEW}, BY)
    assert isinstance(found, acts.Changed)
    assert {n: m.overridden for n, m in found.memory.clusters.items()} == {
        "edge-1": None,
        "edge-2": LEAVE,
        "edge-3": LEAVE,
    }
    assert found.memory.acts[-1].what == "override-window"


@pytest.mark.parametrize("newest", [{}, {"edge-1": NEW}])
def test_nothing_is_allowed_where_nothing_is_left_to_do(newest: dict[str, Content]) -> None:
    memory = FleetMemory(clusters={"edge-1": passed(NEW)})
    assert isinstance(acts.override_all(memory, newest, BY), acts.Unchanged)
    for act in (acts.hurry, acts.override):
        assert isinstance(act(memory, "edge-1", newest.get("edge-1"), BY), acts.Unchanged)


def test_what_has_been_started_is_newer_than_nothing_and_cannot_be_hurried() -> None:
    memory = FleetMemory(clusters={"edge-1": ClusterMemory(started=NEW, begun=True)})
    refused = acts.hurry(memory, "edge-1", NEW, BY)
    assert isinstance(refused, acts.Unchanged)
    assert "nothing newer waits there" in refused.reason


def test_it_stands_in_spec_and_an_object_of_an_older_release_is_read() -> None:
    part = cluster_part(BOTH)
    assert part.spec["overridden"]["content"] == part.spec["hurried"]["content"] == NEW
    assert not {"hurried", "overridden"} & part.memory.keys()
    assert cluster_memory(part.spec, {}) == replace(BOTH, started=None)
    assert cluster_memory({}, {"memory": part.memory}) == ClusterMemory(started=OLD)
    taken_back = {name: said for name, said in part.spec.items() if name != "overridden"}
    assert with_cluster_spec(BOTH, taken_back, part.spec) == replace(BOTH, overridden=None)
