"""Whole numbers in texts that others wrote: Python refuses, with an exception, to read or show one of more than 4,300 digits."""

from __future__ import annotations

from typing import Final

MOST_DIGITS: Final = 18
"""Whatever has more is no count, size, version or position of anything."""


def whole_number(text: str) -> int | None:
    """What plain digits say; None for anything else, and for more digits than a number has that means something."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS else None
