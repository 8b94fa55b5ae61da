"""Asking a Fleet's controller: each verb is put there, waited for, and told as carried out or refused."""

from __future__ import annotations

from datetime import timedelta

import pytest

from gitops_mc.app.ports import MERGE_PATCH
from gitops_mc.app.use_cases.fleet_orders import (
    UnansweredError,
    awaited,
    take_over,
)
from gitops_mc.app.use_cases.installation import INSTALLATION, INSTALLATION_NAMESPACE
from gitops_mc.core.custom.requests import Verb
from gitops_mc.core.custom.wishes import CarriedOut, Refused, TakenBack
from gitops_mc.core.errors import RefusedError, UsageError
from gitops_mc.core.model import GLOBAL_CLUSTER
from tests.app.fleet_desk import ASKING, LEASE, MINUTE, Desk, files, halted, identified, waiting
from tests.scenarios.controller_world import FLEETS, HERE, ROLLOUTS, ControllerWorld


def active_elsewhere() -> Desk:
    desk = waiting()
    desk.world.edit("", {"activeOn": "the-other-site"})
    return desk


def history(desk: Desk) -> list[tuple[str, str, str]]:
    acts = desk.world.fleet()["status"].get("history") or ()
    return [(act["who"], act["what"], act.get("why", "")) for act in acts]


def notes(desk: Desk, cluster: str = "") -> dict[str, str]:
    body = desk.world.of(cluster) if cluster else desk.world.fleet()
    found: dict[str, str] = body["metadata"].get("annotations") or {}
    return found


# ------------------------------------------------------------------------------------------------------------ each verb


def test_an_approval_opens_the_wave() -> None:
    desk = waiting()
    answers = desk.ask(desk.wish(Verb.APPROVE, wave="rest", reason="looked: at the {canary}"))
    assert answers == [CarriedOut(("approve rest",))]
    assert history(desk)[-1] == ("mei", "approve rest", "looked: at the {canary}")
    desk.world.run(desk.replica, until=lambda w: w.outlook() == "done")


def test_hold_and_release_stand_in_spec_and_go() -> None:
    desk = waiting()
    assert desk.ask(desk.wish(Verb.HOLD, "edge-2")) == [CarriedOut(("hold edge-2",))]
    assert desk.world.of("edge-2")["spec"]["hold"] == {"reason": "why not", "by": "mei"}
    assert desk.ask(desk.wish(Verb.RELEASE, "edge-2")) == [CarriedOut(("release edge-2",))]
    assert "hold" not in desk.world.of("edge-2")["spec"]


def test_skip_excuse_and_their_undoing_are_carried_out() -> None:
    desk = waiting()
    for verb, members in (
        (Verb.SKIP, {}),
        (Verb.UNSKIP, {}),
        (Verb.EXCUSE, {"node": "edge-2-w1", "for": "2h"}),
        (Verb.UNEXCUSE, {"node": "edge-2-w1"}),
    ):
        (answer,) = desk.ask(desk.wish(verb, "edge-2", **members))
        assert isinstance(answer, CarriedOut), verb
        assert answer.acts, verb


def test_suspend_abort_and_resume_are_carried_out() -> None:
    desk = waiting()
    assert desk.ask(desk.wish(Verb.SUSPEND)) == [CarriedOut(("suspend",))]
    assert desk.ask(desk.wish(Verb.ABORT, letFinish="true")) == [CarriedOut(("abort",))]
    spec = desk.world.fleet()["spec"]
    assert (spec["suspend"], spec["abort"]["letFinish"]) == (True, True)
    assert desk.ask(desk.wish(Verb.RESUME)) == [CarriedOut(("resume",))]
    assert not {"suspend", "abort"} & desk.world.fleet()["spec"].keys()


def test_sync_asks_git_at_once_and_leaves_nothing_in_the_history() -> None:
    desk = waiting()
    before = history(desk)
    assert desk.ask(desk.wish(Verb.SYNC)) == [CarriedOut(())]
    assert history(desk) == before


