"""What docs/install.md shows, typed and compared."""

from __future__ import annotations

import re
import shlex

from tests.apiserver.installed import Administrator
from tests.docs.readme import ROOT, console_blocks, first_difference

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
            _, out, err = admin.tried(*words)
            shown = tuple(map(_even, command.shown))
            difference = first_difference(shown, _even(out + err))
            assert not difference, f"$ {command.line}\n{difference}\n{out}{err}"


def _even(text: str) -> str:
    """Ages differ from run to run, and with them the width of columns; fractions of seconds have no fixed number of digits."""
    aged = re.sub(r"\b(?:\d+[dhms])+\b", "AGE", text)
    return re.sub(r"[ \t]+", " ", re.sub(r"(\d\d:\d\d:\d\d)\.\d+", r"\1", aged))
