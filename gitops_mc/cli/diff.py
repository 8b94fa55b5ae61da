"""`gitops-mc diff`: Git against the live clusters."""

from __future__ import annotations

import click

from gitops_mc.app.use_cases.planning import ask_nobody
from gitops_mc.cli.explaining import Explained
from gitops_mc.cli.looking import Asked, looks, show
from gitops_mc.cli.terminal import Terminal
from gitops_mc.core.desired import DesiredState
from gitops_mc.core.render.diff_json import diff_json
from gitops_mc.core.render.diff_text import diff_text
from gitops_mc.core.render.differences import differences
from gitops_mc.core.rollout.preview import FleetPreview


@click.command("diff", cls=Explained)
@looks("text", "json")
def command(terminal: Terminal, asked: Asked) -> int:
    """Show what differs between Git and each live cluster: files decoded and line by line, units, drop-ins, policy
    entries, module configurations, kernel arguments; drift, orphans, and what is refused or newer on the cluster.

    Of what is marked sensitive only the size is shown. Exit 1 when a cluster could not be read, 4 when one is blocked
    by problems.
    """

    def printed(found: DesiredState, preview: FleetPreview) -> None:
        shown = [differences(cluster, found.policy) for cluster in preview.clusters]
        if asked.output == "json":
            terminal.json(diff_json(shown))
        else:
            terminal.lines(diff_text(shown))

    return show(terminal, asked, ask_nobody, printed)
