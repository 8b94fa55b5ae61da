"""Seeds in bulk, on every core: how many hold, which do not, and how fast it went."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field

from tests.collecting import collect_rarely
from tests.simulation.mutants import MUTANTS
from tests.simulation.one import Outcome, play_seed

BATCH = 10
FEW = 6


@dataclass
class Tally:
    """What a run came to."""

    wanted: int
    outcomes: list[Outcome] = field(default_factory=list)
    took: float = 0
    """Seconds of the wall clock."""

    @property
    def broken(self) -> list[Outcome]:
        return sorted((o for o in self.outcomes if o.broken), key=lambda o: o.seed)

    def lines(self) -> Iterator[str]:
        """The figures, one thing a line."""
        held = [o for o in self.outcomes if not o.broken]
        rollouts, calls = sum(o.rollouts for o in held), sum(o.calls for o in held)
        hours, cpu = sum(o.hours for o in held), sum(o.seconds for o in held)
        yield f"{len(self.outcomes)} of {self.wanted} seeds played, {len(self.broken)} broke an invariant"
        yield (
            f"{sum(o.commits for o in held)} commits, {rollouts} rollouts of a cluster, {sum(o.looks for o in held)} passes, "
            f"{calls} calls, {hours / 24:.0f} days of the fleets' time"
        )
        yield (
            f"{self.took:.0f} s, {cpu:.0f} s of CPU: {len(self.outcomes) / max(self.took, 1e-9):.1f} seeds/s, "
            f"{rollouts / max(self.took, 1e-9):.1f} rollouts/s, {rollouts / max(cpu, 1e-9):.1f} rollouts per CPU second"
        )


def run(
    seeds: range,
    *,
    jobs: int,
    minutes: float,
    tell: Callable[[Tally], None],
    every: float = 10.0,
    play: Callable[[int], Outcome] = play_seed,
) -> Tally:
    """Play seeds until all are played or the time is over; `tell` hears of the tally every so many seconds."""
    begun = told = time.monotonic()
    tally = Tally(len(seeds))
    batches = iter([seeds[i : i + BATCH] for i in range(0, len(seeds), BATCH)])
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=collect_rarely) as pool:
        waiting: set[Future[list[Outcome]]] = set()
        more = True
        while more or waiting:
            more = more and time.monotonic() - begun < minutes * 60
            while more and len(waiting) < 2 * jobs:
                batch = next(batches, None)
                more = batch is not None
                if batch is not None:
                    waiting.add(pool.submit(_play, play, batch))
            if not waiting:
                break
            done, waiting = wait(waiting, timeout=every, return_when=FIRST_COMPLETED)
            for future in done:
                tally.outcomes += future.result()
            tally.took = time.monotonic() - begun
            if time.monotonic() - told >= every:
                told = time.monotonic()
                tell(tally)
    return tally


def first_broken(mutant: str, patience: int, jobs: int) -> Outcome | None:
    """The first of `patience` seeds that breaks an invariant with a deliberate fault switched on; None: all hold."""
    begin = MUTANTS[mutant].first
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=collect_rarely) as pool:
        for first in range(begin, begin + patience, FEW * jobs):
            last = min(first + FEW * jobs, begin + patience)
            batches = [range(n, n + FEW) for n in range(first, last, FEW)]
            for outcomes in pool.map(_play_mutant, [mutant] * len(batches), batches):
                broken = next((o for o in outcomes if o.broken), None)
                if broken is not None:
                    return broken
    return None


def _play_mutant(mutant: str, seeds: range) -> list[Outcome]:
    outcomes = []
    with MUTANTS[mutant].on():
        for seed in seeds:
            outcomes.append(play_seed(seed))
            if outcomes[-1].broken:
                break
    return outcomes


def _play(play: Callable[[int], Outcome], seeds: range) -> list[Outcome]:
    return [play(seed) for seed in seeds]
