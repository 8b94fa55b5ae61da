"""What humans order in a simulation, drawn apart: the seeds from ORDERED on have it, all others are as they ever were.

Orders that stand have a beginning and, mostly, an end; those that are carried out once are given between two processes. So
that there is something to go back from, many of these seeds have one commit more that breaks nodes, and its repair.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from gitops_mc.core.model import JsonObject
from gitops_mc.core.rollout.inputs import Abort, Acts
from tests.scenarios.commits import Push
from tests.scenarios.repository import MARKER
from tests.scenarios.rollout_world import machine_config

ORDERED = 20_000_000
"""Seeds from here on have orders; a range of ten million more, and they have change windows, too."""
EXTRA = "shared/base/80-worker-extra.yaml"
"""What the commit more is about."""


class Order(StrEnum):
    SUSPEND = "suspend"
    HOLD = "hold"
    ABORT = "abort"
    LET_FINISH = "abort --let-finish"
    ROLLBACK = "rollback"
    RETRY = "retry"
    RELEASE = "release"
    UNSKIP = "skip --undo"
    FORGET = "forget"
    DROP = "forget, without a connection"


STANDING = (Order.SUSPEND, Order.HOLD, Order.ABORT, Order.LET_FINISH)
"""Those that are over when whoever gave them takes them back."""
_FORGETS = (Order.FORGET, Order.DROP)


@dataclass(frozen=True, slots=True)
class Ordered:
    """An order, in seconds from the beginning. `cluster`: empty for the whole fleet; `end`: when it is taken back."""

    at: float
    what: Order
    cluster: str = ""
    end: float | None = None

    def stands(self, at: float) -> bool:
        return self.what in STANDING and self.at <= at and (self.end is None or at < self.end)


def standing(orders: Iterable[Ordered], at: float) -> Acts:
    """What is ordered at a time. Of two aborts of the same the one that was given first."""
    acts = Acts()
    for order in orders:
        if not order.stands(at):
            continue
        match order.what:
            case Order.SUSPEND:
                acts = replace(acts, suspended="somebody: drawn")
            case Order.HOLD:
                acts = replace(acts, held={**acts.held, order.cluster: "somebody: drawn"})
            case _:
                acts = _aborted(acts, order)
    return acts


def _aborted(acts: Acts, order: Ordered) -> Acts:
    abort = Abort("drawn", "somebody", let_finish=order.what is Order.LET_FINISH)
    if not order.cluster:
        return replace(acts, aborted=acts.aborted or abort)
    return replace(acts, aborted_clusters={order.cluster: abort, **acts.aborted_clusters})


# ----------------------------------------------------------------------------------------------------------- drawing


def ordered(seed: int) -> bool:
    return seed >= ORDERED


def draw_orders(seed: int, edges: list[str], pushes: tuple[Push, ...], span: float) -> tuple[Ordered, ...]:
    """Orders of these clusters, in the order of time. Where a commit breaks nodes, what is said about failures comes after it."""
    draw = random.Random(f"orders/{seed}")
    broken = [p.at for p in pushes if MARKER in str(p.files)]
    begin = min(broken[0] + 120, span * 0.8) if broken else 60.0
    found: list[Ordered] = []
    for kind in draw.sample(["stand", "stand", "failures", "failures", "forget"], draw.choice([1, 2, 2, 3])):
        for _ in range(draw.choice([1, 1, 2])):
            match kind:
                case "stand":
                    found.append(_standing(draw, edges, span))
                case "failures":
                    found += _about_failures(draw, edges, begin, span)
                case _:
                    what = draw.choice(_FORGETS)
                    found.append(Ordered(draw.uniform(120, span), what, draw.choice(edges)))
    return tuple(sorted(found, key=lambda o: o.at))


def _standing(draw: random.Random, edges: list[str], span: float) -> Ordered:
    what = draw.choice([Order.SUSPEND, Order.HOLD, Order.HOLD, Order.ABORT, Order.ABORT, Order.LET_FINISH])
    at = draw.uniform(30, span * 0.9)
    end = at + draw.choice([draw.uniform(30, 300), draw.uniform(300, 2400), 5400.0])
    alone = what is Order.HOLD or (what is not Order.SUSPEND and draw.random() < 0.5)
    return Ordered(at, what, draw.choice(edges) if alone else "", end if draw.random() < 0.85 else None)


def _about_failures(draw: random.Random, edges: list[str], begin: float, span: float) -> list[Ordered]:
    """The same thing said several times: before it has failed it changes nothing."""
    what = draw.choice([Order.ROLLBACK, Order.ROLLBACK, Order.RETRY, Order.RELEASE, Order.UNSKIP])
    clusters = [draw.choice(edges)] if draw.random() < 0.5 else edges
    every = what is Order.ROLLBACK and draw.random() < 0.3
    times = [draw.uniform(begin, span) for _ in range(draw.choice([1, 2, 3]))]
    return [Ordered(at, what, c) for at in times for c in ([""] if every else clusters)]


def with_forgets(orders: Iterable[Ordered]) -> bool:
    """Whether a cluster is forgotten, which proves something where nobody has approved it before it is met again."""
    return any(o.what in _FORGETS for o in orders)


# ----------------------------------------------------------------------------------------------------------- commits


def with_ways_back(seed: int, pushes: tuple[Push, ...], span: float) -> tuple[Push, ...]:
    """The same commits, often with `onFailure: rollback`, and with one more that breaks nodes, and mostly its repair."""
    draw = random.Random(f"ways back/{seed}")
    if draw.random() < 0.4:
        pushes = tuple(_rolling_back(p) for p in pushes)
    if draw.random() < 0.35:
        return pushes
    at, there = draw.uniform(300, span * 0.6), draw.random() < 0.6
    until = at + draw.uniform(300, span * 0.6) if draw.random() < 0.7 else span * 10
    times = [t for t in (at, until) if t <= span]
    notes = ("bad extra", "extra repaired")
    more = [Push(t, _before(pushes, t), note) for t, note in zip(times, notes, strict=False)]
    every = sorted((*pushes, *more), key=lambda p: p.at)
    return tuple(_with_extra(p, at, until, there=there) for p in every)


def _before(pushes: tuple[Push, ...], at: float) -> Mapping[str, str]:
    return [p for p in pushes if p.at <= at][-1].files


def _with_extra(push: Push, at: float, until: float, *, there: bool) -> Push:
    """`there`: whether it stood there before it was broken; else its repair takes it away."""
    text = f"{MARKER} extra\n" if at <= push.at < until else f"extra {int(push.at >= until)}\n"
    if not there and MARKER not in text:
        return push
    return replace(
        push, files={**push.files, EXTRA: machine_config("80-worker-extra", files={"/etc/extra": text})}
    )


def _rolling_back(push: Push) -> Push:
    fleet: JsonObject = json.loads(push.files["fleet.yaml"])
    fleet["spec"]["rollout"]["onFailure"] = "rollback"
    return replace(push, files={**push.files, "fleet.yaml": json.dumps(fleet)})
