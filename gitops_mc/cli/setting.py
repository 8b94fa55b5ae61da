"""`gitops-mc set`: one value changed in all the places where the repository has it."""

from __future__ import annotations

import click

from gitops_mc.app.use_cases.setting import set_module_version
from gitops_mc.app.use_cases.trial import Trial
from gitops_mc.bootstrap import work_folder
from gitops_mc.cli import options
from gitops_mc.cli.explaining import ExplainedGroup
from gitops_mc.cli.folders import existing
from gitops_mc.cli.terminal import Terminal
from gitops_mc.cli.writing import OUTPUT_ONLY, Writing, write_edits
from gitops_mc.core.errors import EXIT_DONE
from gitops_mc.core.render.setting import versions_text


@click.group("set", cls=ExplainedGroup)
def command() -> None:
    """Change a value in every place where the repository has it: one line of each file, and nothing else of it."""


@command.command("module-version", short_help="Change the version of a module.")
@click.argument("module", metavar="MODULE")
@click.argument("version", metavar="VERSION")
@options.REPO
@click.option(
    "--clusters",
    "globs",
    metavar="GLOB",
    multiple=True,
    help="Only clusters whose name matches; may be repeated. [default: all]",
)
@OUTPUT_ONLY
@click.pass_obj
def module_version(
    terminal: Terminal, *, module: str, version: str, repo: str, globs: tuple[str, ...], writing: Writing
) -> int:
    """Change the version of a module in clusters and shared sets. Of each file one line changes: comments, quotes and line
    ends stay. Where the version cannot be changed alone (an alias, a value over several lines) nothing is written at all.

    A shared set is changed only when all clusters that use it are asked for (exit 6 otherwise).
    """
    folder = work_folder(existing(repo))
    found = set_module_version(Trial.of(folder), module, version, globs)
    write_edits(folder, found.edits, writing)
    tense = "changed" if writing is Writing.FILES else "to change"
    terminal.lines(versions_text(found.places, found.standing, version, tense))
    return EXIT_DONE
