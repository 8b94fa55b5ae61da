"""Results of pure functions kept for as long as their arguments are the same objects: bodies that nobody changes are read
again on every pass, and read once.

It changes no result: a JSON body is never changed in place, and an entry holds its arguments, so that no other object can
take their identity while it is there. Threads may share it: at worst a result is made twice.

What is kept is what was asked for lately: bodies that have moved are let go within `KEPT` to twice as many passes, so that
all of it takes about the room of what the clusters show now, however large their configs are.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any, Generic, TypeAlias, TypeVar
from weakref import WeakSet

T = TypeVar("T")
Entry: TypeAlias = tuple[tuple[object, ...], T]

KEPT = 8
"""Passes after which what nobody has asked for begins to go."""


class Remembered(Generic[T]):
    """The results of one function, by the identity of its arguments. `room`: entries that there are at most; when they are
    used up, those go that were not asked for lately.
    """

    def __init__(self, room: int = 4096) -> None:
        self._half = room // 2
        self._lately: dict[tuple[object, ...], Entry[T]] = {}
        self._before: dict[tuple[object, ...], Entry[T]] = {}
        _ALL.add(self)

    def get(self, arguments: tuple[object, ...], value: tuple[object, ...], make: Callable[[], T]) -> T:
        """The result for `arguments`, compared by identity, and `value`, compared by value; made when it is not known."""
        key = (*map(id, arguments), *value)
        found = self._lately.get(key)
        if found is not None:
            return found[1]
        found = self._before.get(key) or (arguments, make())
        if len(self._lately) >= self._half:
            self.age()
        self._lately[key] = found
        return found[1]

    def age(self) -> None:
        """Let go of what was not asked for since the last time."""
        self._before, self._lately = self._lately, {}


_ALL: WeakSet[Remembered[Any]] = WeakSet()
_PASSES = count(1)


def another_pass() -> None:
    """A pass begins: what the last ones have not asked for is let go."""
    if next(_PASSES) % KEPT == 0:
        for memory in tuple(_ALL):
            memory.age()
