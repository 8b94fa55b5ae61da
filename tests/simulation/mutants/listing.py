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


MUTANTS: dict[str, Mutant] = {}


def mutant(sentence: str) -> Callable[[Callable[[ExitStack], None]], None]:
    def listed(make: Callable[[ExitStack], None]) -> None:
        @contextmanager
        def on() -> Iterator[None]:
            with ExitStack() as stack:
                make(stack)
                yield

        name = make.__name__.replace("_", "-")
        MUTANTS[name] = Mutant(name, sentence, on)

    return listed


def put(stack: ExitStack, owner: Any, name: str, value: Any) -> Any:
    """Put `value` in the place of a name until the stack is unwound; answers what stood there."""
    before = getattr(owner, name)
    setattr(owner, name, value)
    stack.callback(setattr, owner, name, before)
    return before
