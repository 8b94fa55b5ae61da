"""Cutting a file into documents, which kubectl does before its YAML library sees them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from gitops_mc.core.manifests.flaws import Flaw
from gitops_mc.core.manifests.positions import Chunk

MAX_DOCUMENTS: Final = 10_000

_SEPARATOR: Final = re.compile(rb"^---([^\n]*)\n?", re.MULTILINE)
_BOM: Final = b"\xef\xbb\xbf"


def as_utf8(data: bytes) -> tuple[bytes, list[Flaw]]:
    """The text in UTF-8. UTF-16 is read where a byte order mark says so; bytes that are no text are one flaw."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = data.decode("utf-16", errors="replace").encode("utf-8", errors="replace")
        return text, []
    try:
        data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        start = data.rfind(b"\n", 0, error.start) + 1
        column = len(data[start : error.start].decode(errors="replace")) + 1
        message = f"byte 0x{data[error.start]:02x} is not valid UTF-8"
        hint = "save the file as UTF-8; binary content belongs into a file beside it (contents.local)"
        flaw = Flaw(line, column, "yaml-encoding", (), message, hint)
        return data.decode(errors="replace").encode(), [flaw]
    return data, []


def pieces(text: bytes, flaws: list[Flaw]) -> Iterator[Chunk]:
    """The text between the lines that begin with `---`, each piece with its line number."""
    start, line = 0, 0
    for number, separator in enumerate(_SEPARATOR.finditer(text), start=1):
        if number >= MAX_DOCUMENTS:
            message = f"the file has more than {MAX_DOCUMENTS} documents"
            flaws.append(Flaw(line + 1, 1, "yaml-limit", (), message, "split it"))
            return
        yield _chunk(text[start : separator.start()], line)
        line += text.count(b"\n", start, separator.start())
        rest = separator.group(1).strip()
        if not rest or rest.startswith(b"#"):
            start = separator.end()
            line += 1
            continue
        start = separator.start()
        flaws.append(
            Flaw(
                line + 1,
                4,
                "yaml-separator",
                (),
                "kubectl accepts nothing but a comment after `---`",
                "begin the document on the next line",
            )
        )
    yield _chunk(text[start:], line)


def _chunk(text: bytes, line: int) -> Chunk:
    return Chunk(text.removeprefix(_BOM), line)
