"""What the command line of `preview` says."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gitops_mc.cli.connecting import Later
from gitops_mc.cli.fleets import FleetAsked


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
