"""`gitops-mc validate`: every problem of the repository at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import click

from gitops_mc.app.use_cases.repository import Repository
from gitops_mc.bootstrap import open_repository
from gitops_mc.cli import options
from gitops_mc.cli.explaining import Explained
from gitops_mc.cli.terminal import Terminal
from gitops_mc.cli.watching import again_and_again
from gitops_mc.core.desired import DesiredState
from gitops_mc.core.errors import EXIT_DONE, EXIT_PROBLEMS
from gitops_mc.core.render.lines import Line, Tone
from gitops_mc.core.render.problems import (
    problems_github,
    problems_gitlab,
    problems_json,
    problems_text,
    summary_of,
)


@click.command("validate", cls=Explained)
@options.REPO
@options.REVISION
@options.output("text", "json", "github", "gitlab")
@options.WATCH
@click.pass_obj
def command(terminal: Terminal, repo: str, revision: str | None, output: str, *, watch: bool) -> int:
    """Check the repository: all problems at once, with file, line and what to do. Warnings do not fail.

    The formats github and gitlab are annotations for CI: workflow commands, and a code quality report.
    """
    repository = open_repository(repo, revision)
    once = partial(_once, terminal, repository, repo, output)
    return again_and_again(terminal, repo, revision, once) if watch else once()


def _once(terminal: Terminal, repository: Repository, repo: str, output: str) -> int:
    state, _ = repository.read()
    terminal.learn(state.sensitive, (m.body for c in state.clusters for m in c.manifests))
    _PRINTERS[output](terminal, state, root_in_git(repo))
    return EXIT_PROBLEMS if summary_of(state).errors else EXIT_DONE


def _text(terminal: Terminal, state: DesiredState, _root: str) -> None:
    summary = summary_of(state)
    tone = Tone.BAD if summary.errors else Tone.WARN if summary.warnings else Tone.GOOD
    terminal.lines([*problems_text(state.problems), Line(str(summary), tone)])


def _json(terminal: Terminal, state: DesiredState, _root: str) -> None:
    terminal.json(problems_json(state.problems, summary_of(state)))


def _github(terminal: Terminal, state: DesiredState, root: str) -> None:
    terminal.lines([*problems_github(state.problems, root), Line(str(summary_of(state)))])


def _gitlab(terminal: Terminal, state: DesiredState, root: str) -> None:
    terminal.json(problems_gitlab(state.problems, root))


_PRINTERS: Mapping[str, Callable[[Terminal, DesiredState, str], None]] = {
    "text": _text,
    "json": _json,
    "github": _github,
    "gitlab": _gitlab,
}


def root_in_git(repo: str) -> str:
    """Where the configuration stands in its Git work tree, for annotations, which count from there; else empty."""
    folder = Path(repo).resolve()
    for above in (folder, *folder.parents):
        if (above / ".git").exists():
            below = folder.relative_to(above).as_posix()
            return "" if below == "." else below
    return ""
