"""How a figure is measured: in turns with its yardstick, so that what disturbs one disturbs the other, and by the middle of all turns."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

Work = Callable[[], object]


@dataclass(frozen=True)
class Figure:
    """One size of one row."""

    size: str
    ours: float
    yardstick: float
    unit: str = "s"
    note: str = ""

    @property
    def ratio(self) -> float:
        return self.ours / self.yardstick if self.yardstick else float("inf")


@dataclass(frozen=True)
class Aim:
    """What a ratio is to be. `at_most` None: it is only said."""

    at_most: float | None = None
    told: str = ""


@dataclass(frozen=True)
class Row:
    """One comparison, at growing sizes. `measure` yields nothing where it cannot run here, and prints why."""

    name: str
    what: str
    yardstick: str
    aim: Aim
    measure: Callable[[Path], Iterator[Figure]]


def in_turns(
    ours: Work, yardstick: Work, turns: int = 5, clock: Callable[[], float] = time.perf_counter
) -> tuple[float, float]:
    """Seconds of each, the middle of so many turns; who comes first changes from turn to turn."""
    spent: dict[int, list[float]] = {0: [], 1: []}
    for turn in range(turns):
        for which in (0, 1) if turn % 2 == 0 else (1, 0):
            gc.collect()
            begun = clock()
            (ours, yardstick)[which]()
            spent[which].append(clock() - begun)
    return median(spent[0]), median(spent[1])
