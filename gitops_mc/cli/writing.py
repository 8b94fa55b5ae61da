"""What commands that write into the repository have in common: where, whether, and how it is told."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import assert_never

import click

from gitops_mc.app.authoring_ports import Edit, WorkFolder
from gitops_mc.cli.terminal import Terminal
from gitops_mc.core.authoring.drafts import NewFile
from gitops_mc.core.render.lines import Line, Tone, one_line, visible


class Writing(Enum):
    """Whether a command writes."""

    FILES = "files"
    OUTPUT = "output"
    """It only shows what it would write."""


OUTPUT_ONLY = click.option(
    "--output-only",
    "writing",
    is_flag=True,
    callback=lambda _context, _parameter, only: Writing.OUTPUT if only else Writing.FILES,
    help="Only show what would be written.",
)


def write_new(terminal: Terminal, folder: WorkFolder, files: Sequence[NewFile], writing: Writing) -> None:
    """Write them, or show the manifests among them. Raises SourceError where one cannot be written: then none is."""
    match writing:
        case Writing.FILES:
            folder.add(files)
        case Writing.OUTPUT:
            terminal.lines(_shown(files))
        case _:
            assert_never(writing)


def write_edits(folder: WorkFolder, edits: Sequence[Edit], writing: Writing) -> None:
    """Write them, unless they are only to be shown."""
    if writing is Writing.FILES:
        folder.change(edits)


def _shown(files: Sequence[NewFile]) -> Iterable[Line]:
    for file in files:
        yield Line(one_line(f"# {file.path}"), Tone.HEAD)
        if file.path.endswith(".yaml"):
            yield from (Line(visible(line)) for line in file.data.decode().splitlines())
        else:
            yield Line(f"# ({len(file.data)} bytes)", Tone.DIM)
