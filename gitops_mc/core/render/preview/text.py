"""A preview for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, assert_never

from gitops_mc.core.preview.model import Preview, State
from gitops_mc.core.redact import Redactor
from gitops_mc.core.render.lines import Line, Tone, one_line
from gitops_mc.core.render.markdown_text import shortened
from gitops_mc.core.render.preview.document import (
    Basis,
    Block,
    Bullets,
    Document,
    Fold,
    Listing,
    Paragraph,
    Section,
    Table,
    Timeline,
    Words,
    plain,
)
from gitops_mc.core.render.preview.timeline import timeline_lines
from gitops_mc.core.render.preview.whole import document_of

_STATES: Final[Mapping[State, tuple[str, Tone]]] = {
    State.OK: ("ok", Tone.GOOD),
    State.PROBLEMS: ("problems", Tone.BAD),
    State.UNKNOWN: ("unknown", Tone.WARN),
}
_DIFF_TONES = {"+": Tone.ADDED, "-": Tone.REMOVED, "@": Tone.DIM}
_LONGEST_LINE = 2_000
_WIDEST_COLUMN = 44


def preview_text(preview: Preview, redactor: Redactor) -> tuple[Line, ...]:
    """The whole preview; nothing is cut but lines that nobody reads to their end."""
    return tuple(document_lines(document_of(preview, redactor)))


def document_lines(document: Document) -> Iterator[Line]:
    word, tone = _STATES[document.state]
    said = document.line if document.line.startswith(f"{word}: ") else f"{word}: {document.line}"
    yield _line(said, tone)
    for reason in document.reasons:
        yield _line(f"  {reason}", tone)
    of = f"fleet {document.name}, " if document.name else ""
    yield _line(f"  {of}clusters {document.read}", Tone.DIM)
    seen: set[Basis] = set()
    for section in document.sections:
        yield Line("")
        if section.basis is Basis.GIT and Basis.GIT not in seen:
            yield Line("(a) What this pull request changes, from the two commits alone", Tone.HEAD)
            yield Line("")
        seen.add(section.basis)
        yield _line(_title(document, section), Tone.HEAD)
        for block in section.blocks:
            yield from _block(block, "  ")


def _title(document: Document, section: Section) -> str:
    read = "" if section.basis in (Basis.GIT, Basis.FOOT) else f" · clusters {document.read}"
    return f"{section.title}{read}"


def _block(block: Block, indent: str) -> Iterator[Line]:
    match block:
        case Paragraph(found):
            yield _line(f"{indent}{plain(found)}")
        case Bullets(items, _):
            for item in items:
                yield _line(f"{indent}- {plain(item)}")
        case Table(heads, rows, _):
            yield from _table(heads, rows, indent)
        case Listing(language, lines):
            for line in lines:
                tone = _DIFF_TONES.get(line[:1], Tone.PLAIN) if language == "diff" else Tone.PLAIN
                yield _line(f"{indent}  {line}", tone)
        case Timeline():
            for line in timeline_lines(block):
                yield _line(f"{indent}{line}")
        case Fold(summary, blocks, _):
            yield _line(f"{indent}{summary}")
            for inner in blocks:
                yield from _block(inner, f"{indent}  ")
        case _:
            assert_never(block)


def _table(heads: Sequence[str], rows: Sequence[Sequence[Words]], indent: str) -> Iterator[Line]:
    """Columns as wide as what stands in them, up to a width; the last one as it comes."""
    shown = [[one_line(plain(cell)) for cell in row] for row in rows]
    widths = [
        min(_WIDEST_COLUMN, max(len(row[column]) for row in (list(heads), *shown)))
        for column in range(len(heads))
    ]
    yield _line(indent + _joined(heads, widths), Tone.DIM)
    for row in shown:
        yield _line(indent + _joined(row, widths))


def _joined(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True)).rstrip()


def _line(text: str, tone: Tone = Tone.PLAIN) -> Line:
    return Line(one_line(shortened(text, _LONGEST_LINE)), tone)
