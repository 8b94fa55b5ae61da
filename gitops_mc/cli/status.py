"""`gitops-mc status`: how the rollout stands, from the memory alone, or with a look at the clusters."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click

from gitops_mc.app.use_cases.repository import usable
from gitops_mc.app.use_cases.standing import stand
from gitops_mc.bootstrap import driver_of, look_at_memory, open_repository, session
from gitops_mc.cli import connecting, options
from gitops_mc.cli.connecting import Later
from gitops_mc.cli.explaining import Explained
from gitops_mc.cli.fleets import FleetAsked, looked_at
from gitops_mc.cli.fleets_governing import driver_beside
from gitops_mc.cli.fleets_shown import show_status
from gitops_mc.cli.learning import Learnt
from gitops_mc.cli.terminal import Terminal
from gitops_mc.core.errors import EXIT_DONE
from gitops_mc.core.render.lines import Line
from gitops_mc.core.render.status_json import Seen, status_json
from gitops_mc.core.render.status_text import status_text
from gitops_mc.core.rollout.acts import moment
from gitops_mc.core.rollout.inputs import Fleet
from gitops_mc.core.rollout.memory import FleetMemory, from_json


@click.command("status", cls=Explained)
@options.REPO
@options.REVISION
@options.output("text", "json")
@connecting.STATE
@looked_at
@click.pass_obj
def command(
    terminal: Terminal,
    *,
    repo: str,
    revision: str | None,
    output: str,
    state: Path | None,
    access: Later,
    fleet: FleetAsked | None,
) -> int:
    """Show how every wave and cluster stands: content, commit, steps, gates with their reasons, holds, approvals, soaks,
    excused nodes, accepted findings, and what humans did. Without a connection: from the memory alone. With one: the
    clusters are looked at, with the age of every fact. Nothing is written, and no running rollout is disturbed.

    With --fleet: what the controller shows and remembers in the Fleet's objects on global, and how old that is.
    """
    if fleet is not None:
        return show_status(terminal, fleet, output)
    file, way = connecting.state_file(state, repo), access.maybe()
    driver = driver_of(file)
    if way is None:
        kept = look_at_memory(file).load()
        memory = FleetMemory() if kept is None else from_json(kept)
        now, seen = moment(memory, datetime.now(UTC)), None
    else:
        repository = open_repository(repo, revision)
        found, commit = repository.read()
        learnt = Learnt(terminal, found)
        usable(found)
        wanted = Fleet(found.policy, found.clusters, commit)
        names = tuple(c.name for c in found.clusters)
        with session(way, names, look_at_memory(file), repository) as connected:
            standing = stand(connected, wanted)
            driver = driver_beside(terminal, connected.api, names, driver)
        learnt.look(standing.live)
        memory, now, seen = standing.memory, standing.at, Seen(standing.decision, standing.live)
    told = status_json(memory, now, seen, driver)
    if output == "json":
        terminal.json(told)
        return EXIT_DONE
    typed = connecting.typed(repo, state, revision)
    terminal.lines(Line(typed.command(line.text), line.tone) for line in status_text(told, now))
    return EXIT_DONE
