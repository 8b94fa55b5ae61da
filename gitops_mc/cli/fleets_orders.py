"""What only the controller of a Fleet can be asked for: approvals, holds, suspending, aborting, taking over; and its history."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click

from gitops_mc.app.use_cases.fleet_objects import FleetPlace
from gitops_mc.app.use_cases.fleet_orders import awaited, history_of, take_over
from gitops_mc.app.use_cases.installation import identity_of
from gitops_mc.bootstrap.fleets import fleet_place, world_time
from gitops_mc.cli import options
from gitops_mc.cli.asking import at_the_terminal, confirmed
from gitops_mc.cli.completion import clusters
from gitops_mc.cli.explaining import Explained
from gitops_mc.cli.fleets import (
    LEASE,
    FleetAsked,
    beside,
    looked_at_fleet,
    needs_reason,
    of_fleet,
    of_fleet_with_more,
    request,
    wish,
)
from gitops_mc.cli.terminal import Terminal
from gitops_mc.core.custom.requests import Verb
from gitops_mc.core.custom.wishes import Wish
from gitops_mc.core.errors import EXIT_DONE, RefusedError, UsageError
from gitops_mc.core.model import JsonObject
from gitops_mc.core.render.fleet_status import history_lines
from gitops_mc.core.render.lines import Line, Tone, one_line
from gitops_mc.core.rollout.moves import Standing, WaveState


@click.command("approve", cls=Explained)
@click.argument("name", metavar="WAVE|CLUSTER", shell_complete=clusters)
@click.option(
    "--seen",
    default="",
    metavar="DIGEST",
    help="What was looked at, as status shows it; left out: what is shown now.",
)
@options.REASON
@of_fleet_with_more
@click.pass_obj
def approve(terminal: Terminal, *, name: str, seen: str, reason: str, fleet: FleetAsked) -> int:
    """Approve a wave for the contents that status shows, or the first contact with a cluster with the content that it shows. What
    Git has got meanwhile, and newer contents, need an approval of their own. Without a controller: gitops-mc apply --approve.
    """

    def wishes(place: FleetPlace) -> tuple[Wish, ...]:
        found = tuple(_approvals(place, fleet, name, seen, reason))
        terminal.lines([Line(told) for told in map(_as_seen, found) if told])
        return found

    return request(terminal, fleet, wishes)


def _approvals(place: FleetPlace, fleet: FleetAsked, name: str, seen: str, reason: str) -> Iterator[Wish]:
    """What of this name waits for an approval, as it is shown; where nothing does, whatever has this name. Raises UsageError."""
    status = place.fleet().get("status") or {}
    waves = {str(w.get("name")): w for w in status.get("waves") or ()}
    clusters = {n: b.get("status") or {} for n, b in place.rollouts().items()}
    if name not in waves and name not in clusters:
        raise UsageError(
            f"Fleet {place.title} has no wave and no cluster {name}",
            hint=f"waves: {', '.join(waves) or 'none yet'}; clusters: {', '.join(clusters) or 'none yet'}",
        )
    wave, cluster = waves.get(name, {}), clusters.get(name, {})
    wave_waits = wave.get("state") == WaveState.NEEDS_APPROVAL.value
    cluster_waits = cluster.get("standing") == Standing.APPROVAL.value
    nothing_waits = not (wave_waits or cluster_waits)
    if wave_waits or (nothing_waits and name in waves):
        yield wish(Verb.APPROVE, reason, members={"wave": name, **_seen(seen or wave.get("contents"))})
    if cluster_waits or (nothing_waits and name not in waves):
        yield wish(Verb.APPROVE, reason, name, _seen(seen or _first_content(cluster)))
    yield from beside(fleet, reason, name if name in clusters else "")


def _first_content(status: Mapping[str, Any]) -> str:
    """What a cluster that has never been given anything is shown with; of another one the content is what it stands at."""
    begun = (status.get("memory") or {}).get("started")
    return "" if begun else str(status.get("shortContent") or "")


def _seen(digest: str | None) -> dict[str, str]:
    """An older controller shows nothing to go by: then it is approved as it is when the controller looks."""
    return {"seen": digest} if digest else {}


def _as_seen(asked: Wish) -> str:
    """What is about to be approved; empty where nobody can say."""
    digest = asked.members.get("seen", "")
    if asked.verb is not Verb.APPROVE or not digest:
        return ""
    what = f"first contact with {asked.cluster}" if asked.cluster else f"wave {asked.members['wave']}"
    return one_line(f"{what}, as it was seen: {'content' if asked.cluster else 'contents'} {digest}")


@click.command("hold", cls=Explained)
@options.CLUSTER
@options.REASON
@of_fleet
@click.pass_obj
def hold(terminal: Terminal, *, cluster: str, reason: str, fleet: FleetAsked) -> int:
    """Have no step begin on a cluster until somebody releases it. A step that is begun is ended, and its wave waits for it."""
    needs_reason("hold", reason)
    return request(terminal, fleet, lambda _: [wish(Verb.HOLD, reason, cluster)])


@click.command("suspend", cls=Explained)
@options.REASON
@of_fleet
@click.pass_obj
def suspend(terminal: Terminal, *, reason: str, fleet: FleetAsked) -> int:
    """Have the controller write nothing for any cluster, until somebody resumes. Nodes that are on their way go on: abort stops
    them. While a Fleet is suspended, gitops-mc apply may write for its clusters.
    """
    needs_reason("suspend", reason)
    return request(terminal, fleet, lambda _: [wish(Verb.SUSPEND, reason)])


@click.command("resume", cls=Explained)
@options.REASON
@of_fleet
@click.pass_obj
def resume(terminal: Terminal, *, reason: str, fleet: FleetAsked) -> int:
    """End a suspension and an abort: it goes on where it was, and pools that the abort has paused run again."""
    return request(terminal, fleet, lambda _: [wish(Verb.RESUME, reason)])


@click.command("abort", cls=Explained)
@click.option("--let-finish", is_flag=True, help="Pause no pool: what rolls rolls to its end.")
@options.REASON
@of_fleet
@click.pass_obj
def abort(terminal: Terminal, *, let_finish: bool, reason: str, fleet: FleetAsked) -> int:
    """Begin nothing more, and pause the pools that are rolling because of us: stopping writes does not stop nodes. Only resume
    ends it.
    """
    needs_reason("abort", reason)
    members = {"letFinish": "true"} if let_finish else {}
    return request(terminal, fleet, lambda _: [wish(Verb.ABORT, reason, members=members)])


@click.command("sync", cls=Explained)
@options.MAYBE_CLUSTER
@options.REASON
@of_fleet_with_more
@click.pass_obj
def sync(terminal: Terminal, *, cluster: str | None, reason: str, fleet: FleetAsked) -> int:
    """Have the repository asked now, and not at the next poll. With --now and a cluster, newer content there does not wait for what
    rolls healthily; with --override-window, change windows and freezes do not count for the cluster, or for all where none is
    named.
    """
    wishes = (wish(Verb.SYNC, reason), *beside(fleet, reason, cluster or ""))
    if cluster and len(wishes) == 1:
        raise UsageError(
            "Git is asked for the whole fleet",
            hint=f"leave {cluster} out, or give --now or --override-window",
        )
    return request(terminal, fleet, lambda _: wishes)


@click.command("takeover", cls=Explained)
@click.option("--yes", is_flag=True, help="Do not ask.")
@options.REASON
@of_fleet
@click.pass_obj
def takeover(terminal: Terminal, *, yes: bool, reason: str, fleet: FleetAsked) -> int:
    """Let this installation act for a Fleet that is active on another one, after a disaster: its identity (ConfigMap
    gitops-mc-installation in cpaas-system) is written into spec.activeOn, and the Fleet is suspended. Look at it, then resume.

    The objects here are a copy: nothing tells the other side. Make sure that its controller is down for good.
    """
    needs_reason("takeover", reason)
    with fleet_place(fleet.access(), fleet.namespace, fleet.name) as place:
        terminal.lines(_takeover_told(place))
        if not yes and not at_the_terminal(terminal):
            raise UsageError("nobody is there to ask whether this is wanted", hint="--yes, if it is")
        if not yes and not confirmed("Take it over?"):
            raise RefusedError("not taken over")
        asked = wish(Verb.TAKEOVER, reason)
        here = take_over(place, asked)
        done = f"Fleet {place.title} is active on {here}, this installation, and suspended"
        terminal.lines([Line(done, Tone.GOOD)])
        if not awaited(place, asked, fleet.within, LEASE):
            terminal.say(Line("no controller of this installation has looked at it yet", Tone.WARN))
        commands = place.commands
        terminal.lines(
            [
                Line(f"    gitops-mc status {commands.options}  # look at what it would do"),
                Line(f"    gitops-mc resume {commands.options}  # then let it"),
            ]
        )
    return EXIT_DONE


def _takeover_told(place: FleetPlace) -> Iterator[Line]:
    spec = place.fleet().get("spec") or {}
    yield Line(f"Fleet {place.title}", Tone.HEAD)
    yield Line(f"    active on   {spec.get('activeOn') or 'no installation'}")
    yield Line(f"    here is     {identity_of(place.api) or 'not known: no controller has begun here'}")
    yield Line("    to be written: spec.activeOn names this installation, spec.suspend is true")
    yield Line(
        "    the other side is not told: its controller has to be down for good, or two act on the same clusters",
        Tone.WARN,
    )


@click.command("history", cls=Explained)
@options.MAYBE_CLUSTER
@options.output("text", "json")
@looked_at_fleet
@click.pass_obj
def history(terminal: Terminal, *, cluster: str | None, output: str, fleet: FleetAsked) -> int:
    """Show what people have asked of a Fleet's controller, and what it refused: who, what and why, the newest last; with a cluster,
    what names it. The last 60 are kept; what is older stands in the audit log of the API server.
    """
    access = fleet.access()
    with fleet_place(access, fleet.namespace, fleet.name) as place:
        if cluster is not None:
            place.rollout(cluster)
        acts = [act for act in history_of(place.fleet()) if cluster is None or _names(act, cluster)]
    if output == "json":
        terminal.json({"fleet": place.name, "namespace": place.namespace, "history": acts})
    else:
        terminal.lines(history_lines(acts, world_time(access)))
    return EXIT_DONE


def _names(act: JsonObject, cluster: str) -> bool:
    return cluster in str(act.get("what") or "").split()
