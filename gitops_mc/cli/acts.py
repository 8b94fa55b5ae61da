"""What a human says to a rollout: to a state file, under its lock, or with --fleet to the controller of a Fleet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import click

from gitops_mc.app.use_cases.applying import act_on
from gitops_mc.app.use_cases.forgetting import unmark
from gitops_mc.app.use_cases.repository import Repository, chosen, usable
from gitops_mc.bootstrap import STATE_FILE, Access, open_memory, open_repository, session
from gitops_mc.cli import connecting, options
from gitops_mc.cli.asking import whoami
from gitops_mc.cli.completion import clusters
from gitops_mc.cli.connecting import Later
from gitops_mc.cli.explaining import Explained
from gitops_mc.cli.fleets import (
    FleetAsked,
    beside,
    maybe_fleet,
    maybe_fleet_or_connection,
    maybe_fleet_with_more,
    needs_reason,
    request,
    showing,
    wish,
)
from gitops_mc.cli.spans import span_of
from gitops_mc.cli.terminal import Terminal
from gitops_mc.core.custom.requests import Verb
from gitops_mc.core.errors import EXIT_DONE, GitopsMcError, UsageError
from gitops_mc.core.render.lines import Line, Tone, visible
from gitops_mc.core.rollout import acts
from gitops_mc.core.rollout.memory import FleetMemory

_STATE = click.option(
    "--state",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path(STATE_FILE),
    show_default=True,
    metavar="FILE",
    help="Where the rollout is remembered; apply REPO keeps it in the folder REPO.",
)
_CLUSTER = click.option(
    "--cluster", metavar="CLUSTER", required=True, shell_complete=clusters, help="The cluster of the node."
)
_UNDO = click.option("--undo", is_flag=True, help="Take it back.")


def _act(terminal: Terminal, file: Path, act: Callable[[FleetMemory, datetime], acts.ActResult]) -> int:
    with open_memory(file) as store:
        if not file.exists():
            raise GitopsMcError(
                f"nothing is remembered yet in {file}, so there is nothing to act on",
                hint=f"apply REPO keeps it in the folder REPO: --state REPO/{STATE_FILE}",
            )
        said = act_on(store, datetime.now(UTC), act)
    terminal.lines(Line(visible(sentence), Tone.GOOD) for sentence in said)
    return EXIT_DONE


def _ask(terminal: Terminal, fleet: FleetAsked, verb: Verb, cluster: str, reason: str, **members: str) -> int:
    """Of the controller, on the object of a cluster, or on the Fleet's where none is named."""
    wishes = (wish(verb, reason, cluster, members), *beside(fleet, reason, cluster))
    return request(terminal, fleet, lambda _: wishes)


def _by(at: datetime, reason: str) -> acts.By:
    return acts.By(whoami(), at, reason)


@dataclass(frozen=True, slots=True)
class _OneOrAll:
    """An act on one cluster, or on all that it is for."""

    verb: Verb
    one: Callable[[FleetMemory, str, acts.By], acts.ActResult]
    every: Callable[[FleetMemory, acts.By], acts.ActResult]
    meant: str
    """Which clusters it is for."""


_RELEASE = _OneOrAll(Verb.RELEASE, acts.release, acts.release_all, "that are held")
_ROLLBACK = _OneOrAll(Verb.ROLLBACK, acts.rollback, acts.rollback_all, "that failed")


def _one_or_all(
    terminal: Terminal,
    act: _OneOrAll,
    *,
    cluster: str | None,
    everything: bool,
    reason: str,
    state: Path,
    fleet: FleetAsked | None,
) -> int:
    if (cluster is None) == (not everything):
        verb = act.verb.value
        raise UsageError(
            "one cluster has to be named, or all of them",
            hint=f"gitops-mc {verb} CLUSTER, or gitops-mc {verb} --all; gitops-mc status names those {act.meant}",
        )
    if fleet is not None:
        return _ask(terminal, fleet, act.verb, cluster or "", reason)
    if cluster is None:
        return _act(terminal, state, lambda memory, at: act.every(memory, _by(at, reason)))
    return _act(terminal, state, lambda memory, at: act.one(memory, cluster, _by(at, reason)))


