"""Results of pure functions kept for as long as their arguments are the same objects: bodies that nobody changes are read
again on every pass, and read once.

It changes no result: a JSON body is never changed in place, and an entry holds its arguments, so that no other object can
take their identity while it is there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Remembered(Generic[T]):
    """The results of one function, by the identity of its arguments. `room`: entries; when it is full the oldest half
    goes.
    """

    def __init__(self, room: int = 4096) -> None:
        self._room = room
        self._known: dict[tuple[object, ...], tuple[tuple[object, ...], T]] = {}

    def get(self, arguments: tuple[object, ...], value: tuple[object, ...], make: Callable[[], T]) -> T:
        """The result for `arguments`, compared by identity, and `value`, compared by value; made when it is not known."""
        key = (*map(id, arguments), *value)
        found = self._known.get(key)
        if found is not None:
            return found[1]
        if len(self._known) >= self._room:
            for old in list(self._known)[: self._room // 2]:
                self._known.pop(old, None)
        made = make()
        self._known[key] = (arguments, made)
        return made
