"""What happens to a controller beside what happens to its fleet, drawn from the same seed: orders, hands on its objects, and processes
that freeze, lose the API, or lose Git.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from gitops_mc.core.model import GLOBAL_CLUSTER
from tests.scenarios.controller_asks import Ask, Deed
from tests.scenarios.controller_orders_drawn import asks_of, takeovers
from tests.scenarios.crashes import Moment
from tests.scenarios.drawn import TROUBLED, Script, draw_script
from tests.scenarios.drawn_orders import ordered


@dataclass(frozen=True, slots=True)
class Freeze:
    """A process stands still at one of its calls, before it is sent or before its answer is read, and wakes later."""

    calls: int
    moment: Moment
    seconds: float


@dataclass(frozen=True, slots=True)
class Span:
    """Something is so for a while; `replica`: for this one (0 or 1)."""

    at: float
    end: float
    replica: int = 0
    everything: bool = False
    """Cut off from all clusters; else from global alone."""


@dataclass(frozen=True, slots=True)
class Plot:
    """Everything a seed decides."""

    script: Script
    asks: tuple[Ask, ...] = ()
    freezes: tuple[Freeze, ...] = ()
    cuts: tuple[Span, ...] = ()
    dumb: tuple[Span, ...] = ()
    """When the Git server does not answer."""


def draw_plot(seed: int) -> Plot:
    """The plot of a seed: the same in every process."""
    script = draw_script(seed)
    draw = random.Random(f"controller/{seed}")
    edges = [c.name for c in script.spec.clusters if c.name != GLOBAL_CLUSTER]
    kinds = draw.sample(["asks", "hands", "freezes", "cuts", "dumb"], draw.choice([0, 1, 1, 2, 2, 3]))
    asks = [
        *(_asks(draw, edges) if "asks" in kinds else ()),
        *(_hands(draw, edges) if "hands" in kinds else ()),
    ]
    if ordered(seed):
        asks += [*asks_of(script.orders), *takeovers(seed, TROUBLED.total_seconds())]
        script = replace(script, orders=())
    return Plot(
        script,
        tuple(sorted(asks, key=lambda a: a.at)),
        _freezes(draw) if "freezes" in kinds else (),
        _spans(draw, 15, 240) if "cuts" in kinds else (),
        _spans(draw, 120, 1800) if "dumb" in kinds else (),
    )


def _asks(draw: random.Random, edges: list[str]) -> list[Ask]:
    found: list[Ask] = []
    span = TROUBLED.total_seconds()
    for _ in range(draw.randint(1, 4)):
        at, cluster = draw.uniform(30, span * 0.9), draw.choice(edges)
        later = draw.uniform(at + 30, span)
        match draw.choice(["suspend", "suspend", "hold", "abort", "abort", "single", "single"]):
            case "suspend":
                found += _suspension(draw, at, later)
            case "hold":
                spec = (("hold", {"reason": "drawn"}),)
                by_hand = draw.random() < 0.5
                found.append(
                    Ask(at, Deed.EDIT, cluster, spec=spec)
                    if by_hand
                    else Ask(at, Deed.ANNOTATE, cluster, "hold", "drawn")
                )
                found.append(Ask(later, Deed.EDIT, cluster, spec=(("hold", None),)))
            case "abort":
                value = draw.choice(["drawn", "{reason: drawn, letFinish: 'true'}"])
                found.append(Ask(at, Deed.ANNOTATE, "", "abort", value))
                found.append(Ask(later, Deed.ANNOTATE, "", "resume", "drawn"))
            case _:
                verb = draw.choice(["rollback", "retry", "release", "unskip", "sync", "now", "approve"])
                where = "" if verb == "sync" or (verb == "rollback" and draw.random() < 0.3) else cluster
                found.append(Ask(at, Deed.ANNOTATE, where, verb, "drawn"))
    return found


def _suspension(draw: random.Random, at: float, later: float) -> list[Ask]:
    if draw.random() < 0.5:
        return [
            Ask(at, Deed.EDIT, spec=(("suspend", True), ("suspendReason", "drawn"))),
            Ask(later, Deed.EDIT, spec=(("suspend", None), ("suspendReason", None))),
        ]
    return [Ask(at, Deed.ANNOTATE, "", "suspend", "drawn"), Ask(later, Deed.ANNOTATE, "", "resume", "drawn")]


def _hands(draw: random.Random, edges: list[str]) -> list[Ask]:
    found: list[Ask] = []
    for _ in range(draw.randint(1, 3)):
        at = draw.uniform(60, TROUBLED.total_seconds())
        cluster = draw.choice(["", *edges])
        deed = draw.choice([Deed.DELETE, Deed.UNLABEL, Deed.WIPE, Deed.SCRIBBLE, Deed.SCRIBBLE])
        if deed in (Deed.DELETE, Deed.UNLABEL) and not cluster:
            deed = Deed.SCRIBBLE
        found.append(Ask(at, deed, cluster, seconds=draw.choice([60.0, 300.0])))
    return found


def _freezes(draw: random.Random) -> tuple[Freeze, ...]:
    return tuple(
        Freeze(draw.choice([draw.randint(5, 80), draw.randint(50, 900)]), draw.choice(list(Moment)), seconds)
        for seconds in [draw.choice([25.0, 70.0, 70.0, 300.0]) for _ in range(draw.randint(1, 3))]
    )


def _spans(draw: random.Random, shortest: float, longest: float) -> tuple[Span, ...]:
    found = []
    for _ in range(draw.randint(1, 3)):
        at = draw.uniform(20, TROUBLED.total_seconds() * 0.8)
        end = at + draw.uniform(shortest, longest)
        found.append(Span(at, end, draw.randrange(2), draw.random() < 0.4))
    return tuple(found)


__all__ = ["Ask", "Deed", "Freeze", "Plot", "Span", "draw_plot"]
