"""What breaks in a simulation: faults of the sandbox, each in a window of time."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

from gitops_mc.core.model import JsonObject
from gitops_mc.sandbox.faults import FaultId


@dataclass(frozen=True, slots=True)
class Trouble:
    """A fault in a window; seconds from the beginning."""

    at: float
    end: float
    kind: FaultId
    cluster: str
    parameters: Mapping[str, str | int | float]


_KINDS: Mapping[FaultId, tuple[JsonObject, ...]] = {
    FaultId.LATE_RENDER: ({"seconds": 60.0}, {"seconds": 120.0}),
    FaultId.STALE_TRUE: ({"seconds": 60.0},),
    FaultId.PAUSED_DOES_NOT_RENDER: ({},),
    FaultId.POLICY_LATE: ({"seconds": 100.0},),
    FaultId.DEGRADED_NOT_RETARGETED: ({},),
    FaultId.DRAIN_STUCK: ({},),
    FaultId.NODE_NEVER_RETURNS: ({},),
    FaultId.DEGRADED_FLAP: ({"seconds": 10.0}, {"seconds": 45.0}),
    FaultId.DRIFT: ({},),
    FaultId.MODULE_RECREATED_WITHOUT_LABELS: ({},),
    FaultId.PHASE_LAG: ({"seconds": 40.0},),
    FaultId.MODULE_STUCK: ({},),
    FaultId.UPGRADE_ROLLS_POOLS: ({},),
    FaultId.DRY_RUN_REFUSED: ({},),
    FaultId.HTTP_ERROR: tuple(
        {"method": m, "nth": 2, "times": t, "status": s}
        for m, t, s in [("*", 3, 500), ("PATCH", 1, 409), ("PATCH", 2, 429), ("GET", 9, 403), ("*", 5, 401)]
    ),
    FaultId.TIMEOUT_BEFORE: ({"method": "PATCH", "times": 2}, {"method": "*", "nth": 4, "times": 3}),
    FaultId.TIMEOUT_AFTER: ({"method": "PATCH", "times": 2}, {"method": "P*", "nth": 2, "times": 1}),
    FaultId.GATEWAY_GONE: ({"how": "timeout"}, {"how": "refused"}, {"how": "bad-gateway"}),
    FaultId.GATEWAY_DROPS_ON_REBOOT: ({"how": "refused"}, {"how": "timeout"}),
    FaultId.LATENCY: ({"seconds": 0.5, "jitter": 1.0}, {"seconds": 2.0}),
}


def troubles_of(draw: random.Random, names: tuple[str, ...], span: float) -> tuple[Trouble, ...]:
    made = []
    for _ in range(draw.randint(1, 5)):
        kind = draw.choice(list(_KINDS))
        at = draw.uniform(0, span * 0.8)
        end = draw.uniform(at, span)
        made.append(Trouble(at, end, kind, draw.choice([*names, "*"]), draw.choice(_KINDS[kind])))
    return tuple(made)
