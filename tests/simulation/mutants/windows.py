"""Faults of change windows: when a step may begin."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from gitops_mc.core.policy import WindowKind
from gitops_mc.core.rollout import admission, timing, windows
from tests.scenarios.drawn_windows import WINDOWED
from tests.simulation.mutants.listing import mutant, put


@mutant("a window closes a minute late", first=WINDOWED)
def window_closes_late(stack: ExitStack) -> None:
    def a_minute_more(_self: Any, span: windows.Span, begin: datetime, length: timedelta) -> bool:
        return begin + length <= span.end + timedelta(minutes=1)

    def covering(spans: Any, now: datetime) -> windows.Span | None:
        found = find(spans, now)
        late: windows.Span | None = find(spans, now - timedelta(minutes=1)) if found is None else found
        return late

    put(stack, windows.Calendar, "fits", a_minute_more)
    find = put(stack, windows, "_covering", covering)


@mutant("a repair begins in a freeze though nobody overrides it", first=WINDOWED)
def freeze_ignored_by_repairs(stack: ExitStack) -> None:
    def lenient(case: Any, could: Any) -> Any:
        allows = tuple(rule for rule in case.windows if rule.kind is WindowKind.ALLOW)
        return kept(replace(case, windows=allows) if could.repair else case, could)

    kept = put(stack, admission, "in_window", lenient)


@mutant("a step begins in its window however long it takes", first=WINDOWED)
def estimate_ignored(stack: ExitStack) -> None:
    put(stack, timing, "length_of", lambda *_: timing.Length(timedelta(0), "no time"))
