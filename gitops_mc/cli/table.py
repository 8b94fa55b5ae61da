"""The table of commands: what `--help` says of each without loading it, and where it is when it is typed."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from enum import Enum
from importlib import import_module

import click

from gitops_mc.cli.examples import EXAMPLES, told


class Section(Enum):
    """The headings of `gitops-mc --help`, in their order."""

    LOOK = "Look, and change nothing"
    AUTHOR = "Write the repository"
    ROLL = "Roll out, and decide about clusters (with --fleet: ask the controller)"
    STEER = "Steer the controller of a Fleet"
    RUN = "Run it, try it"


@dataclass(frozen=True, slots=True)
class Row:
    """A command of the command line."""

    section: Section
    name: str
    told: str
    """What it does, in one sentence; the command has no other `short_help`."""
    module: str
    attribute: str = "command"

    def load(self) -> click.Command:
        """The command itself, with what stands here and its examples."""
        found: click.Command = getattr(import_module(f"gitops_mc.cli.{self.module}"), self.attribute)
        found.short_help = self.told
        found.epilog = told(EXAMPLES.get(self.name, ())) or None
        return found


COMMANDS: tuple[Row, ...] = (
    Row(Section.LOOK, "validate", "Check the repository; all problems at once.", "validate"),
    Row(Section.LOOK, "render", "Print the desired objects as they would be sent.", "render"),
    Row(Section.LOOK, "diff", "Show what differs between Git and the clusters.", "diff"),
    Row(Section.LOOK, "plan", "Show what would be done, and to which nodes.", "plan"),
    Row(Section.LOOK, "preview", "Show what merging a pull request comes to, node by node.", "preview"),
    Row(Section.LOOK, "status", "Show how the rollout stands.", "status"),
    Row(Section.LOOK, "why", "Say why a cluster or pool is where it is, and what to do.", "why"),
    Row(Section.LOOK, "doctor", "Check the platform's prerequisites on every cluster.", "doctor"),
    Row(Section.AUTHOR, "import", "Write what a cluster has into the repository.", "importing"),
    Row(Section.AUTHOR, "new", "Begin a manifest, or a cluster.", "starting"),
    Row(Section.AUTHOR, "set", "Change a value across the repository.", "setting"),
    Row(Section.AUTHOR, "fmt", "Make the layout of manifests even.", "formatting"),
    Row(Section.ROLL, "apply", "Carry it out, wave by wave, gate by gate.", "apply"),
    Row(Section.ROLL, "release", "Lift the hold of a failure, and the halt.", "acts", "release"),
    Row(Section.ROLL, "retry", "Have a cluster try once more what failed there.", "acts", "retry"),
    Row(
        Section.ROLL,
        "rollback",
        "Have a cluster go back to what it passed before it failed.",
        "acts",
        "rollback",
    ),
    Row(Section.ROLL, "skip", "Leave a cluster out for the content it is at now.", "acts", "skip"),
    Row(Section.ROLL, "excuse", "Leave a node out of its pool's gate for a time.", "acts", "excuse"),
    Row(
        Section.ROLL,
        "accept",
        "Accept a gate's finding, or that Git wins over a drift.",
        "acts",
        "accept",
    ),
    Row(
        Section.ROLL,
        "forget",
        "Drop what is remembered of a cluster, and our marks on it.",
        "acts",
        "forget",
    ),
    Row(
        Section.STEER,
        "approve",
        "Let a wave open, or a first contact go on.",
        "fleets_orders",
        "approve",
    ),
    Row(
        Section.STEER,
        "hold",
        "Have no step begin on a cluster, until it is released.",
        "fleets_orders",
        "hold",
    ),
    Row(
        Section.STEER,
        "suspend",
        "Have the controller write nothing, until somebody resumes.",
        "fleets_orders",
        "suspend",
    ),
    Row(Section.STEER, "resume", "End a suspension, or an abort.", "fleets_orders", "resume"),
    Row(
        Section.STEER,
        "abort",
        "Begin nothing more, and pause the pools that we are rolling.",
        "fleets_orders",
        "abort",
    ),
    Row(
        Section.STEER,
        "sync",
        "Have Git asked now, for once without patience or windows.",
        "fleets_orders",
        "sync",
    ),
    Row(
        Section.STEER,
        "takeover",
        "Let this installation act for a Fleet of another one.",
        "fleets_orders",
        "takeover",
    ),
    Row(
        Section.STEER,
        "history",
        "Show what was asked of a Fleet, and what came of it.",
        "fleets_orders",
        "history",
    ),
    Row(Section.STEER, "notify", "Find out whether the people that a Fleet tells are reached.", "notify"),
    Row(Section.RUN, "controller", "Follow Git for good: what runs in the global cluster.", "controller"),
    Row(Section.RUN, "demo", "Show it all on an embedded fleet, in less than a minute.", "demo"),
    Row(Section.RUN, "sandbox", "A fleet on this machine, to try everything on.", "sandbox"),
    Row(Section.RUN, "completion", "Print what makes a shell complete commands and names.", "completion"),
)
"""One row a command, in the order in which `--help` shows them."""


def every_command() -> tuple[click.Command, ...]:
    """All of them, loaded."""
    return tuple(row.load() for row in COMMANDS)


class Commands(MutableMapping[str, click.Command]):
    """Commands by name, each loaded when it is asked for: a command pays for what it needs itself."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = {row.name: row for row in rows}
        self._loaded: dict[str, click.Command] = {}

    def __getitem__(self, name: str) -> click.Command:
        if name not in self._loaded:
            self._loaded[name] = self._rows[name].load()
        return self._loaded[name]

    def __setitem__(self, name: str, command: click.Command) -> None:
        self._loaded[name] = command

    def __delitem__(self, name: str) -> None:
        self._rows.pop(name, None)
        self._loaded.pop(name, None)

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*self._rows, *self._loaded)))

    def __len__(self) -> int:
        return len(self._rows.keys() | self._loaded.keys())
