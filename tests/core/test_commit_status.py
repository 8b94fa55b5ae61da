"""What a forge is to show beside a commit, from what was decided."""

from __future__ import annotations

import pytest

from gitops_mc.core.custom.commit_status import (
    LONGEST_DESCRIPTION,
    CommitState,
    CommitStatus,
    of_decision,
    of_refusal,
    of_superseded,
)
from gitops_mc.core.model import Commit
from gitops_mc.core.render.fleet_commands import FleetCommands
from gitops_mc.core.rollout.moves import (
    ClusterView,
    Decision,
    Done,
    Halted,
    Hold,
    Outlook,
    Standing,
    Wait,
    WaveState,
    WaveView,
)


def view(name: str, standing: Standing, reason: str = "") -> ClusterView:
    return ClusterView(name, "rest", standing, reason, None, "", (), None, begun=False)


def decided(outlook: Outlook, *clusters: ClusterView, wave: WaveState = WaveState.OPEN) -> Decision:
    waves = (
        WaveView("canary", WaveState.DONE, "", ()),
        WaveView("rest", wave, "", tuple(c.cluster for c in clusters)),
    )
    return Decision((), outlook, clusters, waves, frozenset())


def said(decision: Decision) -> tuple[CommitState, str]:
    found = of_decision(decision, "prod", str)
    assert found.context == "gitops-mc/prod"
    return found.state, found.description


PASSED = [view(f"edge-{n}", Standing.PASSED) for n in (1, 2)]
READY = view("edge-3", Standing.READY)
FAILED = view("edge-3", Standing.FAILED, "pool worker failed: edge-3-w1 is Degraded")


def test_while_it_rolls_it_is_pending_with_how_many_have_it_and_the_wave() -> None:
    told = "2 of 3 clusters have it; wave rest is open"
    assert said(decided(Wait("edge-3: pool worker: 1 of 2 nodes"), *PASSED, READY)) == (
        CommitState.PENDING,
        told,
    )


def test_a_failure_that_is_tolerated_is_counted_while_it_rolls() -> None:
    state, text = said(decided(Wait("goes on"), *PASSED, FAILED))
    assert (state, text) == (CommitState.PENDING, "2 of 3 clusters have it; 1 failed; wave rest is open")


def test_what_waits_for_an_approval_is_pending_and_names_it() -> None:
    hold = Hold(("wave rest waits for approval",), ("gitops-mc apply --approve rest",))
    assert said(decided(hold, *PASSED, READY, wave=WaveState.NEEDS_APPROVAL)) == (
        CommitState.PENDING,
        "2 of 3 clusters have it; waits for approval of wave rest",
    )
    first = view("edge-3", Standing.APPROVAL)
    assert said(decided(hold, *PASSED, first)) == (
        CommitState.PENDING,
        "2 of 3 clusters have it; waits for approval of edge-3",
    )


def test_what_needs_somebody_is_pending_with_the_reasons() -> None:
    hold = Hold(("edge-3 is blocked: pool worker is paused",), ())
    assert said(decided(hold, *PASSED, view("edge-3", Standing.BLOCKED))) == (
        CommitState.PENDING,
        "2 of 3 clusters have it; needs somebody: edge-3 is blocked: pool worker is paused",
    )


def test_a_halt_is_a_failure_with_its_reason() -> None:
    halted = Halted("1 cluster failed, 0 tolerated: edge-3: pool worker: edge-3-w1 is Degraded")
    assert said(decided(halted, *PASSED, FAILED)) == (
        CommitState.FAILURE,
        "halted, edge-3 failed: pool worker failed: edge-3-w1 is Degraded",
    )
    assert said(decided(Halted("edge-3 failed and opened after all"), *PASSED, READY)) == (
        CommitState.FAILURE,
        "halted, edge-3 failed and opened after all",
    )


def test_a_failure_within_the_tolerance_is_one_when_nothing_goes_on() -> None:
    state, text = said(decided(Hold(("edge-3 has failed",), ()), *PASSED, FAILED))
    assert state is CommitState.FAILURE
    assert text == f"edge-3 failed: {FAILED.reason}"


@pytest.mark.parametrize("outlook", [Wait("rolls"), Hold(("x",), ()), Done("2 of 3 clusters passed")])
def test_problems_of_a_part_of_git_are_a_failure_at_once_for_only_another_commit_mends_them(
    outlook: Outlook,
) -> None:
    broken = view("edge-3", Standing.PROBLEMS, "clusters/edge-3/app.yaml:3: unknown field")
    assert said(decided(outlook, *PASSED, broken)) == (
        CommitState.FAILURE,
        "edge-3 has problems in Git, 2 of 3 clusters have it: clusters/edge-3/app.yaml:3: unknown field",
    )


def test_done_is_a_success_and_clusters_that_git_has_no_more_do_not_count() -> None:
    done = Done("2 of 2 clusters passed")
    assert said(decided(done, *PASSED, view("edge-9", Standing.GONE))) == (
        CommitState.SUCCESS,
        "2 of 2 clusters have it",
    )
    assert said(decided(done, PASSED[0])) == (CommitState.SUCCESS, "1 of 1 cluster has it")


def test_a_commit_that_is_not_followed_has_failed_with_why() -> None:
    found = of_refusal("is not accepted: nobody has signed it", "prod", str)
    assert (found.state, found.description) == (
        CommitState.FAILURE,
        "this commit is not accepted: nobody has signed it",
    )


def test_a_superseded_commit_names_the_one_that_took_over() -> None:
    found = of_superseded(Commit("0123456789abcdef"), "prod")
    assert (found.state, found.description) == (
        CommitState.ERROR,
        "commit 0123456789ab took over before every cluster had this one",
    )


def test_what_is_sensitive_is_taken_out_before_the_text_is_cut_in_the_middle_of_it() -> None:
    secret = "s3cr3t-" * 10
    reason = "x" * 100 + secret
    told = of_refusal(reason, "prod", lambda text: text.replace(secret, "[hidden]")).description
    assert "s3cr3t" not in told
    assert told.endswith("[hidden]")


def test_a_text_is_one_line_of_a_length_that_every_forge_takes() -> None:
    told = of_refusal("a\nb\x1b[31m" + "é" * 500, "prod", str).description
    assert "\n" not in told
    assert "\x1b" not in told
    assert len(told) == LONGEST_DESCRIPTION
    assert told.endswith("…")


def test_what_stays_true_is_short_enough_whatever_the_fleet_is_called() -> None:
    name = "f" * 63
    found = of_decision(decided(Wait("x"), READY), name, FleetCommands(name).said)
    assert found.lasting == f"on its way, or waiting for somebody; gitops-mc status --fleet {name} tells"


def test_a_text_that_is_too_long_for_a_forge_cannot_be_made() -> None:
    with pytest.raises(ValueError, match="140"):
        CommitStatus(CommitState.PENDING, "c", "x" * 141)
