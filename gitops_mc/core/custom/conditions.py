"""Conditions as kstatus reads them: Ready, Reconciling, Stalled (sigs.k8s.io/cli-utils, "kstatus").

Ready is True when what Git says has been reached. Reconciling stands while time alone may get it further, Stalled while a
human is needed: then nobody who waits for Ready waits in vain without being told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final, assert_never

from gitops_mc.core.model import JsonObject
from gitops_mc.core.rollout.moves import ClusterView, Decision, Done, Halted, Hold, Outlook, Standing, Wait

LONGEST_MESSAGE: Final = 2_000
"""Characters; more is cut off, and `gitops-mc why` has it all."""
WHAT_HELPS: Final = "; what helps: "
"""Stands in a message between the reasons and what a human can do."""


class State(StrEnum):
    """What somebody who waits for Ready has to know."""

    READY = "ready"
    MOVING = "moving"
    STUCK = "stuck"


class Reason(StrEnum):
    """Why the conditions stand as they do, in a word for machines. docs/runbooks/conditions.md has a section for each."""

    DONE = "Done"
    ROLLING = "Rolling"
    NEEDS_SOMEBODY = "NeedsSomebody"
    HALTED = "Halted"
    PROBLEMS_IN_GIT = "ProblemsInGit"
    """Of a Fleet and of a cluster."""
    REPOSITORY = "Repository"
    """Git is not read: not yet, or not any more."""
    ACCESS = "Access"
    """A Secret or ConfigMap that the Fleet names is not there, or holds nothing that can be used."""
    SPEC = "Spec"
    MEMORY = "Memory"
    """What the object remembers cannot be understood. Of a Fleet and of a cluster."""
    FAULT = "Fault"
    """A fault of this program."""
    PASSED = "Passed"
    IN_FLIGHT = "InFlight"
    FAILED = "Failed"
    BLOCKED = "Blocked"
    NOT_PUBLISHED = "NotPublished"
    UNREACHABLE = "Unreachable"
    UNREGISTERED = "Unregistered"
    SKIPPED = "Skipped"
    NEEDS_APPROVAL = "NeedsApproval"
    HELD_BY_HAND = "HeldByHand"
    WAITS_FOR_ITS_WAVE = "WaitsForItsWave"
    NOT_KNOWN = "NotKnown"
    GONE_FROM_GIT = "GoneFromGit"


@dataclass(frozen=True, slots=True)
class Summary:
    """One object's state in a word for machines (`reason`) and one for people."""

    state: State
    reason: Reason
    message: str


OF_STANDING: Final[Mapping[Standing, tuple[State, Reason]]] = {
    Standing.PASSED: (State.READY, Reason.PASSED),
    Standing.IN_FLIGHT: (State.MOVING, Reason.IN_FLIGHT),
    Standing.FAILED: (State.STUCK, Reason.FAILED),
    Standing.BLOCKED: (State.STUCK, Reason.BLOCKED),
    Standing.UNPUBLISHED: (State.MOVING, Reason.NOT_PUBLISHED),
    Standing.PROBLEMS: (State.STUCK, Reason.PROBLEMS_IN_GIT),
    Standing.UNREACHABLE: (State.STUCK, Reason.UNREACHABLE),
    Standing.UNREGISTERED: (State.STUCK, Reason.UNREGISTERED),
    Standing.SKIPPED: (State.STUCK, Reason.SKIPPED),
    Standing.APPROVAL: (State.STUCK, Reason.NEEDS_APPROVAL),
    Standing.HELD: (State.STUCK, Reason.HELD_BY_HAND),
    Standing.READY: (State.MOVING, Reason.WAITS_FOR_ITS_WAVE),
    Standing.NOT_KNOWN: (State.MOVING, Reason.NOT_KNOWN),
    Standing.GONE: (State.STUCK, Reason.GONE_FROM_GIT),
}


def of_cluster(view: ClusterView) -> Summary:
    """How a cluster stands."""
    state, reason = OF_STANDING[view.standing]
    if view.hands and state is State.MOVING:
        state = State.STUCK
    return Summary(state, reason, view.hands or view.reason)


def of_outlook(outlook: Outlook) -> Summary:
    """How a fleet stands."""
    match outlook:
        case Done(reason):
            return Summary(State.READY, Reason.DONE, reason)
        case Wait(reason=reason):
            return Summary(State.MOVING, Reason.ROLLING, reason)
        case Hold(reasons, acts):
            told = "; ".join(reasons) + (f"{WHAT_HELPS}{'; '.join(acts)}" if acts else "")
            return Summary(State.STUCK, Reason.NEEDS_SOMEBODY, told)
        case Halted(reason):
            return Summary(State.STUCK, Reason.HALTED, reason)
        case _:
            assert_never(outlook)


def of_fleet(decision: Decision) -> Summary:
    """How a fleet stands: not as Git says, where a part of Git cannot be read, whatever else has been reached."""
    summary = of_outlook(decision.outlook)
    broken = [c for c in decision.clusters if c.standing is Standing.PROBLEMS]
    if summary.state is not State.READY or not broken:
        return summary
    told = "; ".join(f"{c.cluster} has problems in Git: {c.reason}" for c in broken[:3])
    more = f" and {len(broken) - 3} more" if len(broken) > 3 else ""
    return Summary(State.STUCK, Reason.PROBLEMS_IN_GIT, f"{told}{more}; apart from that: {summary.message}")


def conditions(
    before: Sequence[Mapping[str, Any]], summary: Summary, generation: int, now: datetime
) -> list[JsonObject]:
    """The three conditions. Since when each stands is taken over from those before, where its status is the same."""
    said = {
        "Ready": "True" if summary.state is State.READY else "False",
        "Reconciling": "True" if summary.state is State.MOVING else "False",
        "Stalled": "True" if summary.state is State.STUCK else "False",
    }
    known = {str(c.get("type")): c for c in before}
    return [
        {
            "type": name,
            "status": status,
            "reason": summary.reason.value,
            "message": summary.message[:LONGEST_MESSAGE],
            "observedGeneration": generation,
            "lastTransitionTime": _since(known.get(name), status, now),
        }
        for name, status in said.items()
    ]


def _since(before: Mapping[str, Any] | None, status: str, now: datetime) -> str:
    if before is not None and before.get("status") == status and before.get("lastTransitionTime"):
        return str(before["lastTransitionTime"])
    return stamp(now)


def stamp(at: datetime) -> str:
    """As the API writes a time: whole seconds, UTC."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
