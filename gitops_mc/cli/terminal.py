"""The one way out: everything the program says passes the redactor here, and gets its colours here, if any."""

from __future__ import annotations

import json
import os
import sys
import textwrap
from collections.abc import Iterable, Mapping
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any, TextIO

from gitops_mc.core.errors import GitopsMcError
from gitops_mc.core.model import JsonObject
from gitops_mc.core.policy import Sensitive
from gitops_mc.core.redact import Redactor, secrets_of
from gitops_mc.core.render.lines import Line, Tone, text_of

if TYPE_CHECKING:
    from rich.text import Text

_STYLES: Mapping[Tone, str] = {
    Tone.PLAIN: "",
    Tone.HEAD: "bold",
    Tone.GOOD: "green",
    Tone.WARN: "yellow",
    Tone.BAD: "red",
    Tone.DIM: "dim",
    Tone.ADDED: "green",
    Tone.REMOVED: "red",
}


_LEAST_COLUMNS = 20
"""Columns beside the indent below which lines are left to the terminal to break."""


class Terminal:
    """Standard output for results, standard error for everything else.

    A reader that goes away (`gitops-mc plan | head`) is no error: the rest is not printed, `closed` says so, and the
    command ends as it would have.
    """

    def __init__(
        self,
        out: TextIO | None = None,
        err: TextIO | None = None,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self.out = out or sys.stdout or _nowhere()
        self.err = err or sys.stderr or _nowhere()
        self.closed = False
        self.debug = False
        self._plain = bool(environment.get("NO_COLOR")) or environment.get("TERM") == "dumb"
        self._sensitive = Sensitive()
        self._secrets: frozenset[bytes] = frozenset()
        self.redactor = Redactor(self._sensitive)
        for stream in (self.out, self.err):
            if isinstance(stream, TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")

    def learn(self, sensitive: Sensitive, bodies: Iterable[JsonObject]) -> Redactor:
        """From now on the sensitive values of these objects are not said any more, those learnt before neither."""
        found = self._secrets | secrets_of(sensitive, bodies)
        if sensitive != self._sensitive or found != self._secrets:
            self._sensitive, self._secrets = sensitive, found
            self.redactor = Redactor(sensitive, found)
        return self.redactor

    @property
    def interactive(self) -> bool:
        """Whether somebody looks at standard output."""
        return self.out.isatty()

    @property
    def plain(self) -> bool:
        """Whether no colours and no moving screen are wanted (NO_COLOR, TERM=dumb)."""
        return self._plain

    def styled(self, lines: Iterable[Line], width: int | None = None) -> Text:
        """Redacted lines for rich, each in its style; one text, without an end of line.

        With a width, a line that is longer goes on below its own beginning.
        """
        from rich.text import Text  # noqa: PLC0415 - only where somebody looks

        shown = tuple(lines)
        parts = self.redactor.redact(text_of(shown)).split("\n")[:-1]
        if len(parts) != len(shown):
            return Text("\n".join(parts))
        return Text("\n").join(
            Text(_hanging(p, width), style=_STYLES[line.tone]) for line, p in zip(shown, parts, strict=True)
        )

    def lines(self, lines: Iterable[Line]) -> None:
        """A result for people."""
        self._show(self.out, tuple(lines))

    def text(self, text: str) -> None:
        """A result in a format of its own (Markdown)."""
        self._write(self.out, self.redactor.redact(text))

    def json(self, value: Any) -> None:
        """A result for programs."""
        redacted = self.redactor.redact_json(value)
        self._write(self.out, json.dumps(redacted, indent=2, ensure_ascii=False) + "\n")

    def exact(self, text: str) -> None:
        """A result that was redacted where it was made, or is asked for as it is."""
        self._write(self.out, text)

    def say(self, *lines: Line) -> None:
        """A remark beside the result."""
        self._show(self.err, lines)

    def _show(self, stream: TextIO, lines: tuple[Line, ...]) -> None:
        redacted = self.redactor.redact(text_of(lines))
        parts = redacted.split("\n")[:-1]
        if self._plain or not stream.isatty() or len(parts) != len(lines):
            self._write(stream, redacted)
            return
        from rich.console import Console  # noqa: PLC0415 - only where somebody looks
        from rich.text import Text  # noqa: PLC0415 - as above

        console = Console(file=stream, highlight=False)
        for line, part in zip(lines, parts, strict=True):
            console.print(Text(part, style=_STYLES[line.tone]), soft_wrap=True)

    def _write(self, stream: TextIO, text: str) -> None:
        if stream is self.out and self.closed:
            return
        try:
            stream.write(text)
            stream.flush()
        except BrokenPipeError:
            self._reader_left(stream)
        except OSError as error:
            self._reader_left(stream)
            if stream is self.out:
                raise GitopsMcError(
                    f"the result cannot be written: {error.strerror}",
                    hint="is there room where the output goes?",
                ) from error

    def _reader_left(self, stream: TextIO) -> None:
        """Send the rest nowhere; without this the interpreter complains when it flushes at its end."""
        self.closed = self.closed or stream is self.out
        with open(os.devnull, "w", encoding="utf-8") as nowhere:  # noqa: PTH123 - the device, not a path
            os.dup2(nowhere.fileno(), stream.fileno())


def _nowhere() -> TextIO:
    """Where a stream was closed before the program began, nobody wants to know."""
    return open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123 - the device; it is there as long as the program


def _hanging(line: str, width: int | None) -> str:
    indent = line[: len(line) - len(line.lstrip())]
    if width is None or len(line) <= width or width <= len(indent) + _LEAST_COLUMNS:
        return line
    return textwrap.fill(line, width, subsequent_indent=indent, break_on_hyphens=False)
