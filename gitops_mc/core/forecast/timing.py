"""What the legs of one cluster take in one sample: draws for the fleet, the cluster and its nodes, joined."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from math import exp, inf
from statistics import fmean, pvariance
from typing import Final, TypeAlias

from gitops_mc.core.forecast.beliefs import Belief, beliefs, sizes_of
from gitops_mc.core.forecast.courses import Course, Leg, Looks, Rolling
from gitops_mc.core.forecast.drawing import spread_normals, uniforms
from gitops_mc.core.forecast.makespans import Makespan, Size, makespans
from gitops_mc.core.forecast.model import Basis, RestsOn
from gitops_mc.core.forecast.starts import Starts
from gitops_mc.core.model import count
from gitops_mc.core.rollout.paces import Pace, Work
from gitops_mc.core.rollout.windows import told_span

_NODE_WORK: Final = (Work.REBOOT, Work.DRAIN, Work.QUIET)
_MODULE_SPREAD: Final = 0.4
"""Of the logarithm of what one module takes, where it was seen once; what was seen more often says more."""

Node: TypeAlias = "tuple[Belief, array[float], bool]"
"""What the median node takes, the makespan of each sample, and whether some are under way."""


@dataclass(frozen=True, slots=True)
class Timed:
    """A leg ready to be drawn."""

    fixed: float
    pools: tuple[tuple[Node, ...], ...]
    module: array[float] | None
    under_way: bool
    starts: Starts | None


@dataclass(frozen=True, slots=True)
class Track:
    """A course ready to be drawn."""

    legs: tuple[Timed, ...]
    aside: tuple[Timed, ...]
    last: tuple[Timed, ...]

    @property
    def empty(self) -> bool:
        return not (self.legs or self.aside or self.last)

    @property
    def first(self) -> Starts | None:
        """When it may begin."""
        begin = self.legs or self.aside or self.last
        return begin[0].starts if begin else None


@dataclass(slots=True)
class Tempo:
    """All that is drawn once: for the fleet, for clusters by a number of their own, and for sizes of pools."""

    samples: int
    fleet: array[float]
    clusters: array[float]
    parts: array[float]
    """Numbers between 0 and 1: how much of what is under way is done, and of the time between two looks has passed."""
    spans: Mapping[Size, Makespan]
    by_work: Mapping[Work, tuple[Mapping[str, Belief], Belief]]
    modules: Mapping[str, tuple[Pace, ...]]
    limit: float
    """Seconds a module may take."""
    every: float
    """Seconds between two looks."""
    _module_draws: dict[str, tuple[array[float], RestsOn]] = field(default_factory=dict)

    def belief(self, cluster: str, work: Work) -> Belief:
        own, others = self.by_work[work]
        return own.get(cluster, others)

    def module(self, name: str) -> tuple[array[float], RestsOn]:
        """Seconds it takes, by sample, and what that rests on."""
        if name not in self._module_draws:
            self._module_draws[name] = _module(name, self)
        return self._module_draws[name]


def tempo_of(
    courses: Iterable[Course], history: Mapping[str, Sequence[Pace]], looks: Looks, samples: int, seed: int
) -> Tempo:
    """Everything that `courses` need to be drawn."""
    gates = looks.gates
    rolls = {r for c in courses for leg in c.all_legs for pool in leg.pools for r in pool}
    sizes = {(r.nodes, r.at_once) for r in rolls}
    spans = makespans(sizes | sizes_of(p for paces in history.values() for p in paces), samples, seed)
    modules: dict[str, tuple[Pace, ...]] = {}
    for _, paces in sorted(history.items()):
        for pace in paces:
            if pace.work is Work.MODULE:
                modules[pace.module] = (*modules.get(pace.module, ()), pace)
    return Tempo(
        samples=samples,
        fleet=spread_normals(seed, 2, samples),
        clusters=spread_normals(seed, 3, samples),
        parts=uniforms(seed, 4, samples),
        spans=spans,
        by_work={work: beliefs(work, history, gates, spans) for work in _NODE_WORK},
        modules=modules,
        limit=gates.module.timeout.total_seconds(),
        every=looks.every,
    )


def _module(name: str, tempo: Tempo) -> tuple[array[float], RestsOn]:
    draws = spread_normals(len(name), 5 + sum(map(ord, name)), tempo.samples)
    seen = [math.log(max(1, p.took)) for p in tempo.modules.get(name, ())]
    if seen:
        known = _MODULE_SPREAD**2 + (len(seen) - 1) * pvariance(seen) if len(seen) > 1 else _MODULE_SPREAD**2
        spread = math.sqrt(known / len(seen) * (1 + 1 / len(seen)))
        told = f"module {name}: {count(len(seen), 'earlier time')} in this fleet"
        mean = fmean(seen)
        return array("d", (min(tempo.limit, exp(mean + spread * z)) for z in draws)), RestsOn(
            Work.MODULE, Basis.HISTORY, len(seen), told
        )
    places = sorted(range(tempo.samples), key=draws.__getitem__)
    taken = array("d", bytes(8 * tempo.samples))
    for place, sample in enumerate(places):
        taken[sample] = tempo.limit * (place + 0.5) / tempo.samples
    limit = told_span(timedelta(seconds=tempo.limit))
    told = f"module {name}: nobody knows, up to {limit} (gates.module.timeout)"
    return taken, RestsOn(Work.MODULE, Basis.LIMIT, 0, told)


def track_of(course: Course, cluster: str, tempo: Tempo, starts: Mapping[Leg, Starts | None]) -> Track:
    def timed(legs: Sequence[Leg]) -> tuple[Timed, ...]:
        return tuple(
            Timed(
                leg.fixed,
                tuple(tuple(_node(r, cluster, tempo) for r in pool) for pool in leg.pools),
                tempo.module(leg.module)[0] if leg.module else None,
                leg.under_way,
                starts.get(leg),
            )
            for leg in legs
        )

    return Track(timed(course.legs), timed(course.aside), timed(course.last))


def _node(roll: Rolling, cluster: str, tempo: Tempo) -> Node:
    return tempo.belief(cluster, roll.work), tempo.spans[roll.nodes, roll.at_once].draws, roll.under_way


def run(track: Track, begin: float, sample: int, own: int, tempo: Tempo) -> tuple[float, float]:
    """When a cluster ends that begins at `begin`, and how much of that it waits for its windows. `own`: its own draw."""
    legs, waited = _through(track.legs, begin, sample, own, tempo)
    aside, beside = _through(track.aside, begin, sample, own, tempo)
    end, last = _through(track.last, max(legs, aside), sample, own, tempo)
    return end, max(waited, beside) + last


def _through(legs: Sequence[Timed], at: float, sample: int, own: int, tempo: Tempo) -> tuple[float, float]:
    waited = 0.0
    for number, leg in enumerate(legs):
        if leg.starts is not None:
            opens = leg.starts.after(at)
            if opens == inf:
                return inf, inf
            waited += opens - at
            at = opens
        at += leg.fixed + tempo.every * tempo.parts[(own + 7 * number) % tempo.samples]
        if leg.module is not None:
            at += leg.module[own] * (1 - tempo.parts[own] if leg.under_way else 1)
        if leg.pools:
            at += max(_rolled(pool, sample, own, tempo) for pool in leg.pools)
    return at, waited


def _rolled(pool: Sequence[Node], sample: int, own: int, tempo: Tempo) -> float:
    taken = 0.0
    for belief, spans, under_way in pool:
        median = exp(belief.mean + belief.shared * tempo.fleet[sample] + belief.own * tempo.clusters[own])
        span = spans[own]
        taken += median * (max(0.0, span - tempo.parts[own]) if under_way else span)
    return taken
