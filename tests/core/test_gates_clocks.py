from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from itertools import takewhile
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitops_mc.core.gates import (
    Agreement,
    Attribution,
    Counting,
    Paused,
    PoolClocks,
    PoolNotKnown,
    PoolReading,
    Settled,
    Terminal,
    Unsettled,
    judge,
    read_pool,
)
from gitops_mc.core.ignition import MergeOrder
from gitops_mc.core.live import LiveCluster
from gitops_mc.core.model import Failed, NotKnown, Open, Verdict, Waiting
from gitops_mc.core.policy import PoolGatePolicy
from tests.core.gate_worlds import BASE, CHRONY, NOW, cluster, node, pool, rendered_of
from tests.core.machine_configs import file, machine_config

POLICY = PoolGatePolicy()
SETTLED = Settled("edge-01", "worker", "pool worker of edge-01: 3 machines", "p/n", 1)
UNREAD = PoolNotKnown("edge-01", "worker", "pool worker of edge-01: HTTP 503")
UNSETTLED = Unsettled(
    cluster="edge-01",
    pool="worker",
    reason="pool worker of edge-01: node n2 NotReady",
    blockers=("node n2 NotReady",),
    terminal=None,
    progress="p/n",
    mismatch=(),
    agreement=Agreement.AGREES,
    paused=Paused.NO,
    capacity_left=0,
)
DEGRADED = replace(UNSETTLED, terminal=Terminal(("Degraded",), (), Attribution.NOT_KNOWN))


def seconds(number: float) -> timedelta:
    return timedelta(seconds=number)


def run(*looks: tuple[float, PoolReading], **more: Any) -> Verdict:
    """The last verdict of looks at the given seconds."""
    clocks, found = PoolClocks(), None
    for at, reading in looks:
        found, clocks = judge(reading, clocks, POLICY, NOW + seconds(at), **more)
    assert found is not None
    return found


# ---------------------------------------------------------------------------------------------------------- settle


def test_a_settled_pool_opens_only_after_settle() -> None:
    assert isinstance(run((0, SETTLED)), Waiting)
    assert isinstance(run((0, SETTLED), (29, SETTLED)), Waiting)
    assert isinstance(run((0, SETTLED), (30, SETTLED)), Open)


@pytest.mark.parametrize("interruption", [UNREAD, UNSETTLED, DEGRADED])
def test_settle_begins_again_after_any_interruption(interruption: PoolReading) -> None:
    assert isinstance(run((0, SETTLED), (20, interruption), (31, SETTLED)), Waiting)
    assert isinstance(run((0, SETTLED), (20, interruption), (31, SETTLED), (61, SETTLED)), Open)


def test_not_knowing_gives_no_verdict_however_long() -> None:
    assert isinstance(run(*((at, UNREAD) for at in range(0, 200_000, 5_000))), NotKnown)


# -------------------------------------------------------------------------------------------------------- debounce


def test_degraded_fails_only_when_it_persists() -> None:
    assert isinstance(run((0, DEGRADED), (59, DEGRADED)), Waiting)
    found = run((0, DEGRADED), (60, DEGRADED))
    assert isinstance(found, Failed)
    assert "node n2 NotReady" in found.reason
    assert "2026-11-30T08:00:00" in found.reason


def test_degraded_that_flaps_fails_nothing() -> None:
    assert isinstance(run(*((at, DEGRADED if at % 80 else UNSETTLED) for at in range(0, 400, 40))), Waiting)


def test_not_knowing_counts_for_no_debounce_and_clears_none() -> None:
    assert isinstance(run((0, DEGRADED), (30, DEGRADED), (1000, UNREAD), (1001, DEGRADED)), Waiting)
    assert isinstance(run((0, DEGRADED), (30, DEGRADED), (1000, UNREAD), (1031, DEGRADED)), Failed)


# ----------------------------------------------------------------------------------------------------------- stall


def at_minutes(*looks: tuple[float, PoolReading], **more: Any) -> Verdict:
    return run(*((at * 60, reading) for at, reading in looks), **more)


def moved(progress: str) -> Unsettled:
    return replace(UNSETTLED, progress=progress)


def test_a_pool_stalls_when_no_node_changes_state() -> None:
    assert isinstance(at_minutes((0, UNSETTLED), (74, UNSETTLED)), Waiting)
    found = at_minutes((0, UNSETTLED), (75, UNSETTLED))
    assert isinstance(found, Failed)
    assert "no node changed state since 2026-11-30T08:00:00" in found.reason
    assert "node n2 NotReady" in found.reason


