"""Which files get another layout, for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gitops_mc.core.model import count
from gitops_mc.core.render.lines import Line, Tone, one_line


def layouts_text(paths: Sequence[str], looked_at: int, tense: str) -> Iterator[Line]:
    """`tense` is what becomes of them: `laid out anew`, `to lay out anew`."""
    yield from (Line(one_line(path), Tone.ADDED) for path in paths)
    yield Line(f"{len(paths)} of {count(looked_at, 'file')} {tense}", Tone.WARN if paths else Tone.GOOD)


def left_alone_text(left: Sequence[tuple[str, str]]) -> Iterator[Line]:
    for path, reason in left:
        yield Line(one_line(f"note: {path} is left as it is: {reason}"), Tone.WARN)