def test_what_is_asked_for_together_is_put_there_in_one_write() -> None:
    desk = halted()
    wishes = [desk.wish(verb, "edge-1") for verb in (Verb.RETRY, Verb.HOLD, Verb.OVERRIDE_WINDOW)]
    answers = desk.ask(*wishes)
    assert answers == [CarriedOut((f"{wish.verb.value} edge-1",)) for wish in wishes]


def test_a_rollback_of_all_is_carried_out_where_something_failed() -> None:
    desk = halted()
    assert desk.ask(desk.wish(Verb.ROLLBACK)) == [CarriedOut(("rollback --all",))]


def test_a_release_of_all_ends_the_halt() -> None:
    desk = halted()
    assert desk.ask(desk.wish(Verb.RELEASE)) == [CarriedOut(("release --all",))]
    assert "halt" not in desk.world.fleet()["spec"]


def test_a_cluster_that_is_forgotten_takes_its_object_and_the_request_along() -> None:
    desk = waiting()
    rest = {path: text for path, text in files("one", ASKING).items() if "edge-1" not in path}
    desk.world.push(rest)
    desk.world.run(desk.replica, until=lambda w: w.ready("edge-1") == "GoneFromGit")
    assert desk.ask(desk.wish(Verb.FORGET, "edge-1")) == [CarriedOut(("forget edge-1",))]
    names = [body["metadata"]["name"] for body in desk.world.kubectl("GET", ROLLOUTS)["items"]]
    assert "edge-1" not in names


# ------------------------------------------------------------------------------------------------------------- refusals


def test_a_refusal_is_told_with_what_helps_as_it_is_typed_for_this_fleet() -> None:
    desk = waiting()
    (answer,) = desk.ask(desk.wish(Verb.RELEASE, "edge-1"))
    assert isinstance(answer, Refused)
    assert "gitops-mc status --fleet prod" in answer.reason
    assert history(desk)[-1][1] == "not carried out: gitops-mc.io/release on edge-1"


def test_refusals_of_one_verb_on_two_clusters_are_told_apart() -> None:
    desk = halted()
    good, bad = desk.ask(desk.wish(Verb.RETRY, "edge-1"), desk.wish(Verb.RETRY, "edge-2"))
    assert good == CarriedOut(("retry edge-1",))
    assert isinstance(bad, Refused)


def test_a_wave_that_there_is_not_is_refused() -> None:
    desk = waiting()
    (answer,) = desk.ask(desk.wish(Verb.APPROVE, wave="tomorrow"))
    assert answer == Refused("there is no wave tomorrow; waves: canary, rest")


def test_nothing_is_hurried_where_everything_has_passed() -> None:
    desk = waiting()
    (answer,) = desk.ask(desk.wish(Verb.NOW, "edge-1"))
    assert isinstance(answer, Refused)
    assert "edge-1 has passed what Git has" in answer.reason


def test_windows_are_overridden_for_all_only_while_somebody_has_something_to_pass() -> None:
    desk = waiting()
    assert desk.ask(desk.wish(Verb.OVERRIDE_WINDOW)) == [CarriedOut(("override-window",))]
    desk.ask(desk.wish(Verb.APPROVE, wave="rest"))
    desk.world.run(desk.replica, until=lambda w: w.outlook() == "done")
    (answer,) = desk.ask(desk.wish(Verb.OVERRIDE_WINDOW))
    assert isinstance(answer, Refused)
    assert "every cluster has passed what Git has" in answer.reason


def test_a_cluster_of_no_fleet_is_wrong_usage_and_names_those_that_there_are() -> None:
    desk = waiting()
    with pytest.raises(UsageError) as found:
        desk.ask(desk.wish(Verb.HOLD, "edge-9"))
    assert found.value.hint == "there are: edge-1, edge-2, edge-3"


def test_a_request_that_is_too_long_is_never_put_there() -> None:
    desk = waiting()
    with pytest.raises(UsageError):
        desk.ask(desk.wish(Verb.SUSPEND, reason="x" * 5_000))
    assert notes(desk) == {}


# ------------------------------------------------------------------------------------------- nobody, and several at once


