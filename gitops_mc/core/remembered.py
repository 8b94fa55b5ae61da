"""Results of pure functions kept for as long as their arguments are the same objects: bodies that nobody changes are read
again on every pass, and read once.

It changes no result: a JSON body is never changed in place, and an entry holds its arguments, so that no other object can
take their identity while it is there. Threads may share it: at worst a result is made twice.

What is kept is what was asked for lately: bodies that have moved are let go within `KEPT` to twice as many passes of their fleet, so that
all of it takes about the room of what the clusters show now, however large their configs are, and however many fleets there are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, Generic, TypeAlias, TypeVar
from weakref import WeakSet

T = TypeVar("T")
Entry: TypeAlias = tuple[tuple[object, ...], T]

KEPT = 8
"""Passes of every fleet after which what nobody has asked for begins to go."""
_PATIENCE = 64
"""So many passes for each fleet, and nobody is waited for any more: a fleet may be gone, or look seldom."""


class Remembered(Generic[T]):
    """The results of one function, by the identity of its arguments. `room`: entries that there are at most; when they are
    used up, those go that were not asked for lately. What one pass asks for has to fit, or every pass would make all of it anew:
    room that is used up within a pass is doubled with the next one.
    """

    def __init__(self, room: int = 4096) -> None:
        self._half = room // 2
        self._used_up = False
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
            self._used_up = True
            self.age()
        self._lately[key] = found
        return found[1]

    def age(self) -> None:
        """Let go of what was not asked for since the last time."""
        self._before, self._lately = self._lately, {}

    def grow(self) -> None:
        """Take more room where the last pass has used up what there is."""
        if self._used_up:
            self._half, self._used_up = 2 * self._half, False


_ALL: WeakSet[Remembered[Any]] = WeakSet()


class _Passes:
    """Since the last time that something was let go: how often each fleet has passed."""

    def __init__(self) -> None:
        self.made: Counter[str] = Counter()
        self.awaited: frozenset[str] = frozenset()
        """Fleets that passed before that."""

    def another(self, fleet: str) -> bool:
        """Whether it is time to let go."""
        self.made[fleet] += 1
        fleets = self.awaited | self.made.keys()
        late = self.made.total() >= _PATIENCE * len(fleets)
        if not late and any(self.made[each] < KEPT for each in fleets):
            return False
        self.made, self.awaited = Counter(), frozenset(self.made)
        return True


_PASSES = _Passes()


def another_pass(fleet: str) -> None:
    """A pass of a fleet begins: what the last ones have not asked for is let go, once the other fleets had their turns."""
    due = _PASSES.another(fleet)
    for memory in tuple(_ALL):
        memory.grow()
        if due:
            memory.age()
