"""A preview as a comment on a pull request, never longer than its forge takes.

What is most important stands first. Where not all of it fits, every section keeps a part of the room, what was left out is
counted, and no fence and no fold is left open. Everything is redacted before it is cut: half a secret is not recognised.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final, assert_never

from gitops_mc.core.model import count
from gitops_mc.core.preview.model import Preview, State
from gitops_mc.core.redact import Redactor
from gitops_mc.core.render.lines import one_line
from gitops_mc.core.render.markdown_text import code, fence_for, in_html, inline, led, shortened
from gitops_mc.core.render.preview.document import (
    Basis,
    Block,
    Bullets,
    Code,
    Document,
    Fold,
    Listing,
    Paragraph,
    Section,
    Strong,
    Table,
    Timeline,
    Words,
)
from gitops_mc.core.render.preview.fitting import Piece, by_share, size, usefully
from gitops_mc.core.render.preview.timeline import timeline_lines
from gitops_mc.core.render.preview.whole import document_of

GITHUB: Final = 65_536
GITLAB: Final = 1_000_000
GITEA: Final = 65_536
"""Of the server as it is shipped."""
MARKS: Final = {State.OK: "✅", State.PROBLEMS: "❌", State.UNKNOWN: "❔"}
_HEAD_LENGTHS = (600, 200, 60, 10)
"""Characters of the verdict and of each of its reasons: the first length with which they take half of the room at most."""
_LONGEST_CELL = 600
_LONGEST_LINE = 400
"""Of a diff."""
_NOTE = 120
"""Bytes, for what was left out of a block."""
_USEFUL = 700
"""Bytes that a block gets at least, if it wants so much, or it gets none."""
_END = 1_500
"""Bytes, for all that was left out."""
_UNBOUNDED = 1 << 40
_PART_A = (
    "\n### (a) What this pull request changes\n\n"
    "From the two commits alone: it is the same wherever it is made, and needs no time of reading.\n"
)


def preview_markdown(preview: Preview, redactor: Redactor, limit: int = GITHUB) -> str:
    """At most `limit` bytes in UTF-8, and so characters, whatever the preview."""
    return document_markdown(document_of(preview, redactor), limit)


def document_markdown(document: Document, limit: int) -> str:
    head = _head(document, limit)
    room = limit - size(head) - _END
    wanted = [_section(document, position, _UNBOUNDED) for position in range(len(document.sections))]
    if size(head) + sum(size(piece.text) for piece in wanted) <= limit:
        return head + "".join(piece.text for piece in wanted)
    rooms = by_share([size(p.text) for p in wanted], [s.share for s in document.sections], room)
    left_out: Counter[str] = Counter()
    shown = [head]
    for position, (full, own) in enumerate(zip(wanted, rooms, strict=True)):
        piece = full if size(full.text) <= own else _section(document, position, own)
        shown.append(piece.text)
        left_out += piece.left_out
    end = _cut(document, left_out, limit)
    return "".join(shown) + (end if size("".join(shown)) + size(end) <= limit else "")


def _head(document: Document, limit: int) -> str:
    """The verdict, and what it rests on; at most half of the limit, or of it only what fits at all."""
    for longest in _HEAD_LENGTHS:
        lines = [f"## {MARKS[document.state]} {inline(shortened(document.line, longest))}\n"]
        lines += ["\n"] if document.reasons else []
        lines += [f"- {led(inline(shortened(reason, longest)))}\n" for reason in document.reasons]
        told = (
            f"fleet {document.name}, clusters {document.read}"
            if document.name
            else f"clusters {document.read}"
        )
        lines.append(f"\n{led(inline(shortened(told, longest)))}\n")
        found = "".join(lines)
        if size(found) * 2 <= limit:
            return found
    bare = f"## {MARKS[document.state]}\n"
    return bare if size(bare) <= limit else ""


def _cut(document: Document, left_out: Counter[str], limit: int) -> str:
    told = ", ".join(count(number, what) for what, number in sorted(left_out.items()) if number)
    if not told:
        return ""
    return f"\n**Cut to fit {limit} bytes; not shown: {told}.** All of it: {code(document.command)}\n"


def _section(document: Document, position: int, room: int) -> Piece:
    section = document.sections[position]
    title = _opening(document.sections, position) + _title(document, section)
    body = _blocks(section.blocks, room - size(title))
    if not body.text:
        return Piece("", body.left_out + Counter({"section": 1}))
    return Piece(title + body.text, body.left_out)


def _opening(sections: Sequence[Section], position: int) -> str:
    """What stands above the first section of part (a)."""
    first = next((n for n, section in enumerate(sections) if section.basis is Basis.GIT), None)
    return _PART_A if position == first else ""


def _title(document: Document, section: Section) -> str:
    read = inline(document.read)
    title = inline(section.title)
    match section.basis:
        case Basis.GIT:
            return f"\n#### {title}\n"
        case Basis.MERGED:
            return f"\n#### {title} · clusters {read}\n"
        case Basis.ALREADY | Basis.UNDER_WAY:
            return f"\n### {title}\n\nClusters {read}.\n"
        case Basis.FOOT:
            return f"\n### {title}\n"
        case _:
            assert_never(section.basis)


def _blocks(blocks: Sequence[Block], room: int) -> Piece:
    """All of them, or of each what its part of the room holds."""
    wanted = [_block(block, _UNBOUNDED) for block in blocks]
    sizes = [size(piece.text) for piece in wanted]
    rooms = sizes if sum(sizes) <= room else usefully(sizes, room, _USEFUL)
    text, left_out, spare = "", Counter[str](), 0
    for block, full, want, own in zip(blocks, wanted, sizes, rooms, strict=True):
        piece = full if want <= own + spare else _block(block, own + spare)
        spare += own - size(piece.text)
        text += piece.text
        left_out += piece.left_out
    return Piece(text, left_out)


def _block(block: Block, room: int) -> Piece:
    """At most `room` bytes; nothing, where nothing of it makes sense in them."""
    match block:
        case Paragraph(found):
            return _whole(f"\n{_words(found)}\n", room, "paragraph")
        case Bullets(items, what):
            return _rows("\n", [f"- {_words(item)}\n" for item in items], room, what)
        case Table(heads, rows, what):
            head = f"\n| {' | '.join(inline(h) or ' ' for h in heads)} |\n{'|---' * len(heads)}|\n"
            return _rows(head, [_row(row) for row in rows], room, what)
        case Listing():
            return _listing(block, room)
        case Timeline():
            return _listing(Listing("text", timeline_lines(block)), room)
        case Fold():
            return _fold(block, room)
        case _:
            assert_never(block)


def _whole(text: str, room: int, what: str) -> Piece:
    return Piece(text) if size(text) <= room else Piece("", Counter({what: 1}))


def _rows(head: str, rows: Sequence[str], room: int, what: str) -> Piece:
    """The first ones that fit, and how many there are more."""
    sizes = [size(row) for row in rows]
    if size(head) + sum(sizes) <= room:
        return Piece(head + "".join(rows))
    left, shown = room - size(head) - _NOTE, 0
    for own in sizes:
        if own > left:
            break
        left, shown = left - own, shown + 1
    cut = Counter({what: len(rows) - shown})
    if not shown:
        return Piece("", cut)
    return Piece(f"{head}{''.join(rows[:shown])}\n... and {count(len(rows) - shown, f'more {what}')}\n", cut)


def _listing(listing: Listing, room: int) -> Piece:
    """What is to be pasted is shown whole or not at all; of anything else the beginning."""
    lines = [one_line(shortened(line, _LONGEST_LINE)) for line in listing.lines]
    whole = _fenced(listing.language, lines)
    if size(whole) <= room:
        return Piece(whole)
    cut = Counter({"line": len(lines)})
    if listing.language == "yaml":
        return Piece("", cut)
    sizes = [size(line) + 1 for line in lines]
    shown, left = 0, room - (size(whole) - sum(sizes)) - _NOTE
    for own in sizes:
        if own > left:
            break
        left, shown = left - own, shown + 1
    if not shown:
        return Piece("", cut)
    hidden = len(lines) - shown
    note = f"\n... and {count(hidden, 'more line')}\n"
    return Piece(_fenced(listing.language, lines[:shown]) + note, Counter({"line": hidden}))


def _fenced(language: str, lines: Sequence[str]) -> str:
    text = "\n".join(lines)
    fence = fence_for(text)
    return f"\n{fence}{language}\n{text}\n{fence}\n"


def _fold(fold: Fold, room: int) -> Piece:
    head = f"\n<details><summary>{in_html(shortened(fold.summary))}</summary>\n"
    end = "\n</details>\n"
    body = _blocks(fold.blocks, room - size(head) - size(end))
    if not body.text:
        return Piece("", Counter({fold.what: 1}))
    return Piece(head + body.text + end, body.left_out)


def _row(cells: Sequence[Words]) -> str:
    return f"| {' | '.join(_words(cell, _code_in_cell) or ' ' for cell in cells)} |\n"


def _words(found: Words, spell: Callable[[str], str] = code) -> str:
    """Words on one line, and not more of them than somebody reads."""
    shown, left = "", _LONGEST_CELL
    for part in found:
        if left <= 0:
            return f"{shown} ..."
        match part:
            case str():
                shown += inline(shortened(part, left))
            case Code(text):
                shown += spell(shortened(text, left))
            case Strong(text):
                shown += f"**{inline(shortened(text, left))}**"
            case _:
                assert_never(part)
        left -= len(part if isinstance(part, str) else part.text)
    return led(shown)


def _code_in_cell(text: str) -> str:
    """A table is cut into cells before code is told from text."""
    return code(text).replace("|", "\\|")
