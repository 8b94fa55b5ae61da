"""`gitops-mc preview`: what merging a pull request comes to, before anybody does."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from gitops_mc.app.reading import ReadingCache
from gitops_mc.app.use_cases.previewing import PullStates, preview_by_git, read_pull
from gitops_mc.bootstrap import open_pulls
from gitops_mc.cli import completion, connecting, options
from gitops_mc.cli.explaining import Explained
from gitops_mc.cli.fleets import looked_at
from gitops_mc.cli.preview_asked import Asked, redacting
from gitops_mc.cli.terminal import Terminal
from gitops_mc.core.errors import (
    EXIT_CHANGES,
    EXIT_DONE,
    EXIT_ERROR,
    EXIT_PROBLEMS,
    EXIT_REFUSED,
    GitopsMcError,
)
from gitops_mc.core.preview.model import Conflict, LivePreview, Preview, State
from gitops_mc.core.preview.verdict import errors_of
from gitops_mc.core.redact import Redactor
from gitops_mc.core.render.lines import Line, Tone, one_line, text_of

_TONES = {State.OK: Tone.GOOD, State.PROBLEMS: Tone.BAD, State.UNKNOWN: Tone.WARN}
_NO_WAY = "no way to them was given (--gateway or --kubeconfig)"
_OFFLINE = "Git alone was asked for (--only-offline)"


def _text(found: Preview, redactor: Redactor) -> str:
    from gitops_mc.core.render.preview.text import preview_text  # noqa: PLC0415 - only the format that is asked for

    return redactor.redact(text_of(preview_text(found, redactor)))


def _markdown(found: Preview, redactor: Redactor) -> str:
    from gitops_mc.core.render.preview.markdown import preview_markdown  # noqa: PLC0415 - as above

    return preview_markdown(found, redactor)


def _json(found: Preview, redactor: Redactor) -> str:
    from gitops_mc.core.render.preview.structure import preview_json  # noqa: PLC0415 - as above

    return json.dumps(preview_json(found, redactor), indent=2, ensure_ascii=False) + "\n"


def _html(found: Preview, redactor: Redactor) -> str:
    from gitops_mc.core.render.preview.page import preview_html  # noqa: PLC0415 - as above

    return preview_html(found, redactor)


WRITERS: Mapping[str, Callable[[Preview, Redactor], str]] = {
    "text": _text,
    "markdown": _markdown,
    "json": _json,
    "html": _html,
}


@click.command("preview", cls=Explained)
@click.option("--base", metavar="REF", required=True, help="What is merged into: origin/main.")
@click.option("--head", metavar="REF", default="HEAD", show_default=True, help="What is to be merged.")
@click.option(
    "--repo",
    "clone",
    metavar="REPO",
    default=".",
    show_default=True,
    shell_complete=completion.folders,
    help="The clone of the configuration repository, or its folder there; it is only read.",
)
@options.output(*WRITERS)
@click.option(
    "--output-file",
    "file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write it there, and print the verdict alone.",
)
@options.EXIT_CODE
@click.option(
    "--only-offline",
    "offline",
    is_flag=True,
    help="Ask no cluster, whatever the environment says: for pull requests of people you do not trust.",
)
@click.option(
    "--every-cluster",
    "everywhere",
    is_flag=True,
    help="Look at every cluster of the fleet, not only at those that are touched.",
)
@connecting.STATE
@looked_at
@click.pass_obj
def command(terminal: Terminal, /, **said: Any) -> int:
    """Show what merging head into base comes to, before anybody does: what becomes of which node and by which rule, what the pools
    then run, what is refused, how long it takes; beside it what the clusters differ by already, and what is rolling or held now.

    What the pull request changes is decided by Git alone (the merge base against head) and is the same wherever it is made. The rest
    needs a way to the clusters, a token that may only read will do; each cluster that is touched is looked at once. Without a way it
    is left out, and that is said. Nothing is written, nothing of the repository is run, and the work tree is not touched.

    Exit 1 when a cluster could not be read, 4 when there are problems or a conflict, 6 when something is refused.
    """
    asked = Asked(**said)
    pull = read_pull(open_pulls(asked.clone), asked.base, asked.head, ReadingCache())
    terminal.learn(pull.sensitive, pull.bodies())
    found = _preview(terminal, asked, pull)
    _show(terminal, asked, found)
    return code_of(found, exit_code=asked.exit_code)


def _preview(terminal: Terminal, asked: Asked, pull: PullStates) -> Preview:
    if asked.offline:
        return preview_by_git(pull, redacting(terminal), _OFFLINE)
    if asked.fleet is None and asked.access.maybe() is None:
        return preview_by_git(pull, redacting(terminal), _NO_WAY)
    from gitops_mc.cli.preview_live import preview_now  # noqa: PLC0415 - Git alone needs none of it

    return preview_now(terminal, asked, pull)


def code_of(found: Preview, *, exit_code: bool) -> int:
    """The exit code; pending changes only where it is asked to tell them."""
    match found.verdict.state:
        case State.PROBLEMS:
            blocked = errors_of(found.changes) or found.only_merged or found.changes.fleet_blocked
            return EXIT_PROBLEMS if blocked or isinstance(found.live, Conflict) else EXIT_REFUSED
        case State.UNKNOWN:
            return EXIT_ERROR
        case State.OK:
            return EXIT_CHANGES if exit_code and _changes(found) else EXIT_DONE


def _changes(found: Preview) -> bool:
    """Whether the pull request itself changes something; what base has, and a cluster has not, is no part of it."""
    touched = {cluster.name for cluster in found.changes.clusters if cluster.content_changes}
    if isinstance(found.live, LivePreview):
        return any(cluster.changes for cluster in found.live.outcome.clusters if cluster.name in touched)
    return bool(touched)


def _show(terminal: Terminal, asked: Asked, found: Preview) -> None:
    redactor = terminal.redactor
    if asked.file is not None:
        _write(asked.file, WRITERS[asked.output](found, redactor))
        terminal.lines([Line(one_line(found.verdict.line), _TONES[found.verdict.state])])
    elif asked.output == "text":
        from gitops_mc.core.render.preview.text import preview_text  # noqa: PLC0415 - as above

        terminal.lines(preview_text(found, redactor))
    else:
        terminal.exact(WRITERS[asked.output](found, redactor))


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise GitopsMcError(
            f"{file} cannot be written: {error.strerror}", hint="name a file in a folder that is there"
        ) from error
