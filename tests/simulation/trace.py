"""A played simulation as a story that people can read: what happened, what was written, and how each cluster stood."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from tests.scenarios.simulation import Simulation
from tests.scenarios.telling import begins, happenings

WIDTH = 170


def trace(simulation: Simulation) -> Iterator[str]:
    """Everything in the order of the world's clock, in seconds since the beginning."""
    yield from begins(simulation.script)
    happened = happenings(simulation.script, simulation.start, simulation.ours)
    for at, what in sorted((*happened, *_standings(simulation)), key=lambda x: x[0]):
        yield f"{(at - simulation.start).total_seconds():8.0f}  {what}"[:WIDTH]
    yield f"outlook: {simulation.outlook}"


def _standings(simulation: Simulation) -> Iterator[tuple[datetime, str]]:
    """Where a cluster or a wave stands differently from the pass before."""
    before: dict[str, str] = {}
    for at, look in zip(simulation.times, simulation.looks, strict=True):
        now = {c.cluster: f"{c.standing.value}: {c.reason}" for c in look.decision.clusters}
        now |= {f"wave {w.wave}": f"{w.state.value}: {w.reason}" for w in look.decision.waves}
        halt = look.memory.halt
        now["halt"] = halt.reason if halt is not None else ""
        for name, told in now.items():
            if before.get(name, "").partition(":")[0] != told.partition(":")[0]:
                yield at, f"        {name} {told}"
        before = now
