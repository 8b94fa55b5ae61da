"""`gitops-mc plan`: what would be done to every cluster, and to every node, and in which order."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import click

from gitops_mc.app.use_cases.planning import ask_servers
from gitops_mc.cli.explaining import Explained
from gitops_mc.cli.looking import Asked, looks, show
from gitops_mc.cli.terminal import Terminal
from gitops_mc.core.render.plan_json import plan_json
from gitops_mc.core.render.plan_markdown import plan_markdown
from gitops_mc.core.render.plan_text import plan_text
from gitops_mc.core.rollout.preview import FleetPreview

_PRINTERS: Mapping[str, Callable[[Terminal, FleetPreview], None]] = {
    "text": lambda terminal, found: terminal.lines(plan_text(found)),
    "json": lambda terminal, found: terminal.json(plan_json(found)),
    "markdown": lambda terminal, found: terminal.exact(plan_markdown(found, terminal.redactor.redact)),
}


@click.command("plan", cls=Explained)
@looks(*_PRINTERS)
def command(terminal: Terminal, asked: Asked) -> int:
    """Show what would be done to each cluster, in order: steps and what each waits for, what happens to every node and
    by which rule, how long it takes, what is refused and the way out, and what needs a human. Nothing is written.

    What differs is asked of each server by dry run. The last line is the digest of the plan, for apply --plan-digest.
    Exit 1 when a cluster could not be read, 4 when one is blocked by problems.
    """
    return show(terminal, asked, ask_servers, lambda _, preview: _PRINTERS[asked.output](terminal, preview))