@click.command("release", cls=Explained)
@options.MAYBE_CLUSTER
@click.option("--all", "everything", is_flag=True, help="Every cluster that is held.")
@options.REASON
@_STATE
@maybe_fleet_with_more
@click.pass_obj
def release(
    terminal: Terminal,
    *,
    cluster: str | None,
    everything: bool,
    reason: str,
    state: Path,
    fleet: FleetAsked | None,
) -> int:
    """Lift the hold of a cluster's failure, and the halt when no other cluster is left in it. The clocks of what failed begin
    anew; the next apply (the controller: by itself) tries the same content again. With --fleet also the hold of `hold`.
    """
    return _one_or_all(
        terminal, _RELEASE, cluster=cluster, everything=everything, reason=reason, state=state, fleet=fleet
    )


@click.command("retry", cls=Explained)
@options.CLUSTER
@options.REASON
@_STATE
@maybe_fleet_with_more
@click.pass_obj
def retry(terminal: Terminal, *, cluster: str, reason: str, state: Path, fleet: FleetAsked | None) -> int:
    """Have one cluster try once more what failed there, be it that it was rolled back from it. The clocks of what failed begin
    anew, and what is left to write is written through the halt. The halt itself stays: no other cluster begins anything until
    this one has passed.
    """
    if fleet is not None:
        return _ask(terminal, fleet, Verb.RETRY, cluster, reason)
    return _act(terminal, state, lambda memory, at: acts.retry(memory, cluster, _by(at, reason)))


@click.command("rollback", cls=Explained)
@options.MAYBE_CLUSTER
@click.option("--all", "everything", is_flag=True, help="Every cluster that can go back.")
@options.REASON
@_STATE
@maybe_fleet_with_more
@click.pass_obj
def rollback(
    terminal: Terminal,
    *,
    cluster: str | None,
    everything: bool,
    reason: str,
    state: Path,
    fleet: FleetAsked | None,
) -> int:
    """Have a cluster go back to the content it passed last, after its pools failed with newer content. The next apply carries
    it out, by the same steps and gates, and touches no module. What failed is held there until newer content changes it, or
    somebody says retry or release; the halt stays.
    """
    return _one_or_all(
        terminal, _ROLLBACK, cluster=cluster, everything=everything, reason=reason, state=state, fleet=fleet
    )


@click.command("forget", cls=Explained)
@options.CLUSTER
@options.REPO
@options.REVISION
@options.REASON
@connecting.STATE
@maybe_fleet_or_connection
@click.pass_obj
def forget(
    terminal: Terminal,
    *,
    cluster: str,
    repo: str,
    revision: str | None,
    reason: str,
    state: Path | None,
    access: Later,
    fleet: FleetAsked | None,
) -> int:
    """Drop all that is remembered of a cluster, and with a connection take our label and annotation off what we wrote there.
    Nothing is ever deleted. A cluster whose folder has left Git is shown no more; one that is still in Git is met as for the
    first time. Without a connection only the memory is dropped.
    """
    if fleet is not None:
        return _ask(terminal, fleet, Verb.FORGET, cluster, reason)
    file = connecting.state_file(state, repo)
    if (way := access.maybe()) is not None:
        _unmark(terminal, file, cluster, way, open_repository(repo, revision))
    return _act(terminal, file, lambda memory, at: acts.forget(memory, cluster, _by(at, reason)))


def _unmark(terminal: Terminal, file: Path, cluster: str, access: Access, repository: Repository) -> None:
    found = usable(repository.read()[0])
    with open_memory(file) as store, session(access, (cluster,), store, repository) as connected:
        said = unmark(connected, connected.executor.memory(), cluster, found.policy.name)
    terminal.lines(Line(visible(sentence), Tone.GOOD) for sentence in said)


