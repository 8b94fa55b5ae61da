"""`gitops-mc fmt`: the layout of manifests made even."""

from __future__ import annotations

from enum import Enum

import click

from gitops_mc.app.use_cases.formatting import lay_out
from gitops_mc.app.use_cases.trial import Trial
from gitops_mc.bootstrap import work_folder
from gitops_mc.cli import options
from gitops_mc.cli.explaining import Explained
from gitops_mc.cli.folders import existing
from gitops_mc.cli.terminal import Terminal
from gitops_mc.core.errors import EXIT_CHANGES, EXIT_DONE
from gitops_mc.core.render.formatting import layouts_text, left_alone_text


class Checking(Enum):
    """What becomes of a file that looks otherwise than it should."""

    WRITE = "write"
    TELL = "tell"


@click.command("fmt", cls=Explained)
@options.REPO
@click.option(
    "--check",
    "checking",
    is_flag=True,
    callback=lambda _context, _parameter, only: Checking.TELL if only else Checking.WRITE,
    help="Write nothing; exit 5 when a file would change.",
)
@click.pass_obj
def command(terminal: Terminal, *, repo: str, checking: Checking) -> int:
    """Make the layout of manifests and of fleet.yaml even: two spaces a level, lists indented, single spaces, LF. Quotes, line
    breaks of texts, order and comments stay.

    What a file says stays, too: it is read again as kubectl reads it, and a file of which a value or a comment would change is
    left as it is, and told. So is one with errors; validate says which.
    """
    folder = work_folder(existing(repo))
    found = lay_out(Trial.of(folder))
    if checking is Checking.WRITE:
        folder.change(found.edits)
    tense = "laid out anew" if checking is Checking.WRITE else "to lay out anew"
    terminal.lines(layouts_text([edit.path for edit in found.edits], found.looked_at, tense))
    terminal.say(*left_alone_text([(path, uneven.reason) for path, uneven in found.left_alone]))
    return EXIT_CHANGES if found.edits and checking is Checking.TELL else EXIT_DONE
