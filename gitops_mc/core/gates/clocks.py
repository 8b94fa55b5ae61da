"""Time added to readings of a pool: settle, debounce, stall. Pure: the clocks are values that the caller remembers.

`settle`: everything true without a break, and not knowing is a break. `debounce`: Degraded without a break; not knowing
neither counts nor breaks. `stall`: no node changed state; not counted while the pool is paused, unknown, or `STOPPED`.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum
from typing import assert_never

from gitops_mc.core.gates.pool_view import NODES_NOT_READ
from gitops_mc.core.gates.readings import (
    STANDING_STILL,
    Paused,
    PoolNotKnown,
    PoolReading,
    Settled,
    Unsettled,
)
from gitops_mc.core.model import Failed, NotKnown, Open, Verdict, Waiting
from gitops_mc.core.policy import PoolGatePolicy

ACCEPTABLE_AFTER = timedelta(minutes=10)
"""How long a mismatch stands while everything else agrees before a human is asked to accept it."""


class Counting(Enum):
    """Whether time counts. STOPPED: suspended, frozen by a fleet fault, or the like; nothing fails meanwhile."""

    RUNNING = "running"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class PoolClocks:
    """What `judge` has to remember of one pool between two looks. Begin with `PoolClocks()`, at each write anew.

    Plain data: msgspec writes and reads it as part of the memory.
    """

    settled_since: datetime | None = None
    terminal_since: datetime | None = None
    progress: str = ""
    progress_at: datetime | None = None
    mismatch_since: datetime | None = None
    mismatch: str = ""
    """Id of the mismatch that `mismatch_since` is about."""
    judged_at: datetime | None = None

    def shifted(self, by: timedelta) -> PoolClocks:
        """As if everything but `settle` had begun later: time during which nothing counts."""

        def later(at: datetime | None) -> datetime | None:
            return None if at is None else at + by

        return replace(
            self,
            terminal_since=later(self.terminal_since),
            progress_at=later(self.progress_at),
            mismatch_since=later(self.mismatch_since),
        )


def judge(
    reading: PoolReading,
    clocks: PoolClocks,
    policy: PoolGatePolicy,
    now: datetime,
    *,
    accepted: AbstractSet[str] = frozenset(),
    counting: Counting = Counting.RUNNING,
) -> tuple[Verdict, PoolClocks]:
    """The verdict on a pool at `now`, and the clocks to remember. `accepted`: ids of mismatches a human accepted.

    `now` is when the pool was read. It never runs back: one read before a gap, in which the clock may have been set
    forward, is judged as if it was read after it.
    """
    now = max(now, clocks.judged_at or now)
    elapsed = now - (clocks.judged_at or now)
    clocks = replace(clocks, judged_at=now)
    match reading:
        case PoolNotKnown():
            clocks = replace(clocks.shifted(elapsed), settled_since=None)
            return NotKnown(reading.reason), clocks
        case Settled():
            return _settle(reading.reason, clocks, policy, now)
        case Unsettled() if reading.accept and reading.accept in accepted:
            reason = f"{reading.reason}; the mismatch was accepted ({reading.accept})"
            return _settle(reason, clocks, policy, now)
        case Unsettled():
            return _unsettled(reading, _stopped(clocks, reading, counting, elapsed), policy, now, counting)
        case _:
            assert_never(reading)


def _settle(
    reason: str, clocks: PoolClocks, policy: PoolGatePolicy, now: datetime
) -> tuple[Verdict, PoolClocks]:
    """Everything but `settle` begins anew when the pool is unsettled next, however long it has been settled."""
    since = clocks.settled_since or now
    clocks = PoolClocks(settled_since=since, judged_at=now)
    if now - since >= policy.settle:
        return Open(reason), clocks
    told = f"{reason}; settled since {_clock(since)}, opens after {_span(policy.settle)} without a break"
    return Waiting(told), clocks


def _stopped(clocks: PoolClocks, reading: Unsettled, counting: Counting, elapsed: timedelta) -> PoolClocks:
    """Take out of the clocks what does not count: all of them when stopped, the stall clock while paused by us."""
    if counting is Counting.STOPPED or reading.paused in STANDING_STILL:
        return clocks.shifted(elapsed)
    if reading.paused is Paused.BY_US and clocks.progress_at is not None:
        return replace(clocks, progress_at=clocks.progress_at + elapsed)
    return clocks


def _unsettled(
    reading: Unsettled, clocks: PoolClocks, policy: PoolGatePolicy, now: datetime, counting: Counting
) -> tuple[Verdict, PoolClocks]:
    clocks = _moved(clocks, reading.progress, now)
    same = bool(reading.accept) and clocks.mismatch == reading.accept
    clocks = replace(
        clocks,
        settled_since=None,
        terminal_since=(clocks.terminal_since or now) if reading.terminal else None,
        mismatch=reading.accept,
        mismatch_since=(clocks.mismatch_since if same else now) if reading.accept else None,
    )
    if counting is Counting.STOPPED or reading.paused in STANDING_STILL:
        return Waiting(f"{reading.reason}{_see(reading)}"), clocks
    return _timed(reading, clocks, policy, now), clocks


def _timed(reading: Unsettled, clocks: PoolClocks, policy: PoolGatePolicy, now: datetime) -> Verdict:
    see = _see(reading)
    if reading.terminal and clocks.terminal_since and now - clocks.terminal_since >= policy.debounce:
        return Failed(f"{reading.reason}; Degraded in every look since {_clock(clocks.terminal_since)}{see}")
    if reading.accept:
        if clocks.mismatch_since and now - clocks.mismatch_since >= ACCEPTABLE_AFTER:
            told = f"{reading.reason}; everything else agrees since {_clock(clocks.mismatch_since)}"
            return Waiting(f"{told}; gitops-mc accept {reading.accept} if that is meant", reading.accept)
        return Waiting(f"{reading.reason}{see}")
    stalled = clocks.progress_at is not None and now - clocks.progress_at >= policy.stall
    if stalled and clocks.progress_at and reading.paused is Paused.NO:
        still = f"no node changed state since {_clock(clocks.progress_at)}, limit {_span(policy.stall)}"
        return Failed(f"{reading.reason}; {still}{see}")
    return Waiting(f"{reading.reason}{see}")


def _see(reading: Unsettled) -> str:
    """Where to begin; the reading has every command."""
    return f"; see, on {reading.cluster}: {reading.commands[0]}" if reading.commands else ""


def _moved(clocks: PoolClocks, progress: str, now: datetime) -> PoolClocks:
    """Restart the stall clock if anything moved. Nodes that were not read this time, or last time, did not move."""
    if clocks.progress_at is None:
        return replace(clocks, progress=progress, progress_at=now)
    pool, _, nodes = progress.partition("/")
    last_pool, _, last_nodes = clocks.progress.partition("/")
    unread = NODES_NOT_READ in (nodes, last_nodes)
    kept = f"{pool}/{last_nodes if nodes == NODES_NOT_READ else nodes}"
    still = pool == last_pool and (unread or nodes == last_nodes)
    return replace(clocks, progress=kept, progress_at=clocks.progress_at if still else now)


def _clock(at: datetime) -> str:
    return at.isoformat(timespec="seconds")


def _span(span: timedelta) -> str:
    seconds = int(span.total_seconds())
    return f"{seconds // 60}m" if seconds >= 60 and seconds % 60 == 0 else f"{seconds}s"