def test_a_node_that_changes_state_starts_the_stall_clock_again() -> None:
    looks = ((0, moved("p/a")), (70, moved("p/b")), (140, moved("p/b")))
    assert isinstance(at_minutes(*looks), Waiting)
    assert isinstance(at_minutes(*looks, (145, moved("p/b"))), Failed)


def test_nodes_that_were_not_read_in_between_have_not_moved() -> None:
    assert isinstance(at_minutes((0, moved("p/a")), (40, moved("p/-")), (75, moved("p/a"))), Failed)
    assert isinstance(at_minutes((0, moved("p/a")), (40, moved("p/-")), (75, moved("p/b"))), Waiting)
    assert isinstance(at_minutes((0, moved("p/a")), (40, moved("q/-")), (75, moved("q/a"))), Waiting)


def test_a_pool_that_was_settled_for_hours_does_not_stall_at_the_next_write() -> None:
    """The operator has not looked at the write yet: nothing has moved since long before it."""
    looks = ((0, SETTLED), (300, SETTLED), (301, UNSETTLED))
    assert isinstance(at_minutes(*looks), Waiting)
    assert isinstance(at_minutes(*looks, (375, UNSETTLED)), Waiting)
    assert isinstance(at_minutes(*looks, (376, UNSETTLED)), Failed)


def test_not_knowing_stops_the_stall_clock() -> None:
    dark: list[tuple[float, PoolReading]] = [(0, UNSETTLED), (10, UNSETTLED)]
    dark += [(at, UNREAD) for at in range(11, 300)]
    assert isinstance(at_minutes(*dark, (300, UNSETTLED)), Waiting)
    assert isinstance(at_minutes(*dark, (370, UNSETTLED)), Failed)


@pytest.mark.parametrize("paused", [Paused.BY_US, Paused.BY_ANOTHER])
def test_a_paused_pool_never_stalls(paused: Paused) -> None:
    halted = replace(UNSETTLED, paused=paused)
    looks = [(at, halted) for at in range(0, 1000, 10)]
    assert isinstance(at_minutes(*looks), Waiting)
    assert isinstance(at_minutes(*looks, (1000, UNSETTLED), (1070, UNSETTLED)), Failed)


def test_what_another_paused_fails_nothing_and_what_we_paused_may() -> None:
    assert isinstance(
        run(*((at, replace(DEGRADED, paused=Paused.BY_ANOTHER)) for at in range(0, 600, 60))), Waiting
    )
    assert isinstance(
        run(*((at, replace(DEGRADED, paused=Paused.BY_US)) for at in range(0, 600, 60))), Failed
    )


def test_nothing_fails_while_the_clocks_are_stopped() -> None:
    looks = [(at, DEGRADED) for at in range(0, 1000, 10)]
    assert isinstance(at_minutes(*looks, counting=Counting.STOPPED), Waiting)


def test_time_that_goes_backwards_fails_nothing() -> None:
    assert isinstance(at_minutes((100, DEGRADED), (0, DEGRADED)), Waiting)
    assert isinstance(at_minutes((100, DEGRADED), (0, UNREAD), (2, DEGRADED)), Waiting)


# -------------------------------------------------------------------------------------------------------- mismatch


def lagging(*configs: Any) -> LiveCluster:
    return cluster([pool()], configs=configs, rendered=[rendered_of("rendered-1", BASE)])


def read(live: LiveCluster) -> Unsettled:
    found = read_pool(live, "worker", order=MergeOrder.ALPHABETICAL, policy=POLICY)
    assert isinstance(found, Unsettled)
    return found


def test_a_mismatch_beside_agreement_can_be_accepted_after_ten_minutes() -> None:
    reading = read(lagging(BASE, CHRONY))
    early, late = at_minutes((0, reading), (9, reading)), at_minutes((0, reading), (10, reading))
    assert isinstance(early, Waiting)
    assert isinstance(late, Waiting)
    assert early.accept == ""
    assert late.accept == reading.accept
    assert f"gitops-mc accept {reading.accept}" in late.reason
    assert "/etc/chrony.conf" in late.reason


def test_a_mismatch_is_waited_for_and_does_not_stall() -> None:
    reading = read(lagging(BASE, CHRONY))
    assert isinstance(at_minutes((0, reading), (6000, reading)), Waiting)


