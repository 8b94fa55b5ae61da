"""Telling a rollout as it goes: a screen that is kept up to date, plain lines, or JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Protocol

from gitops_mc.cli.terminal import Terminal
from gitops_mc.core.render.events import Event
from gitops_mc.core.render.lines import Line
from gitops_mc.core.render.progress import Progress
from gitops_mc.core.render.screen import screen

if TYPE_CHECKING:
    from rich.live import Live

QUIET = timedelta(minutes=5)
"""After so long without news it is said what is waited for."""
_ROWS_LEFT = 4
"""Rows of the terminal that stay free, for the last line and the prompt."""


class Reporter(Protocol):
    """Where the events of a rollout go."""

    def event(self, event: Event) -> None: ...

    def state(self, progress: Progress) -> None:
        """How things stand now; called on every pass."""
        ...


@dataclass(frozen=True, slots=True)
class PlainLines:
    """What changed, line by line; for pipes and logs."""

    terminal: Terminal

    def event(self, event: Event) -> None:
        self.terminal.lines([event.line()])

    def state(self, progress: Progress) -> None:
        """Lines say only what has changed."""


@dataclass(frozen=True, slots=True)
class JsonLines:
    """One object a line."""

    terminal: Terminal

    def event(self, event: Event) -> None:
        told = self.terminal.redactor.redact_json(event.json())
        self.terminal.exact(json.dumps(told, ensure_ascii=False) + "\n")

    def state(self, progress: Progress) -> None:
        """Events say it all."""


@dataclass(slots=True)
class Screen:
    """Events scroll by above; below them the state is kept up to date."""

    terminal: Terminal
    live: Live
    _shown: tuple[Line, ...] = ()

    def event(self, event: Event) -> None:
        self.live.console.print(self.terminal.styled([event.line()]), soft_wrap=True)

    def state(self, progress: Progress) -> None:
        rows = max(1, self.live.console.size.height - _ROWS_LEFT)
        wanted = screen(progress, rows)
        if wanted != self._shown:
            self._shown = wanted
            width = self.live.console.size.width
            self.live.update(self.terminal.styled(wanted, width), refresh=True)


@contextmanager
def reporting(terminal: Terminal, output: str) -> Iterator[Reporter]:
    """The reporter that fits the output; a screen only where somebody looks."""
    if output == "json":
        yield JsonLines(terminal)
    elif not terminal.interactive or terminal.plain:
        yield PlainLines(terminal)
    else:
        from rich.console import Console  # noqa: PLC0415 - only where somebody looks
        from rich.live import Live  # noqa: PLC0415

        console = Console(file=terminal.out, highlight=False)
        with Live(console=console, auto_refresh=False, transient=True) as live:
            yield Screen(terminal, live)
