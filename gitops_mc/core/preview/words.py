"""Pieces of the sentences that a preview says: spans, moments, names, causes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from gitops_mc.core.disruption import Cause
from gitops_mc.core.ignition import ChangeKind, EntryKind
from gitops_mc.core.model import count

_NAME: Final = 40
"""Characters of a name in a sentence; those of the API may have 253."""
_PLURAL: Final = (EntryKind.KERNEL_ARGUMENTS, EntryKind.SSH_KEYS)
_NO_POLICY: Final = "no policy"
_POLICY: Final = "policy for "


def clipped(text: str, room: int = _NAME) -> str:
    """At most so many characters of a text, cut at a word where there is one."""
    if len(text) <= room:
        return text
    cut = text[: room - 1]
    head, space, _ = cut.rpartition(" ")
    return f"{head if space and len(head) > room // 2 else cut}…"


def about(span: timedelta) -> str:
    """`2 h 40 min`, `40 min`, `3 d 2 h`; never less than a minute."""
    minutes = max(1, round(span.total_seconds() / 60))
    if minutes < 60:
        return f"{minutes} min"
    hours, rest = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {rest} min" if rest else f"{hours} h"
    days, hours = divmod(hours, 24)
    return f"{days} d {hours} h" if hours else f"{days} d"


def moment(at: datetime, now: datetime) -> str:
    """`10:42 UTC`; with its day where that is another one."""
    at, now = at.astimezone(UTC), now.astimezone(UTC)
    return f"{at:%H:%M} UTC" if at.date() == now.date() else f"{at:%Y-%m-%d %H:%M} UTC"


def listed(names: Sequence[str], most: int) -> str:
    """`a`, `a and b`, `a, b and 3 more`."""
    shown = [clipped(name) for name in names[:most]]
    if len(names) > most:
        return f"{', '.join(shown)} and {len(names) - most} more"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def in_clusters(names: Sequence[str]) -> str:
    """`in edge-01`, `in 3 clusters`."""
    return f"in {clipped(names[0])}" if len(names) == 1 else f"in {count(len(names), 'cluster')}"


def on_clusters(names: Sequence[str]) -> str:
    """`on edge-01`, `on edge-01 and edge-02`, `on 3 clusters`."""
    return f"on {listed(names, 2)}" if len(names) <= 2 else f"on {count(len(names), 'cluster')}"


def because(causes: Sequence[Cause]) -> str:
    """`because unit chronyd.service changes and no policy covers it`; of several the first, and how many more there are."""
    first = causes[0]
    more = len({cause.entry for cause in causes} - {first.entry})
    others = f", and for {count(more, 'more entry', 'more entries')}" if more else ""
    return f"because {_changes(first)}{_decided(first)}{others}"


def _changes(cause: Cause) -> str:
    entry = cause.entry
    named = "kernel arguments" if entry.kind is EntryKind.KERNEL_ARGUMENTS else clipped(str(entry), 80)
    many = entry.kind in _PLURAL
    match cause.change:
        case ChangeKind.ADDED:
            return f"{named} {'are' if many else 'is'} added"
        case ChangeKind.REMOVED:
            return f"{named} {'are' if many else 'is'} removed"
        case ChangeKind.CHANGED:
            return f"{named} {'change' if many else 'changes'}"


def _decided(cause: Cause) -> str:
    """What decides that it comes to this; empty where there is no other way."""
    if cause.rule.startswith(_NO_POLICY):
        return f" and no policy covers {'them' if cause.entry.kind in _PLURAL else 'it'}"
    if cause.rule.startswith(_POLICY):
        return f" and the policy for {clipped(cause.rule.removeprefix(_POLICY), 60)} says so"
    return ""
