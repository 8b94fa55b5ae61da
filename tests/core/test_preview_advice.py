"""What the live fleet says about merging now, and what is under way in it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from gitops_mc.core.live import Dark, LiveCluster, unread
from gitops_mc.core.model import Commit, Content, DesiredCluster, Outage
from gitops_mc.core.plan import Refusal
from gitops_mc.core.policy import ClusterSelector, FleetPolicy, Rollout, Wave
from gitops_mc.core.preview.advice import BaseMoved, advice_of
from gitops_mc.core.preview.model import Advice, AdviceKind, Revisions, SoakingWave, UnderWay
from gitops_mc.core.preview.standing import soaking, under_way
from gitops_mc.core.preview.standing import unread as unread_of
from gitops_mc.core.rollout.inputs import NO_ACTS, Abort, Acts, Fleet
from gitops_mc.core.rollout.memory import ClusterMemory, Failure, FailureCause, FleetMemory, WaveMemory
from gitops_mc.core.rollout.moves import ClusterView, Decision, Done, Standing
from gitops_mc.core.rollout.preview import ClusterPreview, FleetPreview
from gitops_mc.core.rollout.waves import contents_digest, lines
from tests.core.preview_builder import AT, fleet, live_cluster
from tests.core.preview_worlds import BASE, FORK, HEAD, chrony_change

STILL = BaseMoved(Revisions(BASE, HEAD, BASE), (), ())
OLD, NEW = Content("a" * 64), Content("b" * 64)


def written(name: str = "edge-01", **fields: Any) -> ClusterPreview:
    return replace(live_cluster(chrony_change(name, "canary")), **fields)


def said(
    *clusters: ClusterPreview, acts: Acts = NO_ACTS, halted: str = "", moved: BaseMoved = STILL
) -> tuple[Advice, ...]:
    return advice_of(fleet(HEAD, clusters), acts, halted, moved)


def test_a_fleet_that_could_begin_everywhere_has_nothing_to_say() -> None:
    assert said(written()) == ()


def test_what_holds_for_several_clusters_is_said_once() -> None:
    held: dict[str, Any] = {"standing": Standing.UNREGISTERED}
    (found,) = said(written("edge-01", **held), written("edge-02", **held))
    assert found.kind is AdviceKind.CANNOT_START
    assert found.clusters == ("edge-01", "edge-02")


def test_a_refusal_keeps_it_from_starting_whatever_else_is_so() -> None:
    cluster = written()
    assert cluster.plan is not None
    refused = replace(cluster, plan=replace(cluster.plan, refusals=(Refusal("drifted", "changed by hand"),)))
    assert said(refused) == (Advice(AdviceKind.CANNOT_START, ("edge-01",), "refused: changed by hand"),)


@pytest.mark.parametrize(
    ("fields", "kind", "told"),
    [
        ({"approve": "first contact: 1 of 2 writes"}, AdviceKind.CANNOT_START, "somebody has to approve it"),
        ({"standing": Standing.SKIPPED}, AdviceKind.NOTE, "skipped"),
        ({"standing": Standing.IN_FLIGHT}, AdviceKind.ROLLING, "this very content is rolling there"),
        ({"standing": Standing.FAILED, "reason": "n2 is gone"}, AdviceKind.HELD, "n2 is gone"),
        ({"misfits": ("it fits no window",)}, AdviceKind.CANNOT_START, "it fits no window"),
    ],
)
def test_each_standing_has_its_advice(fields: dict[str, Any], kind: AdviceKind, told: str) -> None:
    (found,) = said(written(**fields))
    assert found.kind is kind
    assert told in found.told


def test_orders_and_a_halt_are_told_before_anything_that_rolls() -> None:
    acts = Acts(held={"edge-01": "mei: storage is being moved"})
    found = said(written(standing=Standing.IN_FLIGHT), acts=acts, halted="edge-07 failed")
    assert [advice.kind for advice in found] == [AdviceKind.HELD, AdviceKind.HELD, AdviceKind.ROLLING]
    assert found[0] == Advice(AdviceKind.HELD, (), "edge-07 failed")
    assert "mei: storage is being moved" in found[1].told
    assert (
        said(written(), acts=Acts(aborted=Abort("wrong"))) == ()
    )  # told once, as the halt of the whole fleet


def test_a_cluster_that_does_not_answer_has_no_advice() -> None:
    dark = replace(unread("edge-01", AT), dark=Dark("no answer", Outage.UNREACHABLE, AT))
    assert said(written(live=dark, standing=Standing.SKIPPED)) == ()


@pytest.mark.parametrize(
    ("clusters", "files", "told"),
    [
        (
            (),
            (),
            "base is 2 commits ahead of what this was made on, and they change nothing of the clusters that this touches",
        ),
        (("a",), (), "they change a too: what is merged there is not what head shows"),
        (
            ("a", "b"),
            ("x", "y"),
            "they change a and b too (both change x and y): what is merged there is not what head shows",
        ),
    ],
)
def test_what_base_has_done_since(clusters: tuple[str, ...], files: tuple[str, ...], told: str) -> None:
    (found,) = said(written(), moved=BaseMoved(Revisions(BASE, HEAD, FORK, behind=2), clusters, files))
    assert found.kind is AdviceKind.BASE_MOVED
    assert found.told.endswith(told)


def view(name: str, standing: Standing, reason: str = "why") -> ClusterView:
    return ClusterView(name, "rest", standing, reason, OLD, "", (), None, begun=True)


def going_on(views: tuple[ClusterView, ...], memory: FleetMemory, *looked_at: str) -> tuple[UnderWay, ...]:
    return under_way(Decision((), Done(""), views, (), frozenset()), memory, looked_at)


def test_of_a_cluster_that_was_looked_at_it_says_what_was_seen_and_of_another_one_what_is_remembered() -> (
    None
):
    failure = Failure(OLD, FailureCause.CONFIG, "pool worker is degraded", AT, {})
    memory = FleetMemory(
        clusters={
            "seen": ClusterMemory(started=OLD, admitted_at=AT),
            "failed": ClusterMemory(started=OLD, failure=failure),
            "begun": ClusterMemory(started=NEW, passed=OLD, admitted_at=AT),
            "over": ClusterMemory(started=OLD, passed=OLD, admitted_at=AT, passed_at=AT + timedelta(hours=1)),
        }
    )
    views = (
        view("seen", Standing.IN_FLIGHT, "node 2 of 3"),
        view("calm", Standing.PASSED),
        *(view(name, Standing.NOT_KNOWN) for name in ("failed", "begun", "over", "new")),
    )
    found = {each.cluster: each for each in going_on(views, memory, "seen", "calm")}
    assert found.keys() == {"seen", "failed", "begun"}
    assert found["seen"] == UnderWay("seen", Standing.IN_FLIGHT, "node 2 of 3", AT)
    assert found["failed"] == UnderWay("failed", Standing.FAILED, "pool worker is degraded", AT)
    assert "as it is remembered" in found["begun"].reason


HALF_AN_HOUR = timedelta(minutes=30)


def soaking_told(soak: timedelta, content: Content = OLD, **fields: Any) -> tuple[SoakingWave, ...]:
    """Of a wave that is remembered to soak with the old content since 20 minutes ago, where base says `content`."""
    policy = FleetPolicy(rollout=Rollout(waves=(Wave("canary", ClusterSelector(), soak=soak),)))
    ((line,), _) = lines(policy, [DesiredCluster("a", (), OLD)])
    kept = WaveMemory(
        contents_digest(line, {"a": DesiredCluster("a", (), OLD)}),
        soak_since=AT - timedelta(minutes=20),
        soaked=False,
    )
    memory = FleetMemory(waves={"canary": replace(kept, **fields)})
    return soaking(Fleet(policy, (DesiredCluster("a", (), content),), Commit(BASE)), memory, AT)


def test_a_wave_that_soaks_is_told_with_since_when() -> None:
    assert soaking_told(HALF_AN_HOUR) == (SoakingWave("canary", AT - timedelta(minutes=20), HALF_AN_HOUR),)
    of_a_former_release = soaking_told(HALF_AN_HOUR, soaked=None)
    assert of_a_former_release == soaking_told(HALF_AN_HOUR)


@pytest.mark.parametrize(
    ("soak", "fields"),
    [
        pytest.param(HALF_AN_HOUR, {"soaked": True}, id="it is over"),
        pytest.param(timedelta(minutes=10), {"soaked": None}, id="over, with a former release"),
        pytest.param(HALF_AN_HOUR, {"soak_since": None}, id="not begun"),
        pytest.param(timedelta(0), {}, id="base asks for none"),
        pytest.param(HALF_AN_HOUR, {"content": NEW}, id="base has moved on"),
    ],
)
def test_a_wave_that_does_not_soak_is_not_told(soak: timedelta, fields: dict[str, Any]) -> None:
    assert soaking_told(soak, **fields) == ()


def test_what_was_not_read_is_named_once_with_since_when() -> None:
    since = AT - timedelta(hours=1)

    def dark(live: LiveCluster) -> LiveCluster:
        return replace(live, dark=Dark("no answer", Outage.UNREACHABLE, since))

    lost = written(live=dark(unread("edge-01", AT)))
    (found,) = unread_of(fleet(HEAD, (lost,)), fleet(BASE, (lost,)), AT)
    assert (found.cluster, found.reason, found.since) == ("edge-01", "no answer", since)
    nothing = FleetPreview(Commit(BASE), (), ())
    (never,) = unread_of(fleet(HEAD, (written(),)), nothing, AT)
    assert never.reason == "not read yet"
