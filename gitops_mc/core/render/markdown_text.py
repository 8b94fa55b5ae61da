"""Words of others in Markdown: nothing in them is markup, refers to anything, calls anybody, or commands a forge.

Forges look for `@name`, `#12`, `!12`, `GH-12` and addresses in the text that the reader sees, after the markup: a backslash
before the sign changes nothing. A space of no width behind the sign does. In code they look for nothing.
"""

from __future__ import annotations

import html
import re
from typing import Final

from gitops_mc.core.render.lines import one_line

LONGEST_LINE: Final = 300
"""Characters of a cell, an item, a summary."""
_NOTHING: Final = "\u200b"
"""A space of no width. No text has one of its own: `visible` spells it out."""
_MARKUP: Final = re.compile(r"([\\`*_\[\]|~#!])")
_SIGNS: Final = re.compile(r"([&@#!$%~^])(?=[\w\"'/\[{:.-])")
_ADDRESS: Final = re.compile(r":(?=//)|(?i:(?<=\bwww)\.|(?<=\bmailto):|(?<=\bxmpp):)")
_TICKET: Final = re.compile(r"(?<![A-Za-z0-9])([A-Z][A-Z0-9_]+|(?i:gh))-(?=\d)")
_LEAD: Final = re.compile(r"[-+=/:]|\d+[.)]")
_RUN: Final = re.compile("`+")


def shortened(text: str, longest: int = LONGEST_LINE) -> str:
    """At most so many characters, with the number of those that are left out. Redact first: half a secret is not known."""
    if len(text) <= longest:
        return text
    return f"{text[:longest]} ... ({len(text) - longest} more characters)"


def inline(text: str) -> str:
    """As it is read, on one line, anywhere but at the beginning of one; `led` makes a beginning of it."""
    return _spelled(_MARKUP.sub(r"\\\1", html.escape(_defused(text), quote=False)))


def led(markup: str) -> str:
    """What `inline`, `code` and marks of emphasis were made into, as the beginning of a line, an item, a heading."""
    found = markup.strip()
    return _spelled(_NOTHING) + found if _LEAD.match(found) else found


def in_html(text: str) -> str:
    """The same inside an element that is written as HTML, where Markdown's own escapes are not read."""
    return _spelled(html.escape(_defused(text).strip()))


def code(text: str) -> str:
    """As code, on one line: no forge looks for anything in it."""
    shown = one_line(text).strip() or "(empty)"
    ticks = "`" * (1 + max((len(run) for run in _RUN.findall(shown)), default=0))
    space = " " if shown[0] == "`" or shown[-1] == "`" else ""
    return f"{ticks}{space}{shown}{space}{ticks}"


def fence_for(text: str) -> str:
    """Backticks that no run of them in the text closes."""
    return "`" * max(3, 1 + max((len(run) for run in _RUN.findall(text)), default=0))


def _defused(text: str) -> str:
    """The text on one line, with nothing in it that a forge would act upon."""
    words = _SIGNS.sub(rf"\1{_NOTHING}", one_line(text))
    words = _ADDRESS.sub(lambda found: f"{found.group()}{_NOTHING}", words)
    return _TICKET.sub(rf"\1-{_NOTHING}", words)


def _spelled(markup: str) -> str:
    """As a reference, which every reader of the source sees."""
    return markup.replace(_NOTHING, "&#8203;")
