"""Numbers drawn from a seed: the same on every machine and in every version of Python. SplitMix64 (Steele, Lea, Flood 2014)."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from statistics import NormalDist
from typing import Final

_MASK: Final = (1 << 64) - 1
_STEP: Final = 0x9E3779B97F4A7C15
_STANDARD: Final = NormalDist()


def _bits(seed: int) -> Iterator[int]:
    state = seed & _MASK
    while True:
        state = (state + _STEP) & _MASK
        z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
        yield z ^ (z >> 31)


def uniforms(seed: int, stream: int, count: int) -> array[float]:
    """Numbers between 0 and 1, without both. Streams of one seed have nothing to do with each other."""
    bits = _bits(seed * 0x2545F4914F6CDD1D + stream * 0xD1342543DE82EF95)
    return array("d", ((next(bits) >> 11) * 2.0**-53 + 2.0**-54 for _ in range(count)))


def spread_normals(seed: int, stream: int, count: int) -> array[float]:
    """Standard normal numbers, one from each of `count` slices of the same probability, in a drawn order: `count` of them
    say as much about the whole as many times that many drawn freely.
    """
    order = sorted(range(count), key=uniforms(seed, stream, count).__getitem__)
    return array("d", (_STANDARD.inv_cdf((place + 0.5) / count) for place in order))


def quantile_of_normal(probability: float) -> float:
    return _STANDARD.inv_cdf(probability)
