"""What the command line of `preview` says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gitops_mc.cli.connecting import Later
from gitops_mc.cli.fleets import FleetAsked
from gitops_mc.cli.terminal import Terminal


@dataclass(frozen=True, slots=True)
class Asked:
    """Two revisions, where they are, and how much is to be known."""

    base: str
    head: str
    clone: str
    output: str
    file: Path | None
    exit_code: bool
    offline: bool
    everywhere: bool
    state: Path | None
    access: Later
    fleet: FleetAsked | None


def redacting(terminal: Terminal) -> Callable[[str], str]:
    """Redacts with what the terminal knows when it is asked, not when this is."""

    def redact(text: str) -> str:
        return terminal.redactor.redact(text)

    return redact