def test_where_nobody_leads_the_request_stands_and_is_carried_out_later() -> None:
    desk = waiting()
    alone = Desk(desk.world)
    desk.world.kubectl(
        "PATCH",
        f"/apis/coordination.k8s.io/v1/namespaces/gitops-mc/leases/{LEASE}",
        {"spec": {"holderIdentity": ""}},
        MERGE_PATCH,
    )
    with pytest.raises(UnansweredError) as found:
        alone.ask(alone.wish(Verb.SUSPEND, reason="nobody is there"))
    assert found.value.message.startswith("nobody leads: no process holds the lease gitops-mc/gitops-mc")
    assert "kubectl -n gitops-mc annotate fleet prod gitops-mc.io/suspend-" in found.value.message
    desk.world.run(hours=0.1)
    assert history(desk)[-1] == ("mei", "suspend", "nobody is there")


def test_a_leader_that_renews_no_more_is_named() -> None:
    desk = waiting()
    alone = Desk(desk.world)
    with pytest.raises(UnansweredError) as found:
        alone.ask(alone.wish(Verb.SUSPEND))
    assert "nobody leads: one has not renewed the lease" in found.value.message


def test_a_leader_that_cannot_follow_the_fleet_says_why() -> None:
    world = ControllerWorld()
    identified(world)
    world.git.down = "the Git server does not answer"
    replica = world.run(hours=0.1)
    desk = Desk(world, replica)
    with pytest.raises(UnansweredError) as found:
        desk.ask(desk.wish(Verb.APPROVE, wave="rest"), within=3 * MINUTE)
    assert "one leads and cannot follow the Fleet: the Git server does not answer" in found.value.message


def test_who_may_read_neither_lease_nor_identity_may_ask_and_nobody_claims_to_know_who_leads() -> None:
    desk = waiting()
    narrow = Desk(desk.world, desk.replica, forbidden=("leases", "configmaps"))
    assert narrow.ask(narrow.wish(Verb.HOLD, "edge-2")) == [CarriedOut(("hold edge-2",))]
    alone = Desk(desk.world, forbidden=("leases", "configmaps"))
    with pytest.raises(UnansweredError) as found:
        alone.ask(alone.wish(Verb.SUSPEND), within=timedelta(seconds=5))
    assert "nobody leads" not in found.value.message
    assert "this token may not read who leads" in found.value.message


def test_a_request_waits_for_the_one_before_and_both_are_carried_out() -> None:
    desk = waiting()
    desk.world.annotate("edge-2", "hold", "{reason: disks, by: jun}")
    answers = desk.ask(desk.wish(Verb.HOLD, "edge-2", "and fans"), within=3 * MINUTE)
    assert answers == [CarriedOut(("hold edge-2",))]
    assert history(desk)[-2:] == [("jun", "hold edge-2", "disks"), ("mei", "hold edge-2", "and fans")]


def test_a_request_that_is_pending_is_never_written_over() -> None:
    desk = waiting()
    desk.world.annotate("", "suspend", "{reason: a storm, by: jun}")
    alone = Desk(desk.world)
    with pytest.raises(UnansweredError) as found:
        alone.ask(alone.wish(Verb.SUSPEND, reason="lunch"), within=timedelta(seconds=5))
    assert "an earlier request is still pending: suspend, {reason: a storm, by: jun}" in found.value.message
    assert notes(desk)["gitops-mc.io/suspend"] == "{reason: a storm, by: jun}"


def test_two_people_who_ask_for_two_things_at_once_both_get_them() -> None:
    desk = waiting()
    other = Desk(desk.world, desk.replica, who="jun")
    answers: list[object] = []

    def ask_too() -> None:
        answers.extend(other.ask(other.wish(Verb.HOLD, "edge-3")))

    desk.turns.meanwhile.append(ask_too)
    answers += desk.ask(desk.wish(Verb.HOLD, "edge-2"))
    assert sorted(map(str, answers)) == sorted(
        str(CarriedOut((f"hold {name}",))) for name in ("edge-2", "edge-3")
    )


