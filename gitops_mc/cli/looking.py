"""What plan and diff have in common: read Git, look at the clusters, and let nothing sensitive out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import click

from gitops_mc.app.use_cases.planning import Asking, Planned, Session, plan_fleet
from gitops_mc.app.use_cases.repository import Repository, chosen, usable
from gitops_mc.bootstrap import Access, look_at_memory, open_repository, session
from gitops_mc.cli import connecting, options
from gitops_mc.cli.fleets_governing import remark_governed
from gitops_mc.cli.terminal import Terminal
from gitops_mc.cli.watching import again_and_again
from gitops_mc.core.desired import DesiredState
from gitops_mc.core.errors import EXIT_CHANGES, EXIT_DONE, EXIT_ERROR, EXIT_PROBLEMS, EXIT_REFUSED
from gitops_mc.core.live import revealed
from gitops_mc.core.model import JsonObject
from gitops_mc.core.render.lines import Line, Tone, visible
from gitops_mc.core.rollout.inputs import Fleet
from gitops_mc.core.rollout.preview import FleetPreview


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line of `plan` and `diff` says."""

    repo: str
    revision: str | None
    clusters: tuple[str, ...]
    output: str
    exit_code: bool
    watch: bool
    state: Path | None
    access: Access


def looks(*formats: str) -> Callable[[Callable[[Terminal, Asked], int]], Callable[..., int]]:
    """The arguments and options of a command that looks at Git and the clusters; it gets the Terminal, and them as Asked."""
    given = (
        options.REPO,
        options.REVISION,
        options.CLUSTERS,
        options.output(*formats),
        options.EXIT_CODE,
        options.WATCH,
        connecting.STATE,
        connecting.connection,
        click.pass_obj,
    )

    def decorate(command: Callable[[Terminal, Asked], int]) -> Callable[..., int]:
        @wraps(command)
        def with_options(terminal: Terminal, **said: Any) -> int:
            return command(terminal, Asked(**said))

        decorated: Callable[..., int] = with_options
        for option in reversed(given):
            decorated = option(decorated)
        return decorated

    return decorate


def show(
    terminal: Terminal, asked: Asked, asking: Asking, printed: Callable[[DesiredState, FleetPreview], None]
) -> int:
    """Look and print, with what could not be read beside it, and give the exit code; again at every change if asked to."""
    repository = open_repository(asked.repo, asked.revision)

    def once() -> int:
        found, planned = _look(terminal, repository, asked, asking)
        printed(found, planned.preview)
        _tell_unread(terminal, planned.preview)
        return _code_of(planned.preview, asked)

    return again_and_again(terminal, asked.repo, asked.revision, once) if asked.watch else once()


def _look(
    terminal: Terminal, repository: Repository, asked: Asked, asking: Asking
) -> tuple[DesiredState, Planned]:
    """A plan of these clusters (of all when none is named). From here on the terminal knows every secret there is in it."""
    state, commit = repository.read()
    terminal.learn(state.sensitive, _desired_bodies(state))
    usable(state)
    wanted = frozenset(c.name for c in chosen(state, asked.clusters)) if asked.clusters else None
    fleet = Fleet(state.policy, state.clusters, commit)
    names = tuple(c.name for c in state.clusters)

    def learnt(connected: Session, found: FleetPreview) -> FleetPreview:
        """What was read is learnt before anything more is asked, and so before anything is said of it."""
        terminal.learn(state.sensitive, (*_desired_bodies(state), *revealed(c.live for c in found.clusters)))
        return asking(connected, found)

    store = look_at_memory(connecting.state_file(asked.state, asked.repo))
    with session(asked.access, names, store, repository) as connected:
        planned = plan_fleet(connected, fleet, wanted, learnt)
        remark_governed(terminal, connected.api, names if wanted is None else tuple(wanted))
        return state, planned


def _code_of(found: FleetPreview, asked: Asked) -> int:
    """Unknown clusters are an error, problems in the repository fail; pending changes and refusals only where the exit
    code is asked to tell them (`--exit-code`).
    """
    if any(c.unknown for c in found.clusters):
        return EXIT_ERROR
    if any(c.desired.blocked for c in found.clusters):
        return EXIT_PROBLEMS
    if asked.exit_code and any(c.refused for c in found.clusters):
        return EXIT_REFUSED
    return EXIT_CHANGES if asked.exit_code and any(c.changes for c in found.clusters) else EXIT_DONE


def _tell_unread(terminal: Terminal, found: FleetPreview) -> None:
    """Which clusters could not be read, beside the result."""
    unread = [c for c in found.clusters if c.unknown]
    terminal.say(
        *(Line(visible(f"error: {c.name} could not be read: {c.unknown}"), Tone.BAD) for c in unread)
    )


def _desired_bodies(state: DesiredState) -> Iterator[JsonObject]:
    for cluster in state.clusters:
        for manifest in cluster.manifests:
            yield manifest.body
