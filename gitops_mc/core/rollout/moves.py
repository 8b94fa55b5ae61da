"""What the shell is asked to do, and what is said about every cluster and wave meanwhile."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TypeAlias

from gitops_mc.core.diff import Change
from gitops_mc.core.model import Content, JsonObject, Kind, Verdict
from gitops_mc.core.plan import ClusterPlan
from gitops_mc.core.rollout.windows import WindowClosed


@dataclass(frozen=True, slots=True)
class PoolPatch:
    """A JSON Patch of one pool; its first operation tests the resourceVersion it was decided on."""

    pool: str
    patch: tuple[JsonObject, ...]


@dataclass(frozen=True, slots=True)
class Apply:
    """Make the writes of a step, in order. The first one that fails ends the move; the rest is decided again."""

    cluster: str
    step: str
    writes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Pause:
    """Open the bracket, or stop what rolls because of an abort: pause these pools and mark them as ours."""

    cluster: str
    step: str
    patches: tuple[PoolPatch, ...]


@dataclass(frozen=True, slots=True)
class Unpause:
    """Close the bracket, or end an abort: put `paused` back to what it was and take the mark off, in one patch a pool."""

    cluster: str
    step: str
    patches: tuple[PoolPatch, ...]


@dataclass(frozen=True, slots=True)
class ObjectPatch:
    """A JSON Patch of one object; its first operation tests the resourceVersion it was decided on."""

    kind: Kind
    name: str
    patch: tuple[JsonObject, ...]


@dataclass(frozen=True, slots=True)
class Unmark:
    """Take our label and annotation off objects of a cluster that is forgotten. No pass decides it: a human does."""

    cluster: str
    patches: tuple[ObjectPatch, ...]


Move: TypeAlias = Apply | Pause | Unpause


class Standing(StrEnum):
    """Where a cluster stands in the rollout of the newest content."""

    PASSED = "passed"
    IN_FLIGHT = "in flight"
    FAILED = "failed"
    BLOCKED = "blocked"
    """Sick before we wrote, refused, or not Running."""
    UNPUBLISHED = "not published"
    """A module version is not published yet; counts as blocked until publishTimeout."""
    PROBLEMS = "problems"
    """Its part of the repository has problems."""
    UNREACHABLE = "unreachable"
    UNREGISTERED = "unregistered"
    SKIPPED = "skipped"
    APPROVAL = "needs approval"
    """First contact with a plan that changes what somebody set."""
    HELD = "held"
    """Could start, or is in no state to; a human's order keeps it from beginning anything. It is waited for."""
    READY = "ready"
    """Could start; waits for its wave or a place in it."""
    NOT_KNOWN = "not known"
    GONE = "gone from Git"
    """Remembered, but its folder is gone: nothing is changed there any more, and nothing is deleted."""


_SAID = {
    Standing.PASSED: "has passed",
    Standing.FAILED: "has failed",
    Standing.PROBLEMS: "has problems in Git",
    Standing.APPROVAL: "needs approval",
    Standing.NOT_KNOWN: "is still being looked at",
}


def said_of_wave(wave: str, state: WaveState) -> str:
    """In a sentence: `wave rest needs approval`, `wave rest is open`."""
    return (
        f"wave {wave} {state.value}" if state is WaveState.NEEDS_APPROVAL else f"wave {wave} is {state.value}"
    )


def said(standing: Standing) -> str:
    """In a sentence about a cluster: `has failed`, `is in flight`."""
    return _SAID.get(standing, f"is {standing.value}")


OUT_OF_THE_WAY = (Standing.PASSED, Standing.SKIPPED, Standing.UNREGISTERED)
"""Nothing is waited for here: the wave goes on without any tolerance."""
AWAY = (Standing.BLOCKED, Standing.UNPUBLISHED, Standing.UNREACHABLE, Standing.APPROVAL)
"""Counted against maxUnreachable; within it, the next wave may open without them."""
FINAL = (*OUT_OF_THE_WAY, Standing.PROBLEMS, Standing.GONE)
"""Time alone changes nothing here."""


@dataclass(frozen=True, slots=True)
class GateView:
    """One gate as it is shown: `pool worker`, `module machine-config`, `policy`, `components`."""

    subject: str
    verdict: Verdict
    facts: tuple[str, ...] = ()
    """Of a pool that is not settled: every fact that is not as it has to be, where the verdict's reason says each thing once."""


@dataclass(frozen=True, slots=True)
class ClusterView:
    """What is known of one cluster on this pass, for progress, `status` and `why`."""

    cluster: str
    wave: str
    standing: Standing
    reason: str
    content: Content | None
    """The content it is assigned to."""
    step: str
    gates: tuple[GateView, ...]
    plan: ClusterPlan | None
    begun: bool
    recovering: bool = False
    """It has failed, and nothing of it fails at this moment: time may open it after all."""
    hands: str = ""
    """What somebody has to do before this cluster goes any further; empty where time may do."""
    window: WindowClosed | None = None
    """What it would begin next waits for its change window; nothing else of its own keeps it."""
    left_open: tuple[str, ...] = ()
    """Pools with work of ours that is not over and that nobody remembers: others wait for its place."""


class WaveState(StrEnum):
    DONE = "done"
    SOAKING = "soaking"
    OPEN = "open"
    CLOSED = "closed"
    NEEDS_APPROVAL = "needs approval"


@dataclass(frozen=True, slots=True)
class WaveView:
    wave: str
    state: WaveState
    reason: str
    members: tuple[str, ...]
    soak_left: timedelta = timedelta(0)
    contents: str = ""
    """Digest of its clusters and their contents, which an approval is bound to."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing to send now; look again later. `until`: the next moment at which time alone may change something."""

    reason: str
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Hold:
    """Only a named act of a human gets it further."""

    reasons: tuple[str, ...]
    acts: tuple[str, ...]
    """What the human can do, as commands."""


@dataclass(frozen=True, slots=True)
class Halted:
    """Stopped by failures; what was begun has been watched to its end."""

    reason: str


@dataclass(frozen=True, slots=True)
class Done:
    """Every cluster that can have it has it."""

    reason: str


Outlook: TypeAlias = Wait | Hold | Halted | Done


@dataclass(frozen=True, slots=True)
class Decision:
    """Everything one pass decides: moves, the outlook, views for people, and which clusters to read next."""

    moves: tuple[Move, ...]
    outlook: Outlook
    clusters: tuple[ClusterView, ...]
    waves: tuple[WaveView, ...]
    attention: frozenset[str]
    """Clusters whose facts decide what comes next; the others may be read more slowly."""
