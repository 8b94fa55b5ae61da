"""What docs/install.md shows, typed and compared."""

from __future__ import annotations

import re
import shlex
import time
from typing import Final

from tests.apiserver.installed import Administrator
from tests.docs.readme import ROOT, console_blocks, first_difference

_SHOWN_WITHIN: Final = 20.0
_LOOKS: Final = frozenset({"get", "describe"})
_TEXT = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    """What stands between `<!-- title -->` and `<!-- /title -->`."""
    _, begun, rest = _TEXT.partition(f"<!-- {title} -->\n")
    shown, ended, _ = rest.partition(f"<!-- /{title} -->")
    assert begun, title
    assert ended, title
    return shown


def type_section(admin: Administrator, title: str) -> None:
    """Type the commands of a section, one after the other; what they print is what the page shows, but for what differs from run
    to run.
    """
    for block in console_blocks(section(title)):
        for command in block:
            program, *words = shlex.split(command.line)
            assert program == "kubectl"
            shown = tuple(map(_even, command.shown))
            told = _tried(admin, words, shown)
            assert not told, f"$ {command.line}\n{told}"


def _tried(admin: Administrator, words: list[str], shown: tuple[str, ...]) -> str:
    """How what is printed differs. What only looks is asked again for a while: Events, and what a pass shows, come a moment after the
    status that was waited for.
    """
    end = time.monotonic() + (_SHOWN_WITHIN if _LOOKS & set(words[:4]) else 0.0)
    while True:
        _, out, err = admin.tried(*words)
        difference = first_difference(shown, _even(out + err))
        if not difference:
            return ""
        if time.monotonic() > end:
            return f"{difference}\n{out}{err}"
        time.sleep(0.5)


def _even(text: str) -> str:
    """Ages differ from run to run, and with them the width of columns; fractions of seconds have no fixed number of digits."""
    aged = re.sub(r"\b(?:\d+[dhms])+\b", "AGE", text)
    return re.sub(r"[ \t]+", " ", re.sub(r"(\d\d:\d\d:\d\d)\.\d+", r"\1", aged))
