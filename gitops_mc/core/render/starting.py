"""What was begun, for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gitops_mc.core.render.lines import Line, Tone, one_line


def started_text(paths: Sequence[str], tense: str) -> Iterator[Line]:
    """`tense` is what becomes of the files: `written`, `to write`."""
    yield from (Line(one_line(f"{path} {tense}"), Tone.GOOD) for path in paths)
