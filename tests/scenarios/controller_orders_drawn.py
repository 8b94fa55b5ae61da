"""What humans order of a controller beside what they ever did: the way back, forgetting, and takeovers by another installation.

Drawn apart, for the seeds from ORDERED on.
"""

from __future__ import annotations

import random
from collections.abc import Iterable

from tests.scenarios.controller_asks import Ask, Deed
from tests.scenarios.controller_world import HERE
from tests.scenarios.drawn_orders import STANDING, Order, Ordered

ELSEWHERE = "installation-2"
_VERBS = {
    Order.ROLLBACK: "rollback",
    Order.RETRY: "retry",
    Order.RELEASE: "release",
    Order.UNSKIP: "unskip",
    Order.FORGET: "forget",
    Order.DROP: "forget",
}


def asks_of(orders: Iterable[Ordered]) -> list[Ask]:
    """Orders of the command line that are carried out once, as annotations. Those that stand are drawn for controllers anyway."""
    once = [o for o in orders if o.what not in STANDING]
    return [Ask(o.at, Deed.ANNOTATE, o.cluster, _VERBS[o.what], "drawn") for o in once]


def takeovers(seed: int, span: float) -> list[Ask]:
    """In every third seed this installation loses the Fleet, and gets it back suspended, until somebody resumes."""
    draw = random.Random(f"takeovers/{seed}")
    if draw.random() > 1 / 3:
        return []
    at = draw.uniform(30, span * 0.8)
    back = at + draw.choice([20.0, 200.0, 1500.0])
    resumed = Ask(back + draw.choice([30.0, 600.0]), Deed.ANNOTATE, "", "resume", "drawn")
    match draw.choice(["elsewhere", "elsewhere", "here", "claimed"]):
        case "here":
            return [Ask(back, Deed.ANNOTATE, "", "takeover", "drawn"), resumed]
        case "claimed":
            return [_acts_on(at, ELSEWHERE), _acts_on(back, None)]
        case _:
            taken = (("activeOn", HERE), ("suspend", True), ("suspendReason", "taken over by somebody"))
            return [_acts_on(at, ELSEWHERE), Ask(back, Deed.EDIT, spec=taken), resumed]


def _acts_on(at: float, where: str | None) -> Ask:
    return Ask(at, Deed.EDIT, spec=(("activeOn", where),))
