"""`gitops-mc plan`: what would be done to every cluster, and to every node, and in which order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import click

from gitops_mc.app.use_cases.planning import ask_servers
from gitops_mc.bootstrap import Access, open_repository
from gitops_mc.cli import connecting, options
from gitops_mc.cli.looking import code_of, look, tell_unread
from gitops_mc.cli.terminal import Terminal
from gitops_mc.cli.watching import again
from gitops_mc.core.render.plan_json import plan_json
from gitops_mc.core.render.plan_markdown import plan_markdown
from gitops_mc.core.render.plan_text import plan_text
from gitops_mc.core.rollout.preview import FleetPreview

_PRINTERS: Mapping[str, Callable[[Terminal, FleetPreview], None]] = {
    "text": lambda terminal, found: terminal.lines(plan_text(found)),
    "json": lambda terminal, found: terminal.json(plan_json(found)),
    "markdown": lambda terminal, found: terminal.exact(plan_markdown(found, terminal.redactor.redact)),
}


@click.command("plan", short_help="Show what would be done, and to which nodes.")
@options.REPO
@options.REVISION
@options.CLUSTERS
@options.output("text", "json", "markdown")
@options.EXIT_CODE
@options.WATCH
@connecting.STATE
@connecting.connection
@click.pass_obj
def command(
    terminal: Terminal,
    *,
    repo: str,
    revision: str | None,
    clusters: tuple[str, ...],
    output: str,
    state: Path | None,
    access: Access,
    exit_code: bool,
    watch: bool,
) -> int:
    """Show what would be done to each cluster, in order: steps and what each waits for, what happens to every node and
    by which rule, how long it takes, what is refused and the way out, and what needs a human. Nothing is written.

    What differs is asked of each server by dry run. The last line is the digest of the plan, for apply --plan-digest.
    Exit 1 when a cluster could not be read, 4 when one is blocked by problems.
    """
    repository = open_repository(repo, revision)

    def once() -> int:
        file = connecting.state_file(state, repo)
        _, planned = look(
            terminal, repository, clusters=clusters, access=access, state_file=file, asking=ask_servers
        )
        _PRINTERS[output](terminal, planned.preview)
        tell_unread(terminal, planned.preview)
        return code_of(planned.preview, told=exit_code)

    return again(terminal, repo, revision, watch=watch, once=once)