def test_an_accepted_mismatch_settles_like_everything_else() -> None:
    reading = read(lagging(BASE, CHRONY))
    accepted = frozenset({reading.accept})
    assert isinstance(run((0, reading), (10, reading), accepted=accepted), Waiting)
    found = run((0, reading), (30, reading), accepted=accepted)
    assert isinstance(found, Open)
    assert reading.accept in found.reason


def test_what_was_accepted_is_that_mismatch_and_no_later_one() -> None:
    """Other bytes in the same file, from the same config, are another mismatch."""
    later = machine_config("50-worker-chrony", files=[file("/etc/chrony.conf", "data:,v3")])
    one, other = read(lagging(BASE, CHRONY)), read(lagging(BASE, later))
    assert one.accept != other.accept
    assert isinstance(run((0, other), (30, other), accepted=frozenset({one.accept})), Waiting)
    assert read(lagging(BASE, CHRONY)).accept == one.accept


def test_another_mismatch_starts_its_ten_minutes_again() -> None:
    later = machine_config("50-worker-chrony", files=[file("/etc/chrony.conf", "data:,v3")])
    one, other = read(lagging(BASE, CHRONY)), read(lagging(BASE, later))
    found = at_minutes((0, one), (9, other), (11, other))
    assert isinstance(found, Waiting)
    assert found.accept == ""


def test_a_mismatch_with_anything_else_wrong_cannot_be_accepted() -> None:
    live = cluster(
        [pool(status={"readyMachineCount": 2})],
        configs=[BASE, CHRONY],
        rendered=[rendered_of("rendered-1", BASE)],
    )
    reading = read(live)
    assert reading.mismatch
    assert reading.accept == ""


# ------------------------------------------------------------------------------------------------- the whole of it


def test_stale_true_holds_the_gate_for_as_long_as_it_lasts() -> None:
    """Updated=True after the write, then rolling, then done: open once, and only at the end."""
    stale = lagging(BASE, CHRONY)
    rolling = cluster(
        [pool(rendered="rendered-2", done="rendered-1")],
        configs=[BASE, CHRONY],
        nodes=[node("w1", "rendered-1", "rendered-2", "Working", cordoned=True), node("w2"), node("w3")],
    )
    done = cluster([pool(rendered="rendered-2")], configs=[BASE, CHRONY])
    clocks, opened = PoolClocks(), []
    for at in range(0, 300, 5):
        live = stale if at < 60 else rolling if at < 200 else done
        reading = read_pool(live, "worker", order=MergeOrder.ALPHABETICAL, policy=POLICY)
        found, clocks = judge(reading, clocks, POLICY, NOW + seconds(at))
        assert not isinstance(found, Failed)
        if isinstance(found, Open):
            opened.append(at)
    assert opened[0] == 230


def test_clocks_survive_being_written_and_read() -> None:
    _, clocks = judge(read(lagging(BASE, CHRONY)), PoolClocks(), POLICY, NOW)
    plain = msgspec.json.decode(msgspec.json.encode(clocks))
    assert msgspec.convert(plain, PoolClocks) == clocks
    assert msgspec.convert({}, PoolClocks) == PoolClocks()
    assert isinstance(clocks.progress_at, datetime)


@settings(derandomize=True, max_examples=300, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(1, 40),
            st.sampled_from([SETTLED, SETTLED, SETTLED, SETTLED, UNSETTLED, DEGRADED, UNREAD]),
        ),
        min_size=1,
        max_size=30,
    )
)
def test_open_means_settled_at_every_look_of_the_last_settle_and_failed_means_degraded_so_long(
    looks: list[tuple[int, PoolReading]],
) -> None:
    clocks, at = PoolClocks(), 0
    seen: list[tuple[int, PoolReading]] = []
    for gap, reading in looks:
        at += gap
        seen.append((at, reading))
        found, clocks = judge(reading, clocks, POLICY, NOW + seconds(at))
        settled = [t for t, _ in takewhile(lambda look: look[1] is SETTLED, reversed(seen))]
        degraded = [t for t, _ in takewhile(lambda look: look[1] in (DEGRADED, UNREAD), reversed(seen))]
        assert isinstance(found, Open) == (
            bool(settled) and at - settled[-1] >= POLICY.settle.total_seconds()
        )
        if isinstance(found, Failed):
            assert reading is DEGRADED
            assert at - degraded[-1] >= POLICY.debounce.total_seconds()
        assert isinstance(found, NotKnown) == (reading is UNREAD)
