"""Faults drawn by a seed, for properties that have to hold whatever goes wrong."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from types import MappingProxyType

from gitops_mc.sandbox.faults import Fault, FaultBoard, FaultId, ParameterValue

Parameters = dict[str, ParameterValue]


def storm(
    board: FaultBoard,
    *,
    seed: int,
    clusters: Sequence[str],
    start: datetime,
    length: timedelta,
    count: int = 6,
    kinds: Sequence[FaultId] = (),
) -> tuple[Fault, ...]:
    """Set so many faults, each on one cluster, in windows that begin after `start` and are over by `start + length`.

    `kinds` are drawn from; by default every fault that is over when its window is. The same arguments set the same faults.
    """
    draw = random.Random(seed)  # noqa: S311 - a simulation, not a secret
    made = []
    for _ in range(count):
        kind = draw.choice(tuple(kinds) or tuple(_DRAWN))
        cluster = draw.choice(list(clusters))
        begin = start + length * draw.random() * 0.8
        end = begin + (start + length - begin) * draw.random()
        made.append(board.set(kind, cluster=cluster, start=begin, end=end, **_DRAWN[kind](draw)))
    return tuple(made)


def _seconds(longest: int) -> Callable[[random.Random], Parameters]:
    return lambda draw: {"seconds": float(draw.randint(5, longest))}


def _nothing(_: random.Random) -> Parameters:
    return {}


def _calls(draw: random.Random) -> Parameters:
    method = draw.choice(["*", "GET", "P*", "PATCH"])
    return {"method": method, "nth": draw.randint(1, 8), "times": draw.randint(1, 3)}


def _refusals(draw: random.Random) -> Parameters:
    return {**_calls(draw), "status": draw.choice([401, 403, 409, 429, 500, 503])}


def _darkness(draw: random.Random) -> Parameters:
    return {"how": draw.choice(["timeout", "refused", "bad-gateway"])}


_DRAWN: Mapping[FaultId, Callable[[random.Random], Parameters]] = MappingProxyType(
    {
        FaultId.LATE_RENDER: _seconds(120),
        FaultId.STALE_TRUE: _seconds(120),
        FaultId.PAUSED_DOES_NOT_RENDER: _nothing,
        FaultId.POLICY_LATE: _seconds(200),
        FaultId.DEGRADED_NOT_RETARGETED: _nothing,
        FaultId.DRAIN_STUCK: _nothing,
        FaultId.NODE_NEVER_RETURNS: _nothing,
        FaultId.DEGRADED_FLAP: _seconds(30),
        FaultId.DRIFT: _nothing,
        FaultId.MODULE_RECREATED_WITHOUT_LABELS: _nothing,
        FaultId.PHASE_LAG: _seconds(60),
        FaultId.MODULE_STUCK: _nothing,
        FaultId.DRY_RUN_REFUSED: _nothing,
        FaultId.HTTP_ERROR: _refusals,
        FaultId.TIMEOUT_BEFORE: _calls,
        FaultId.TIMEOUT_AFTER: _calls,
        FaultId.GATEWAY_GONE: _darkness,
        FaultId.GATEWAY_DROPS_ON_REBOOT: _darkness,
        FaultId.LATENCY: _nothing,
    }
)
