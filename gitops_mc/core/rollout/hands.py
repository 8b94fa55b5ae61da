"""The human act without which a cluster goes no further; time alone does not help there, so nobody waits for it."""

from __future__ import annotations

from dataclasses import replace

from gitops_mc.core.diff import Create
from gitops_mc.core.gates import Paused, Unsettled
from gitops_mc.core.model import MACHINE_CONFIG_MODULE, Failed, Kind, Open, ResourceKey, Waiting
from gitops_mc.core.plan import drift_id
from gitops_mc.core.rollout.case import Admission, Assessment, all_open
from gitops_mc.core.rollout.memory import FleetMemory
from gitops_mc.core.rollout.moves import Standing
from gitops_mc.core.rollout.next_step import REFUSED, Act, Await
from gitops_mc.core.rollout.progress import matters
from gitops_mc.core.rollout.timing import override
from gitops_mc.core.rollout.windows import Shut

_KEEPS_OUT = (Standing.BLOCKED, Standing.APPROVAL)


def hands(a: Assessment, memory: FleetMemory) -> str:
    """What has to be done by somebody, as commands; empty where time may still bring it further."""
    match a.standing:
        case Standing.IN_FLIGHT:
            return _ordered(a) or _in_flight(a, memory)
        case Standing.FAILED:
            return a.order.lift if a.order is not None and a.order.all_writes else ""
        case Standing.HELD:
            return "" if a.order is None else a.order.lift
        case Standing.BLOCKED:
            return a.lift or _fits_no_window(a)
        case Standing.PASSED:
            return _undone(a) or "; ".join(_pools(a)) or _gone(a)
        case _:
            return ""


def _ordered(a: Assessment) -> str:
    """What ends the order that keeps it from what it would do next."""
    if a.order is None:
        return ""
    begins = isinstance(a.next, Act) and a.next.begins
    return a.order.lift if a.order.all_writes or begins else ""


_NAMED = 3


def _undone(a: Assessment) -> str:
    if not a.undone:
        return ""
    return (
        f"take back what was changed by hand, or put it into Git; {_gits_side(a)}or: gitops-mc skip {a.name}"
    )


def _gone(a: Assessment) -> str:
    """A cluster that has passed, whose pools are settled, and where the policy or a module that we wrote was changed or
    deleted since, or which was built anew under its old name: that gate stays shut, and nothing is written again by itself.
    """
    kinds = {key.kind for key in _drifted(a)}
    if a.closed or all_open(a) or not kinds & {Kind.MACHINE_CONFIGURATION, Kind.MODULE_INFO}:
        return ""
    return f"{_gits_side(a)}or: gitops-mc skip {a.name}"


def _gits_side(a: Assessment) -> str:
    """What to type so that Git's side wins, object by object."""
    keys = _drifted(a)
    if not keys:
        return ""
    commands = "; ".join(f"gitops-mc accept {drift_id(key)} --cluster {a.name}" for key in keys[:_NAMED])
    more = f" (and {len(keys) - _NAMED} more: gitops-mc plan)" if len(keys) > _NAMED else ""
    return f"if Git's side wins: {commands}{more}; "


def _drifted(a: Assessment) -> tuple[ResourceKey, ...]:
    drifts = () if a.plan is None else a.plan.drifts
    return tuple(d.key for d in drifts if d.gone or any(matters(f.path) for f in d.fields))


def _in_flight(a: Assessment, memory: FleetMemory) -> str:
    if a.admission is not None and a.admission.window is not None and a.admission.window.opens_at is not None:
        return ""  # newer content takes over as soon as its window opens
    match a.next:
        case Act() if a.next.begins:
            if memory.halt is not None and not a.memory.repairing:
                return f"the rollout is halted: gitops-mc release {a.name}"
            return _kept_out(a) or _fits_no_window(a)
        case Await() if a.next.step == REFUSED and (_nothing_newer(a) or _kept_out(a)):
            return _kept_out(a) or f"mend it, push newer content, or: gitops-mc skip {a.name}"
        case Await():
            return "" if _comes_by_itself(a) else "; ".join(_pools(a))
        case _:
            return ""


def _nothing_newer(a: Assessment) -> bool:
    """Whether no newer content comes by itself: there is none, or it is held."""
    return a.admission is None or a.admission.standing is Standing.FAILED


def _fits_no_window(a: Assessment) -> str:
    window = a.window if a.admission is None else a.admission.window
    if window is None or window.shut is not Shut.NEVER:
        return ""
    return f"lengthen its window in fleet.yaml, or: {override(a.name)}"


def _kept_out(a: Assessment) -> str:
    """The step that is next is not begun, since newer content takes over, and that one may not start."""
    if a.admission is None:
        return ""
    if a.admission.standing is Standing.IN_FLIGHT:
        # it waits until what rolls has settled: for ever, where somebody has stopped that
        return "; ".join(_of_the_newer(a, a.admission))
    if a.admission.standing not in _KEEPS_OUT:
        return ""
    return (
        f"the newer content may not start: mend that, push another one, approve it (gitops-mc apply --approve {a.name}), "
        f"or: gitops-mc skip {a.name}"
    )


def _comes_by_itself(a: Assessment) -> bool:
    """Whether another gate than those of pools waits for the operator or the platform. One for something that is still to
    be written waits for us, and we for the pools.
    """
    if a.gates is None:
        return False
    planned = _to_be_written(a)
    operator = (Kind.MODULE_INFO, MACHINE_CONFIG_MODULE) in planned
    verdicts = [v for name, v in a.gates.modules.items() if (Kind.MODULE_INFO, name) not in planned]
    verdicts += [] if any(kind is Kind.MACHINE_CONFIGURATION for kind, _ in planned) else [a.gates.policy]
    verdicts += [] if operator else [a.gates.components]
    return any(isinstance(v, Waiting) for v in verdicts)


def _to_be_written(a: Assessment) -> frozenset[tuple[Kind, str]]:
    return frozenset((w.key.kind, w.key.name) for w in (() if a.plan is None else a.plan.writes))


def _pools(a: Assessment) -> tuple[str, ...]:
    """What each closed pool needs; nothing at all if one of them still moves by itself. One that is still to be made by us
    moves nothing: it waits for the others.
    """
    needed = tuple(_pool(a, pool) for pool in a.closed if pool not in _to_be_made(a))
    return needed if all(needed) else ()


def _of_the_newer(a: Assessment, arriving: Admission) -> tuple[str, ...]:
    """The same for the pools that newer content waits for."""
    if arriving.gates is None:
        return ()
    closed = [pool for pool, verdict in arriving.gates.pools.items() if not isinstance(verdict, Open)]
    looked_at = replace(a, gates=arriving.gates)
    needed = tuple(_pool(looked_at, pool) for pool in closed)
    return needed if all(needed) else ()


def _to_be_made(a: Assessment) -> frozenset[str]:
    writes = () if a.plan is None else a.plan.writes
    return frozenset(
        w.key.name for w in writes if isinstance(w, Create) and w.key.kind is Kind.MACHINE_CONFIG_POOL
    )


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
