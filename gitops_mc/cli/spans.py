"""Spans of time as people type them."""

from __future__ import annotations

import re
from datetime import timedelta

from gitops_mc.core.errors import UsageError

_SPAN = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?")
_LONGEST = timedelta(days=366)


def span_of(text: str) -> timedelta:
    """`90m`, `24h`, `1d12h`. Raises UsageError."""
    match = _SPAN.fullmatch(text)
    parts = [int(n or 0) for n in match.groups()] if match and text else []
    lasting = timedelta(0)
    if parts and max(parts) <= _LONGEST.total_seconds():
        lasting = timedelta(days=parts[0], hours=parts[1], minutes=parts[2], seconds=parts[3])
    if not timedelta(0) < lasting <= _LONGEST:
        raise UsageError(f"{text} is no span of time", hint="write 90m, 24h or 3d; a year at most")
    return lasting
