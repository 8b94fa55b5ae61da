"""`gitops-mc diff`: Git against the live clusters."""

from __future__ import annotations

from pathlib import Path

import click

from gitops_mc.app.use_cases.planning import ask_nobody
from gitops_mc.bootstrap import Access, open_repository
from gitops_mc.cli import connecting, options
from gitops_mc.cli.looking import code_of, look, tell_unread
from gitops_mc.cli.terminal import Terminal
from gitops_mc.cli.watching import again
from gitops_mc.core.render.diff_json import diff_json
from gitops_mc.core.render.diff_text import diff_text
from gitops_mc.core.render.differences import differences


@click.command("diff", short_help="Show what differs between Git and the clusters.")
@options.REPO
@options.REVISION
@options.CLUSTERS
@options.output("text", "json")
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
    """Show what differs between Git and each live cluster: files decoded and line by line, units, drop-ins, policy
    entries, module configurations, kernel arguments; drift, orphans, and what is refused or newer on the cluster.

    Of what is marked sensitive only the size is shown. Exit 1 when a cluster could not be read, 4 when one is blocked
    by problems.
    """
    repository = open_repository(repo, revision)

    def once() -> int:
        file = connecting.state_file(state, repo)
        found, planned = look(
            terminal, repository, clusters=clusters, access=access, state_file=file, asking=ask_nobody
        )
        shown = [differences(cluster, found.policy) for cluster in planned.preview.clusters]
        if output == "json":
            terminal.json(diff_json(shown))
        else:
            terminal.lines(diff_text(shown))
        tell_unread(terminal, planned.preview)
        return code_of(planned.preview, told=exit_code)

    return again(terminal, repo, revision, watch=watch, once=once)
