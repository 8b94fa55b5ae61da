"""A preview as one page that needs nothing else: no script, no font, no request. What is asked for is unfolded by the browser.

Every word of others is escaped where it is written, in one place; the policy in the head lets nothing run even if it were not.
"""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, assert_never

from gitops_mc.core.preview.model import Preview
from gitops_mc.core.redact import Redactor
from gitops_mc.core.render.lines import one_line
from gitops_mc.core.render.markdown_text import shortened
from gitops_mc.core.render.preview.document import (
    Bar,
    Basis,
    Block,
    Bullets,
    Code,
    Document,
    Fold,
    Listing,
    Paragraph,
    Section,
    Stretch,
    StretchKind,
    Strong,
    Table,
    Timeline,
    Words,
)
from gitops_mc.core.render.preview.page_style import STYLE
from gitops_mc.core.render.preview.whole import document_of

_LONGEST_LINE = 2_000
_LONGEST_WORDS = 4_000
_CLASSES: Final[Mapping[Basis, str]] = {
    Basis.GIT: "git",
    Basis.MERGED: "merged",
    Basis.ALREADY: "already",
    Basis.UNDER_WAY: "under-way",
    Basis.FOOT: "foot",
}
_KINDS: Final[Mapping[StretchKind, str]] = {
    StretchKind.LIKELY: "likely",
    StretchKind.LATE: "late",
    StretchKind.SOAK: "soak",
    StretchKind.SHUT: "shut",
}
_LINES: Final = {"+": "added", "-": "removed", "@": "place"}
_WIDTH = 1_000
"""Of a bar, in units of its own."""


def preview_html(preview: Preview, redactor: Redactor) -> str:
    """The page."""
    return document_html(document_of(preview, redactor))


def document_html(document: Document) -> str:
    digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    body = "".join(_body(document))
    return (
        "<!doctype html>\n"
        '<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{html.escape(policy)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{_text(shortened(document.line))}</title>\n<style>{STYLE}</style>\n</head>\n"
        f"<body>\n{body}</body>\n</html>\n"
    )


def _body(document: Document) -> Iterator[str]:
    state = document.state.value
    fleet = f"fleet {document.name}, " if document.name else ""
    yield f'<header class="{state}">\n<p class="state">{state}</p>\n<h1>{_text(document.line)}</h1>\n'
    if document.reasons:
        yield f"<ul>{''.join(f'<li>{_text(reason)}</li>' for reason in document.reasons)}</ul>\n"
    yield f'<p class="read">{_text(f"{fleet}clusters {document.read}")}</p>\n</header>\n<main>\n'
    for section in document.sections:
        yield from _section(document, section)
    yield "</main>\n"


def _section(document: Document, section: Section) -> Iterator[str]:
    yield f'<section class="{_CLASSES[section.basis]}">\n<h2>{_text(section.title)}</h2>\n'
    if told := _rests_on(document, section.basis):
        yield f'<p class="basis">{told}</p>\n'
    for block in section.blocks:
        yield from _block(block)
    yield "</section>\n"


def _rests_on(document: Document, basis: Basis) -> str:
    match basis:
        case Basis.GIT:
            return "<b>(a)</b> from the two commits alone; it needs no time of reading"
        case Basis.MERGED | Basis.ALREADY | Basis.UNDER_WAY:
            return f"<b>live</b> clusters {_text(document.read)}"
        case Basis.FOOT:
            return ""
        case _:
            assert_never(basis)


def _block(block: Block) -> Iterator[str]:
    match block:
        case Paragraph(found):
            yield f"<p>{_words(found)}</p>\n"
        case Bullets(items, _):
            yield f"<ul>{''.join(f'<li>{_words(item)}</li>' for item in items)}</ul>\n"
        case Table(heads, rows, _):
            yield from _table(heads, rows)
        case Listing(language, lines):
            yield f"<pre><code>{''.join(_line(line, language) for line in lines)}</code></pre>\n"
        case Timeline(bars, minutes):
            yield from _timeline(bars, minutes)
        case Fold(summary, blocks, _):
            yield f"<details>\n<summary>{_text(summary)}</summary>\n"
            for inner in blocks:
                yield from _block(inner)
            yield "</details>\n"
        case _:
            assert_never(block)


def _table(heads: Sequence[str], rows: Sequence[Sequence[Words]]) -> Iterator[str]:
    """On a narrow screen a row is a box; the roles keep it a table for whoever does not see it."""
    yield '<table role="table">\n'
    if any(heads):
        cells = "".join(f'<th scope="col" role="columnheader">{_text(head)}</th>' for head in heads)
        yield f'<thead role="rowgroup"><tr role="row">{cells}</tr></thead>\n'
    yield '<tbody role="rowgroup">\n'
    for row in rows:
        cells = "".join(
            f'<td role="cell" data-head="{_text(head)}">{_words(cell)}</td>'
            for head, cell in zip(heads, row, strict=True)
        )
        yield f'<tr role="row">{cells}</tr>\n'
    yield "</tbody>\n</table>\n"


def _line(line: str, language: str) -> str:
    kind = _LINES.get(line[:1], "") if language == "diff" else ""
    style = f' class="{kind}"' if kind else ""
    return f"<span{style}>{html.escape(one_line(shortened(line, _LONGEST_LINE)))}</span>"


def _timeline(bars: Sequence[Bar], minutes: float) -> Iterator[str]:
    yield '<div class="bars">\n'
    for bar in bars:
        inner = " inner" if bar.level else ""
        yield f'<div class="name{inner}">{_text(bar.name)}</div>'
        shown = "".join(_stretch(stretch, minutes) for stretch in bar.stretches)
        yield f'<svg viewBox="0 0 {_WIDTH} 16" preserveAspectRatio="none" aria-hidden="true">{shown}</svg>'
        yield f'<div class="told">{_text(bar.told)}</div>\n'
    yield "</div>\n"
    used = {stretch.kind for bar in bars for stretch in bar.stretches}
    keys = (
        f'<span><svg viewBox="0 0 14 8" aria-hidden="true"><rect class="{_KINDS[kind]}" width="14" height="8"/></svg>'
        f"{_text(kind.value)}</span>"
        for kind in StretchKind
        if kind in used
    )
    yield f'<p class="key">{"".join(keys)}</p>\n'


def _stretch(stretch: Stretch, minutes: float) -> str:
    """Never narrower than the eye can see."""
    scale = _WIDTH / minutes if minutes > 0 else 0
    start = min(_WIDTH - 4, round(stretch.start * scale))
    width = max(4, round(stretch.end * scale) - start)
    return f'<rect class="{_KINDS[stretch.kind]}" x="{start}" y="2" width="{width}" height="12"/>'


def _words(found: Words) -> str:
    return "".join(_part(part) for part in found)


def _part(part: str | Code | Strong) -> str:
    match part:
        case str():
            return _text(part)
        case Code(text):
            return f"<code>{_text(text)}</code>"
        case Strong(text):
            return f"<strong>{_text(text)}</strong>"
        case _:
            assert_never(part)


def _text(text: str) -> str:
    return html.escape(one_line(shortened(text, _LONGEST_WORDS)))