@click.command("skip", cls=Explained)
@options.CLUSTER
@options.REPO
@options.REVISION
@_UNDO
@options.REASON
@connecting.STATE
@maybe_fleet
@click.pass_obj
def skip(
    terminal: Terminal,
    *,
    cluster: str,
    repo: str,
    revision: str | None,
    undo: bool,
    reason: str,
    state: Path | None,
    fleet: FleetAsked | None,
) -> int:
    """Leave a cluster out for the content that the repository has for it now; newer content takes it in again. Waves no
    longer wait for it. What it has begun stays as it is.
    """
    if fleet is not None and undo:
        return _ask(terminal, fleet, Verb.UNSKIP, cluster, reason)
    if fleet is not None:
        needs_reason("skip", reason)
        return _ask(terminal, fleet, Verb.SKIP, cluster, reason)
    file = connecting.state_file(state, repo)
    if undo:
        return _act(terminal, file, lambda memory, at: acts.unskip(memory, cluster, _by(at, reason)))
    found = usable(open_repository(repo, revision).read()[0])
    (wanted,) = chosen(found, (cluster,))
    return _act(
        terminal, file, lambda memory, at: acts.skip(memory, cluster, wanted.content, _by(at, reason))
    )


@click.command("excuse", cls=Explained)
@click.argument("node")
@_CLUSTER
@click.option("--for", "span", metavar="TIME", default="", help="For how long: 90m, 24h, 3d.")
@_UNDO
@options.REASON
@_STATE
@maybe_fleet
@click.pass_obj
def excuse(
    terminal: Terminal,
    *,
    node: str,
    cluster: str,
    span: str,
    undo: bool,
    reason: str,
    state: Path,
    fleet: FleetAsked | None,
) -> int:
    """Leave a node out of its pool's gate until a time: the gate then looks at every other node by itself. It needs a reason
    and an end. The node still uses up maxUnavailable while it is away.
    """
    if undo and fleet is not None:
        return _ask(terminal, fleet, Verb.UNEXCUSE, cluster, reason, node=node)
    if undo:
        return _act(terminal, state, lambda memory, at: acts.unexcuse(memory, cluster, node, _by(at, reason)))
    if not reason or not span:
        raise UsageError(
            "an excuse needs a reason and an end", hint='--reason "disk is being replaced" --for 24h'
        )
    lasting = span_of(span)
    if fleet is not None:
        return _ask(terminal, fleet, Verb.EXCUSE, cluster, reason, **{"node": node, "for": span})
    return _act(
        terminal,
        state,
        lambda memory, at: acts.excuse(memory, cluster, node, at + lasting, _by(at, reason)),
    )


@click.command("accept", cls=Explained)
@click.argument("finding", metavar="FINDING")
@click.option(
    "--cluster", metavar="CLUSTER", shell_complete=clusters, help="The cluster that shows it, if several do."
)
@options.REASON
@_STATE
@maybe_fleet
@click.pass_obj
def accept(
    terminal: Terminal,
    *,
    finding: str,
    cluster: str | None,
    reason: str,
    state: Path,
    fleet: FleetAsked | None,
) -> int:
    """Accept a finding by its id, which status and why show. That of a pool's gate: its rendered config differs from the
    merge of its configs in just this way. `drift:KIND/NAME`: Git's side wins over what was changed by hand in an object
    that gitops-mc has written, and the next apply writes it. The one holds until the cluster is given newer content, the other also ends once
    Git's side is back.
    """
    if fleet is not None:
        return request(
            terminal,
            fleet,
            lambda place: [wish(Verb.ACCEPT, reason, cluster or showing(place, finding), {"id": finding})],
        )
    return _act(terminal, state, lambda memory, at: acts.accept(memory, finding, cluster, _by(at, reason)))
