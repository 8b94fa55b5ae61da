"""The human act without which a cluster goes no further; time alone does not help there, so nobody waits for it."""

from __future__ import annotations

from gitops_mc.core.gates import Paused, Unsettled
from gitops_mc.core.model import Failed, Waiting
from gitops_mc.core.rollout.case import Assessment
from gitops_mc.core.rollout.memory import FleetMemory
from gitops_mc.core.rollout.moves import Standing
from gitops_mc.core.rollout.next_step import REFUSED, Act, Await

_KEEPS_OUT = (Standing.BLOCKED, Standing.APPROVAL)


def hands(a: Assessment, memory: FleetMemory) -> str:
    """What has to be done by somebody, as commands; empty where time may still bring it further."""
    match a.standing:
        case Standing.IN_FLIGHT:
            return _in_flight(a, memory)
        case Standing.PASSED:
            return _undone(a) or "; ".join(_pools(a))
        case _:
            return ""


def _undone(a: Assessment) -> str:
    return (
        f"take back what was changed by hand, or put it into Git; or: gitops-mc skip {a.name}"
        if a.undone
        else ""
    )


def _in_flight(a: Assessment, memory: FleetMemory) -> str:
    match a.next:
        case Act() if a.next.begins:
            if memory.halt is not None and not a.memory.repairing:
                return f"the rollout is halted: gitops-mc release {a.name}"
            return _kept_out(a)
        case Await() if a.next.step == REFUSED and (a.admission is None or _kept_out(a)):
            return _kept_out(a) or f"mend it, push newer content, or: gitops-mc skip {a.name}"
        case Await():
            others = a.gates is not None and any(
                isinstance(v, Waiting)
                for v in (*a.gates.modules.values(), a.gates.policy, a.gates.components)
            )
            return "" if others else "; ".join(_pools(a))
        case _:
            return ""


def _kept_out(a: Assessment) -> str:
    """The step that is next is not begun, since newer content takes over, and that one may not start."""
    if a.admission is None or a.admission.standing not in _KEEPS_OUT:
        return ""
    return (
        f"the newer content may not start: mend that, push another one, approve it (gitops-mc apply --approve {a.name}), "
        f"or: gitops-mc skip {a.name}"
    )


def _pools(a: Assessment) -> tuple[str, ...]:
    """What each closed pool needs; nothing at all if one of them still moves by itself."""
    needed = tuple(_pool(a, pool) for pool in a.closed)
    return needed if all(needed) else ()


def _pool(a: Assessment, pool: str) -> str:
    if a.gates is None:
        return ""
    verdict, reading = a.gates.pools.get(pool), a.gates.readings.get(pool)
    if isinstance(reading, Unsettled) and reading.paused is Paused.BY_ANOTHER:
        return f"whoever paused pool {pool} of {a.name} has to unpause it"
    if isinstance(verdict, Waiting) and verdict.accept:
        return f"gitops-mc accept {verdict.accept}"
    if (
        a.memory.repairing
    ):  # the operator may still move the nodes to the repair; if not, the stall makes it a failure
        return ""
    return f"mend pool {pool} of {a.name}" if isinstance(verdict, Failed) else ""