def test_what_somebody_takes_off_again_is_told_as_taken_back() -> None:
    desk = waiting()
    desk.turns.replica = None
    path = f"{ROLLOUTS}/edge-2"
    gone = {"metadata": {"annotations": {"gitops-mc.io/hold": None}}}

    def off() -> None:
        desk.world.kubectl("PATCH", path, gone, MERGE_PATCH)

    desk.turns.meanwhile.append(off)
    assert desk.ask(desk.wish(Verb.HOLD, "edge-2")) == [TakenBack()]


# -------------------------------------------------------------------------------------------------------- other places


def test_where_another_installation_acts_nothing_is_put_there() -> None:
    desk = active_elsewhere()
    with pytest.raises(RefusedError) as found:
        desk.ask(desk.wish(Verb.HOLD, "edge-1"))
    assert "is active on installation the-other-site" in found.value.message
    assert "gitops-mc takeover --fleet prod" in found.value.hint
    assert notes(desk, "edge-1") == {}


def test_a_takeover_names_this_installation_suspended_and_stands_in_the_history() -> None:
    desk = active_elsewhere()
    asked = desk.wish(Verb.TAKEOVER, reason="the other site is gone")
    assert take_over(desk.place, asked) == HERE
    spec = desk.world.fleet()["spec"]
    assert (spec["activeOn"], spec["suspend"]) == (HERE, True)
    assert spec["suspendReason"] == "taken over by mei: the other site is gone"
    assert awaited(desk.place, asked, MINUTE, LEASE)
    assert history(desk)[-1] == ("mei", f"takeover {HERE}", "the other site is gone")
    written = len(desk.world.rollout.writes("edge-2"))
    desk.ask(desk.wish(Verb.APPROVE, wave="rest"))
    desk.world.run(desk.replica, hours=1)
    assert len(desk.world.rollout.writes("edge-2")) == written, "it is suspended until somebody resumes"
    desk.ask(desk.wish(Verb.RESUME))
    desk.world.run(desk.replica, until=lambda w: w.outlook() == "done")


def test_there_is_nothing_to_take_over_where_it_is_active_here_or_nobody_has_begun() -> None:
    desk = waiting()
    with pytest.raises(RefusedError, match="is active on this installation"):
        take_over(desk.place, desk.wish(Verb.TAKEOVER))
    path = f"/api/v1/namespaces/{INSTALLATION_NAMESPACE}/configmaps/{INSTALLATION}"
    desk.world.kubectl("DELETE", path)
    with pytest.raises(RefusedError, match="no controller has begun on this installation"):
        take_over(desk.place, desk.wish(Verb.TAKEOVER))


def test_a_takeover_while_nobody_leads_is_done_all_the_same() -> None:
    desk = active_elsewhere()
    alone = Desk(desk.world)
    asked = alone.wish(Verb.TAKEOVER)
    take_over(alone.place, asked)
    assert not awaited(alone.place, asked, timedelta(seconds=5), LEASE)
    assert alone.world.kubectl("GET", f"{FLEETS}/prod")["spec"]["activeOn"] == HERE


def test_only_global_is_written_to_by_who_asks() -> None:
    desk = waiting()
    alone = Desk(desk.world)
    before = {name: len(server.writes) for name, server in desk.world.rollout.fleet.servers.items()}
    with pytest.raises(UnansweredError):
        alone.ask(alone.wish(Verb.HOLD, "edge-2"), within=timedelta(seconds=2))
    servers = desk.world.rollout.fleet.servers
    wrote = {name for name, server in servers.items() if len(server.writes) > before[name]}
    assert wrote == {GLOBAL_CLUSTER}


@pytest.mark.parametrize(("first", "then"), [(Verb.HOLD, Verb.RELEASE), (Verb.RELEASE, Verb.HOLD)])
def test_what_waits_and_is_undone_by_what_is_asked_for_now_is_taken_off(first: Verb, then: Verb) -> None:
    desk = waiting()
    desk.replica = None  # nobody leads
    desk.turns.replica = None
    desk.world.end()
    for verb in (first, then):
        with pytest.raises(UnansweredError):
            desk.ask(desk.wish(verb, "edge-2"))
    notes = desk.world.of("edge-2")["metadata"]["annotations"]
    assert f"gitops-mc.io/{then.value}" in notes
    assert f"gitops-mc.io/{first.value}" not in notes
