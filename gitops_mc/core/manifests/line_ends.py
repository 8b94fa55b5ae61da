"""Where lines end for libyaml, which counts more ends than editors show."""

from __future__ import annotations

import re
from typing import Final

_END: Final = re.compile(rb"\r\n?|\n|\xc2\x85|\xe2\x80[\xa8\xa9]")
_HIDDEN: Final = re.compile("\r(?!\n)|[\x85\u2028\u2029]")


def lines_of(text: bytes) -> list[bytes]:
    """The lines of UTF-8, without their ends, as the marks of libyaml count them (YAML 1.1, 4.2: CR, LF, NEL, LS, PS)."""
    return _END.split(text)


def hidden_line_end(text: str) -> str | None:
    """The first end of a line that editors do not show as one, as `U+2028`."""
    found = _HIDDEN.search(text)
    return f"U+{ord(found.group()):04X}" if found is not None else None
