"""`gitops-mc render`: the desired objects exactly as they would be sent."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

import click

from gitops_mc.app.use_cases.repository import chosen, usable
from gitops_mc.bootstrap import open_repository
from gitops_mc.cli import options
from gitops_mc.cli.explaining import Explained
from gitops_mc.cli.terminal import Terminal
from gitops_mc.core.errors import EXIT_DONE, EXIT_PROBLEMS, UsageError
from gitops_mc.core.model import JsonObject, Severity, count
from gitops_mc.core.render.lines import Line, Tone
from gitops_mc.core.render.objects import desired_objects
from gitops_mc.core.render.problems import problems_text
from gitops_mc.core.render.yaml_text import yaml_documents


def _json_array(objects: Sequence[JsonObject]) -> str:
    return json.dumps(list(objects), indent=2, ensure_ascii=True, allow_nan=False) + "\n"


_WRITERS: Mapping[str, Callable[[Sequence[JsonObject]], str]] = {"yaml": yaml_documents, "json": _json_array}


@click.command("render", cls=Explained)
@options.REPO
@options.REVISION
@options.CLUSTERS
@options.output("yaml", "json")
@click.option(
    "--show-sensitive",
    is_flag=True,
    help="Print sensitive values as they are; only to a file or a pipe, never to a terminal.",
)
@click.pass_obj
def command(
    terminal: Terminal,
    repo: str,
    revision: str | None,
    clusters: tuple[str, ...],
    output: str,
    *,
    show_sensitive: bool,
) -> int:
    """Print the desired objects exactly as they would be sent to clusters that have none yet, ready for kubectl.

    Objects of machine kinds go to their cluster, ModuleInfos to global. Clusters with problems are left out (exit 4).
    Sensitive values are replaced, and that is said, unless --show-sensitive is given.
    """
    if show_sensitive and terminal.interactive:
        raise UsageError(
            "sensitive values are not shown on a terminal",
            hint="send the output to a file or a pipe, or leave --show-sensitive out",
        )
    state = usable(open_repository(repo, revision).read()[0])
    wanted = chosen(state, clusters)
    blocked = [cluster for cluster in wanted if cluster.blocked]
    objects = [o for c in wanted if not c.blocked for o in desired_objects(c, state.policy)]
    redactor = terminal.learn(state.sensitive, (m.body for c in state.clusters for m in c.manifests))
    shown = objects if show_sensitive else [redactor.hide(o) for o in objects]
    terminal.exact(_WRITERS[output](shown))
    hidden = sum(1 for real, seen in zip(objects, shown, strict=True) if real != seen)
    if hidden:
        told = f"sensitive values were replaced in {count(hidden, 'object')}: this is not what would be sent"
        terminal.say(Line(f"note: {told}; for that: --show-sensitive", Tone.WARN))
    for cluster in blocked:
        errors = [p for p in cluster.problems if p.severity is Severity.ERROR]
        terminal.say(*problems_text(errors), Line(f"cluster {cluster.name} is left out", Tone.BAD))
    return EXIT_PROBLEMS if blocked else EXIT_DONE
