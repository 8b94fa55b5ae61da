"""`gitops-mc preview`: what merging a pull request comes to, before anybody does."""

from __future__ import annotations

from collections.abc import Iterator

import click

from gitops_mc.app.reading import ReadingCache
from gitops_mc.app.use_cases.previewing import preview_by_git, read_pull
from gitops_mc.bootstrap import open_pulls
from gitops_mc.cli import completion, options
from gitops_mc.cli.explaining import Explained
from gitops_mc.cli.terminal import Terminal
from gitops_mc.core.errors import EXIT_DONE, EXIT_ERROR, EXIT_PROBLEMS
from gitops_mc.core.preview.model import Preview, State
from gitops_mc.core.render.lines import Line, Tone, one_line

_TONES = {State.OK: Tone.GOOD, State.PROBLEMS: Tone.BAD, State.UNKNOWN: Tone.WARN}
_CODES = {State.OK: EXIT_DONE, State.PROBLEMS: EXIT_PROBLEMS, State.UNKNOWN: EXIT_ERROR}


@click.command("preview", cls=Explained)
@click.option("--base", metavar="REF", required=True, help="The branch that is merged into: origin/main.")
@click.option("--head", metavar="REF", default="HEAD", show_default=True, help="What is to be merged.")
@click.option(
    "--repo",
    "clone",
    metavar="REPO",
    default=".",
    show_default=True,
    shell_complete=completion.folders,
    help="The clone of the configuration repository; it is only read.",
)
@options.output("text")
@click.pass_obj
def command(terminal: Terminal, *, base: str, head: str, clone: str, output: str) -> int:  # noqa: ARG001
    """Show what merging head into base comes to: what becomes of every node and why, before anybody merges."""
    pull = read_pull(open_pulls(clone), base, head, ReadingCache())
    terminal.learn(pull.sensitive, pull.bodies())
    found = preview_by_git(pull, "no way to them was given")
    terminal.lines(_lines(found))
    return _CODES[found.verdict.state]


def _lines(found: Preview) -> Iterator[Line]:
    yield Line(one_line(found.verdict.line), _TONES[found.verdict.state])
    yield from (Line(one_line(f"  {reason}")) for reason in found.verdict.reasons)
    for cluster in found.changes.clusters:
        yield Line(one_line(f"{cluster.name}  {cluster.membership.value}, wave {cluster.wave}"), Tone.HEAD)
        for each in cluster.objects:
            yield Line(one_line(f"  {each.change.value} {each.key.kind.value} {each.key.name}"))
        for pool in cluster.pools:
            for cause in pool.disruption.causes:
                yield Line(one_line(f"  pool {pool.pool}: {cause}"))
