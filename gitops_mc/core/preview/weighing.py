"""Hindrances in the order in which they matter, the same one on a few nodes only, and so many of a cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Final

from gitops_mc.core.preview.hindrances import Hindrance

MOST: Final = 40
"""Hindrances told of one cluster."""
NODES_EACH: Final = 3
"""Nodes on which the same one is told; the first says on how many more it is."""


class Weight(IntEnum):
    """What is told first."""

    NEVER_DRAINED = 0
    BUDGET_USED_UP = 1
    QUORUM_LOST = 2
    ALONE = 3
    BARE = 4
    VOTER = 5
    LOCAL = 6


@dataclass(frozen=True, slots=True)
class Weighed:
    """A hindrance, and how much it matters."""

    weight: Weight
    found: Hindrance

    @property
    def what(self) -> tuple[Weight, str]:
        """The same on every node that it is found on. Local data is one thing, whatever pod it is of."""
        return self.weight, "" if self.weight is Weight.LOCAL else self.found.subject


def told(found: Iterable[Weighed], nodes: Sequence[str]) -> tuple[tuple[Hindrance, ...], int]:
    """What is shown, and how many are not. `nodes`: all that occur, in the order in which they are updated."""
    position = {node: at for at, node in enumerate(nodes)}
    ranked = sorted(found, key=lambda w: (w.weight, position[w.found.node], w.found.subject))
    total = Counter(w.what for w in ranked)
    seen: Counter[tuple[Weight, str]] = Counter()
    shown = []
    for weighed in ranked:
        seen[weighed.what] += 1
        if seen[weighed.what] <= NODES_EACH:
            more = total[weighed.what] - NODES_EACH if seen[weighed.what] == 1 else 0
            shown.append(_counting(weighed.found, more))
    return tuple(shown[:MOST]), len(ranked) - len(shown[:MOST])


def _counting(found: Hindrance, more: int) -> Hindrance:
    if more <= 0:
        return found
    return replace(found, told=f"{found.told}; found {more} times more than is listed")
