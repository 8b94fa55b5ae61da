"""How long the nodes of a pool take where the median node takes 1, so many at a time.

The operator keeps `maxUnavailable` nodes under way: as one is done, the next begins. Pools with the same numbers share
what was drawn, whatever their nodes take.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from heapq import heapify, heapreplace
from statistics import fmean, pvariance
from typing import Final

from gitops_mc.core.forecast.drawing import spread_normals

NODE_SPREAD: Final = 0.25
"""Standard deviation of the logarithm of what nodes of one pool take in one rollout (docs/adr/0020)."""
_DRAWN: Final = 8192
_LARGEST: Final = 256
"""Nodes that are drawn one by one; a larger pool is as long as so many in the same number of rounds."""

Size = tuple[int, int]
"""Nodes, and how many at a time."""


@dataclass(frozen=True, slots=True)
class Makespan:
    """Of one size: a draw for each sample, and what they come to."""

    draws: array[float]
    log_mean: float
    log_variance: float


def makespans(sizes: Iterable[Size], samples: int, seed: int) -> Mapping[Size, Makespan]:
    """For every size that is asked for."""
    drawn = array("d", (math.exp(NODE_SPREAD * z) for z in spread_normals(seed, 1, _DRAWN)))
    found: dict[Size, Makespan] = {}
    by_rounds: dict[int, list[tuple[int, float, Size]]] = {}
    for size in sorted(set(sizes)):
        nodes, at_once, factor = _small(*size)
        by_rounds.setdefault(at_once, []).append((nodes, factor, size))
    for at_once, wanted in sorted(by_rounds.items()):
        rows = _rows(drawn, at_once, {nodes for nodes, _, _ in wanted}, samples)
        for nodes, factor, size in wanted:
            found[size] = _makespan(array("d", (x * factor for x in rows[nodes])))
    return found


def _makespan(draws: array[float]) -> Makespan:
    logs = [math.log(x) for x in draws]
    return Makespan(draws, fmean(logs), pvariance(logs))


def _small(nodes: int, at_once: int) -> tuple[int, int, float]:
    """A size that is drawn one by one, and how much longer the asked one takes."""
    at_once = min(at_once, nodes)
    if nodes <= _LARGEST:
        return nodes, at_once, 1.0
    fewer = max(1, round(at_once * _LARGEST / nodes))
    return _LARGEST, fewer, (nodes / at_once) / (_LARGEST / fewer)


def _rows(drawn: array[float], at_once: int, wanted: set[int], samples: int) -> dict[int, array[float]]:
    """Of each wanted number of nodes, a time for each sample. What n nodes take is known on the way to n + 1."""
    rows = {nodes: array("d") for nodes in sorted(wanted)}
    most = max(wanted)
    for sample in range(samples):
        begin = sample * 2_039 + at_once * 131
        lanes = [drawn[(begin + n) % _DRAWN] for n in range(at_once)]
        for n in range(1, at_once + 1):
            if n in rows:
                rows[n].append(max(lanes[:n]))
        last = max(lanes)
        heapify(lanes)
        for n in range(at_once + 1, most + 1):
            ends = lanes[0] + drawn[(begin + n) % _DRAWN]
            heapreplace(lanes, ends)
            last = max(last, ends)
            if n in rows:
                rows[n].append(last)
    return rows
