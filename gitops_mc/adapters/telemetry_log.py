"""The log: structlog, one JSON object a line on stderr, or lines for people where that is a terminal.

Everything passes one redaction on its way out, whatever wrote it: events, what libraries say, and exceptions that nobody
caught. Nothing here raises; a log that cannot be written stops nobody.
"""

from __future__ import annotations

import logging
import sys
import threading
import traceback
from collections.abc import Callable, MutableMapping
from datetime import datetime
from enum import Enum
from types import TracebackType
from typing import Any, TextIO

import structlog

from gitops_mc.app.log_events import Crashed, Level, LibraryWarned, LogEvent, told
from gitops_mc.core.redact.credentials import without_credentials
from gitops_mc.core.render.lines import one_line

NOT_SHOWN = "[not shown: it could not be redacted]"
_PLACES = 20
"""Of a traceback, the innermost ones."""
_OUR_OWN = ("level", "event")
"""Words of the product's own, out of closed tables."""
_NUMBERS = {Level.DEBUG: 10, Level.INFO: 20, Level.WARNING: 30, Level.ERROR: 40}

_Fields = MutableMapping[str, Any]


class Form(Enum):
    """How lines look."""

    JSON = "json"
    TERMINAL = "terminal"


def form_for(stream: TextIO) -> Form:
    """JSON, unless a human sits before it."""
    return Form.TERMINAL if stream.isatty() else Form.JSON


class Log:
    """An `EventLog`. Safe to use from any thread; each event is one line, written at once."""

    def __init__(
        self,
        stream: TextIO,
        now: Callable[[], datetime],
        *,
        redact: Callable[[str], str] = lambda text: text,
        form: Form = Form.JSON,
        level: Level = Level.INFO,
    ) -> None:
        """`redact` takes the repository's secrets out of one string; it is asked anew for every value of every event."""
        self._redact = redact
        self._least = _NUMBERS[level]
        render = structlog.processors.JSONRenderer() if form is Form.JSON else _terminal(stream)
        self._out = structlog.wrap_logger(
            structlog.WriteLogger(stream),
            processors=[self._redacted, _led_by_time(now), render],
            wrapper_class=structlog.BoundLogger,
            context_class=dict,
        )

    def tell(self, event: LogEvent) -> None:
        """Write an event, if its level is asked for."""
        name, level, fields = told(event)
        if _NUMBERS[level] < self._least:
            return
        try:
            self._out.msg(name, level=level.value, **fields)
        except (OSError, ValueError):
            return  # stderr is closed or full: there is nobody to tell

    def crashed(self, where: str, error: BaseException) -> None:
        """An exception that nobody expected, with its places; never with the values of variables."""
        self.tell(crash_of(where, error))

    def _redacted(self, _logger: object, _method: str, fields: _Fields) -> _Fields:
        return {k: v if k in _OUR_OWN else self._of_value(v) for k, v in fields.items()}

    def _of_value(self, value: object) -> object:
        match value:
            case bool() | int() | float() | None:
                return value
            case str():
                return self._clean(value)
            case bytes():
                return self._clean(value.decode("utf-8", errors="backslashreplace"))
            case dict():
                return {self._clean(str(key)): self._of_value(inner) for key, inner in value.items()}
            case list() | tuple() | set() | frozenset():
                return [self._of_value(inner) for inner in value]
            case _:
                return self._clean(str(value))

    def _clean(self, text: str) -> str:
        try:
            return without_credentials(self._redact(text))
        except Exception:  # noqa: BLE001 - whatever went wrong, what is not redacted is not shown
            return NOT_SHOWN


def crash_of(where: str, error: BaseException) -> Crashed:
    """An exception as an event: type, message, causes, and places without the source's text."""
    chain: list[BaseException] = []
    step: BaseException | None = error
    while step is not None and step not in chain:
        chain.append(step)
        step = step.__cause__ or (None if step.__suppress_context__ else step.__context__)
    message = "; caused by ".join(f"{type(e).__name__}: {e}" for e in chain)
    places = [
        f"{frame.filename}:{frame.lineno} in {frame.name}"
        for e in reversed(chain)
        for frame in traceback.extract_tb(e.__traceback__)
    ]
    return Crashed(where=where, error=type(error).__name__, message=message, trace=tuple(places[-_PLACES:]))


def take_over(log: Log) -> None:
    """From now on libraries' warnings, and exceptions that end a thread or the process, go through the log alone."""

    class ToLog(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            log.tell(LibraryWarned(library=record.name, message=_message(record)))

    logging.captureWarnings(capture=True)
    logging.root.handlers[:] = [ToLog(level=logging.WARNING)]

    def ended(_kind: type[BaseException], error: BaseException, _trace: TracebackType | None) -> None:
        log.crashed("main", error)

    def thread_ended(args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None:
            log.crashed(args.thread.name if args.thread is not None else "a thread", args.exc_value)

    sys.excepthook = ended
    threading.excepthook = thread_ended


def _message(record: logging.LogRecord) -> str:
    try:
        said = record.getMessage()
    except (TypeError, ValueError):
        said = str(record.msg)
    error = record.exc_info[1] if record.exc_info else None
    return said if error is None else f"{said}: {type(error).__name__}: {error}"


def _led_by_time(now: Callable[[], datetime]) -> structlog.typing.Processor:
    """`time`, `level` and `event` lead every line."""

    def processor(_logger: object, _method: str, fields: _Fields) -> _Fields:
        leading = {
            "time": now().isoformat(timespec="milliseconds"),
            "level": fields["level"],
            "event": fields["event"],
        }
        return leading | {k: v for k, v in fields.items() if k not in leading}

    return processor


def _terminal(stream: TextIO) -> structlog.typing.Processor:
    shown = structlog.dev.ConsoleRenderer(colors=stream.isatty(), timestamp_key="time", sort_keys=False)

    def processor(logger: Any, method: str, fields: _Fields) -> str:
        """Control characters are spelled out: what a cluster says must not command the terminal."""
        return str(shown(logger, method, {k: _plain(v) for k, v in fields.items()}))

    return processor


def _plain(value: object) -> object:
    match value:
        case str():
            return one_line(value)
        case list():
            return one_line(", ".join(map(str, value)))
        case _:
            return value
