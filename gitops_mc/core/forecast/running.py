"""One sample: the fleet's rollout from now to its end. Waves in order, so many clusters at once, soaks, windows, and global
alone.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from math import inf, nan
from typing import TypeAlias

from gitops_mc.core.forecast.timing import Tempo, Track, run


@dataclass(slots=True)
class Runner:
    """A cluster that gets through, and what became of it in each sample."""

    name: str
    track: Track
    own: tuple[int, int]
    """Which draws are its own: a step and a beginning."""
    settled: float = 0.0
    """Seconds from now before which it does not begin: its gates are still looked at."""
    before: Track | None = None
    """Older content that still rolls, and that it ends first."""
    in_flight: bool = False
    """Admitted already: it goes on whatever its wave does."""
    alone: bool = False
    """Global: no other cluster is in flight beside it."""
    ready: float = 0.0
    """In the sample that is played: before which it does not begin."""
    begins: array[float] = field(default_factory=lambda: array("d"))
    ends: array[float] = field(default_factory=lambda: array("d"))
    waits: array[float] = field(default_factory=lambda: array("d"))

    def gets_ready(self, sample: int, tempo: Tempo) -> float:
        """When what came before it ends; until then it keeps its place."""
        ends = (
            0.0 if self.before is None else run(self.before, 0.0, sample, self._draw(sample, tempo), tempo)[0]
        )
        self.ready = max(self.settled, ends)
        return ends

    def _draw(self, sample: int, tempo: Tempo) -> int:
        step, first = self.own
        return (step * sample + first) % tempo.samples

    def goes(self, at: float, could: float, sample: int, tempo: Tempo) -> float:
        """Let it begin; when it ends. `could`: since when nothing but its window and a place keeps it."""
        end, waited = run(self.track, at, sample, self._draw(sample, tempo), tempo)
        self.begins.append(at)
        self.ends.append(end)
        first = self.track.first
        self.waits.append(waited if first is None else waited + max(0.0, min(at, first.after(could)) - could))
        return end


@dataclass(slots=True)
class Stage:
    """A wave, and what became of it in each sample."""

    name: str
    at_once: int
    runners: tuple[Runner, ...] = ()
    """Its clusters that get through, in order."""
    soak: float = 0.0
    soaked: float = 0.0
    """Seconds of its soak that are over already, where it soaks now."""
    approval: bool = False
    never: bool = False
    """It does not open, or is never done: nothing after it begins."""
    opens: bool = True
    """Whether it opens at all."""
    no_sooner: float = 0.0
    """Seconds from now before which it is not done: clusters that do not answer count as unreachable from then on."""
    begins: array[float] = field(default_factory=lambda: array("d"))
    ends: array[float] = field(default_factory=lambda: array("d"))


@dataclass(slots=True)
class Flight:
    """Who is in flight: heap of ends, with whether that is global."""

    ends: list[tuple[float, bool]]

    def leave(self, at: float) -> None:
        while self.ends and self.ends[0][0] <= at:
            heappop(self.ends)

    def admits(self, runner: Runner, at_once: int) -> bool:
        if runner.track.empty:  # as Git says already: it takes no place
            return True
        if runner.alone:
            return not self.ends
        return len(self.ends) < at_once and not any(alone for _, alone in self.ends)


def play(stages: Sequence[Stage], stuck: int, tempo: Tempo, looks: float) -> None:
    """Every sample. `stuck`: clusters that keep a place for good. What is not reached has `nan`."""
    for sample in range(tempo.samples):
        _sample(stages, stuck, sample, tempo, looks)
        for stage in stages:
            for runner in stage.runners:
                _fill(runner, sample)
            for row in (stage.begins, stage.ends):
                if len(row) <= sample:
                    row.append(nan)


def _fill(runner: Runner, sample: int) -> None:
    for row in (runner.begins, runner.ends, runner.waits):
        if len(row) <= sample:
            row.append(nan)


def _sample(stages: Sequence[Stage], stuck: int, sample: int, tempo: Tempo, looks: float) -> None:
    flying: list[tuple[float, bool]] = [(inf, False)] * stuck
    for stage in stages:
        for runner in stage.runners:
            ends = runner.gets_ready(sample, tempo)
            if runner.in_flight:
                ends = runner.goes(0.0, 0.0, sample, tempo)
            if ends > 0:
                flying.append((ends, runner.alone))
    heapify(flying)
    flight, at = Flight(flying), 0.0
    for stage in stages:
        if not stage.opens:
            return
        stage.begins.append(at)
        _wave(stage, flight, at, sample, tempo)
        done = max((r.ends[sample] for r in stage.runners if len(r.ends) > sample), default=at)
        if stage.never or done == inf or any(len(r.ends) <= sample for r in stage.runners):
            return
        at = _soaked(stage, max(at, done, stage.no_sooner), looks)
        stage.ends.append(at)


def _soaked(stage: Stage, done: float, looks: float) -> float:
    """A soak is over when its clusters have been read after its end, which the next look knows."""
    if stage.soak <= 0:
        return done
    if stage.runners:
        return done + stage.soak + 1.5 * looks
    return max(done, stage.soak - stage.soaked)


def _wave(stage: Stage, flight: Flight, at: float, sample: int, tempo: Tempo) -> None:
    """Admit the clusters of a wave, in order as far as they may begin."""
    opened = at
    waiting = _queues(r for r in stage.runners if not r.in_flight)
    while waiting:
        flight.leave(at)
        begun, coming = _next_of(waiting, flight, stage.at_once, at)
        if begun is None:
            at = min(coming, flight.ends[0][0] if flight.ends else inf)
            if at == inf:
                return
            continue
        runner = begun.popleft()[1]
        if not begun:
            waiting.remove(begun)
        ends = runner.goes(at, max(opened, runner.ready), sample, tempo)
        if ends > at:
            heappush(flight.ends, (ends, runner.alone))


Queue: TypeAlias = deque[tuple[int, Runner]]


def _queues(runners: Iterable[Runner]) -> list[Queue]:
    """Those that may begin at the same times stand in one queue, with their places in the wave."""
    queues: dict[tuple[int, float, bool], Queue] = {}
    for place, runner in enumerate(runners):
        queues.setdefault((id(runner.track.first), runner.ready, runner.alone), deque()).append(
            (place, runner)
        )
    return list(queues.values())


def _next_of(waiting: Sequence[Queue], flight: Flight, at_once: int, at: float) -> tuple[Queue | None, float]:
    """Whose first one begins now; None: nobody, and when the next one could if it had a place."""
    found, coming = None, inf
    for queue in waiting:
        runner = queue[0][1]
        first = runner.track.first
        when = max(at, runner.ready) if first is None else first.after(max(at, runner.ready))
        if when > at:
            coming = min(coming, when)
        elif flight.admits(runner, at_once) and (found is None or queue[0][0] < found[0][0]):
            found = queue
    return found, coming
