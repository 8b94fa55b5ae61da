"""Spans of time as people type them."""

from __future__ import annotations

from datetime import timedelta

from gitops_mc.core import spans
from gitops_mc.core.errors import UsageError


def span_of(text: str) -> timedelta:
    """`90m`, `24h`, `1d12h`; never nothing, and a year at most. Raises UsageError."""
    found = spans.span_of(text)
    if found is None or not timedelta(0) < found <= spans.LONGEST:
        raise UsageError(f"{text} is no span of time", hint="write 90m, 24h or 3d; a year at most")
    return found
