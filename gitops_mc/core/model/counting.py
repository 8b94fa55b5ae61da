"""Numbers and names with their noun, in the singular and the plural."""

from __future__ import annotations

from collections.abc import Sequence


def count(number: int, noun: str, plural: str = "") -> str:
    """`1 cluster`, `2 clusters`; the plural is spelled out where it is not made by an s."""
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"


def named(noun: str, names: Sequence[str]) -> str:
    """`pool worker`, `pools infra, worker`."""
    return f"{noun if len(names) == 1 else f'{noun}s'} {', '.join(names)}"
