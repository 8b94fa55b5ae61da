"""How a deliberate fault gets on the list, and how it is switched on and off."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Mutant:
    """One fault, in a sentence, and how it is switched on."""

    name: str
    sentence: str
    on: Callable[[], AbstractContextManager[None]]
    first: int = 0
    """The seed from which on it is looked for."""


MUTANTS: dict[str, Mutant] = {}


def mutant(
    sentence: str, *, first: int = 0, into: dict[str, Mutant] = MUTANTS
) -> Callable[[Callable[[ExitStack], None]], None]:
    def listed(make: Callable[[ExitStack], None]) -> None:
        @contextmanager
        def on() -> Iterator[None]:
            with ExitStack() as stack:
                make(stack)
                yield

        name = make.__name__.replace("_", "-")
        into[name] = Mutant(name, sentence, on, first)

    return listed


def put(stack: ExitStack, owner: Any, name: str, value: Any) -> Any:
    """Put `value` in the place of a name until the stack is unwound; answers what stood there."""
    before = getattr(owner, name)
    setattr(owner, name, value)
    stack.callback(setattr, owner, name, before)
    return before


MISSED: dict[str, str] = {
    "touched-forgotten": "needs the last config of a pool to go while the pool rolls; tests/scenarios/test_removals.py has it",
    "forgotten-takes-no-place": "seed 1348 is the first; tests/scenarios/test_lost_memory.py has it",
    "edited-is-ours": "seed 2398 is the first; tests/scenarios/test_edited_by_hand.py has it",
    "repair-not-awaited": "seed 3972 is the first; tests/scenarios/test_repairs.py has it",
    "unknown-is-settled": "what a verdict needs is always read before it is judged, so nothing is lacking when it matters",
    "window-closes-late": "needs a decision in just that minute; tests/core/test_rollout_windows.py has it",
    "unread-is-absent": "what we wrote and is not there is listed and never made again, so nothing comes of it",
}
"""Faults that no seed has found so far, and why."""
