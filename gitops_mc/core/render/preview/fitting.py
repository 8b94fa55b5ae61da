"""Room that is not enough for all: who gets how much of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Piece:
    """What was written, and what did not fit: how many of what."""

    text: str
    left_out: Counter[str] = field(default_factory=Counter)


def size(text: str) -> int:
    """Bytes in UTF-8, and so never less than its characters, however somebody counts them."""
    return len(text.encode("utf-8", "backslashreplace"))


def evenly(wanted: Sequence[int], room: int) -> list[int]:
    """What is small gets all it wants; what is large shares the rest alike, however large it is."""
    left, rooms = max(0, room), [0] * len(wanted)
    by_size = sorted(range(len(wanted)), key=lambda position: wanted[position])
    for taken, position in enumerate(by_size):
        rooms[position] = min(wanted[position], left // (len(wanted) - taken))
        left -= rooms[position]
    return rooms


def usefully(wanted: Sequence[int], room: int, least: int) -> list[int]:
    """As `evenly`, but the last ones get nothing where otherwise nobody would have `least`: the beginning of many things tells
    less than some of them whole.
    """
    taken, left = 0, room
    for want in wanted:
        left -= min(want, least)
        if left < 0:
            break
        taken += 1
    return [*evenly(wanted[:taken], room), *([0] * (len(wanted) - taken))]


def by_share(wanted: Sequence[int], shares: Sequence[float], room: int) -> list[int]:
    """Each gets its share, if it wants so much; what is left then goes to the first ones first."""
    room, whole = max(0, room), sum(shares) or 1.0
    rooms = [min(want, int(room * share / whole)) for want, share in zip(wanted, shares, strict=True)]
    left = room - sum(rooms)
    for position, want in enumerate(wanted):
        more = min(want - rooms[position], left)
        rooms[position] += more
        left -= more
    return rooms
