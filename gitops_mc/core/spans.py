"""Spans of time as people write them: `30s`, `90m`, `1h30m`, `10d`."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final

LONGEST: Final = timedelta(days=366)
"""What anybody means; every place that takes a span refuses a longer one."""
_BEYOND: Final = 100 * LONGEST
_SPAN: Final = re.compile("".join(rf"(?:([0-9]{{1,18}}){unit})?" for unit in "dhms"))
_SECONDS: Final = (86_400, 3_600, 60, 1)


def span_of(text: str) -> timedelta | None:
    """Days, hours, minutes and seconds, in this order, those that are not 0. None for any other text. However large the numbers
    are, the span is one that can be calculated with: what is beyond 100 times LONGEST is cut there.
    """
    match = _SPAN.fullmatch(text)
    if match is None or not text:
        return None
    seconds = sum(int(number or 0) * unit for number, unit in zip(match.groups(), _SECONDS, strict=True))
    return timedelta(seconds=min(seconds, _BEYOND.total_seconds()))
