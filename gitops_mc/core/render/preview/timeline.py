"""The timeline in letters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from gitops_mc.core.render.lines import one_line
from gitops_mc.core.render.markdown_text import shortened
from gitops_mc.core.render.preview.document import Bar, Stretch, StretchKind, Timeline

LETTERS: Final[Mapping[StretchKind, str]] = {
    StretchKind.LIKELY: "█",
    StretchKind.LATE: "░",
    StretchKind.SOAK: "~",
    StretchKind.SHUT: "-",
}
_COLUMNS = 48
_LONGEST_NAME = 36
_LONGEST_TOLD = 80


def timeline_lines(timeline: Timeline) -> tuple[str, ...]:
    """A line a bar, each with the same in words; what the letters mean stands below."""
    names = [_name(bar) for bar in timeline.bars]
    width = max((len(name) for name in names), default=0)
    used = {stretch.kind for bar in timeline.bars for stretch in bar.stretches}
    return (
        *(
            f"{name:<{width}} |{_letters(bar, timeline.minutes)}| {one_line(shortened(bar.told, _LONGEST_TOLD))}"
            for name, bar in zip(names, timeline.bars, strict=True)
        ),
        *(f"{letter * 3} {kind.value}" for kind, letter in LETTERS.items() if kind in used),
    )


def _name(bar: Bar) -> str:
    name = f"{'  ' * bar.level}{one_line(bar.name)}"
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 3]}..."


def _letters(bar: Bar, minutes: float) -> str:
    """A stretch that takes any time at all takes a letter; a later one is drawn over an earlier one."""
    shown = [" "] * _COLUMNS
    for stretch in bar.stretches:
        first, last = _columns(stretch, minutes)
        shown[first:last] = LETTERS[stretch.kind] * (last - first)
    return "".join(shown)


def _columns(stretch: Stretch, minutes: float) -> tuple[int, int]:
    scale = _COLUMNS / minutes if minutes > 0 else 0
    first = min(_COLUMNS - 1, max(0, int(stretch.start * scale)))
    return first, max(first + 1, min(_COLUMNS, round(stretch.end * scale)))
