"""`make crashes`: every death of every world, as a table."""

from __future__ import annotations

import os
import sys
import time
from datetime import timedelta

from tests.scenarios.crash_everywhere import Chosen, Tally, crash, every_step
from tests.scenarios.crash_rollout import Sort
from tests.scenarios.crash_worlds import CASES

TWICE = Chosen(of=60)
"""The writes and saves after whose deaths the next process dies at its every step, too."""
HEADS = ("world", "reads", "dry runs", "writes", "saves", "deaths", "played", "twice", "failures", "seconds")
SHOWN = 3
"""Failures that are printed in full."""


def row(tally: Tally) -> tuple[str, ...]:
    twice = sum(", then " in v.label for v in tally.verdicts)
    steps = (tally.steps[s] for s in (Sort.READ, Sort.DRY_RUN, Sort.WRITE, Sort.SAVE))
    numbers = (*steps, tally.deaths, len(tally.verdicts) - twice, twice, len(tally.failures))
    return tally.case, *(str(n) for n in numbers), f"{tally.seconds:.0f}"


def printed(cells: tuple[str, ...]) -> str:
    return f"{cells[0]:<85}" + "".join(f"{cell:>10}" for cell in cells[1:])


def main() -> int:
    began = time.monotonic()
    tallies = []
    say(printed(HEADS))
    for case in CASES:
        tallies.append(crash(case, every_step, again=TWICE, at_once=os.cpu_count() or 1))
        say(printed(row(tallies[-1])))
    numbers = [tuple(int(x) for x in row(t)[1:]) for t in tallies]
    say(printed(("all", *(str(sum(column)) for column in zip(*numbers, strict=True)))))
    failures = [f for t in tallies for f in t.failures]
    for failure in failures[:SHOWN]:
        say(f"\n{failure.label}\n{failure.failure}")
    took = timedelta(seconds=round(time.monotonic() - began))
    say(f"{len(failures)} failures; {took} on {os.cpu_count()} cores")
    return 1 if failures else 0


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
