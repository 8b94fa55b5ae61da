"""Deliberate faults of the engine, each to be caught by the invariants: what the simulation is worth is what it finds.

They are switched on by the tests alone, by putting another function in the place of the product's; the product has no
switch for any of them.
"""

from pathlib import Path

from tests.simulation.mutants import failures, gates, knowledge, orders, steps, waves, windows
from tests.simulation.mutants.listing import MISSED, MUTANTS, Mutant

FOUND = Path(__file__).parents[1] / "found.json"
"""The first seed that finds each, as `python -m tests.simulation mutants --keep` last wrote them down."""

__all__ = [
    "FOUND",
    "MISSED",
    "MUTANTS",
    "Mutant",
    "failures",
    "gates",
    "knowledge",
    "orders",
    "steps",
    "waves",
    "windows",
]
