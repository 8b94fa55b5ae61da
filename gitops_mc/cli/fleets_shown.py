"""`status` and `why` with --fleet: what the controller shows in its objects on global."""

from __future__ import annotations

from datetime import datetime

from gitops_mc.app.use_cases.fleet_objects import memory_of
from gitops_mc.bootstrap.fleets import fleet_place, world_time
from gitops_mc.cli.fleets import FleetAsked
from gitops_mc.cli.terminal import Terminal
from gitops_mc.core.errors import EXIT_DONE, UsageError
from gitops_mc.core.model import JsonObject
from gitops_mc.core.render.fleet_commands import FleetCommands
from gitops_mc.core.render.fleet_status import fleet_json, fleet_text
from gitops_mc.core.render.fleet_why import fleet_why, fleet_why_json, fleet_why_text, no_such_cluster
from gitops_mc.core.rollout.acts import moment


def show_status(terminal: Terminal, fleet: FleetAsked, output: str) -> int:
    """How the Fleet stands."""
    told, commands = _looked(fleet)
    if output == "json":
        terminal.json(told)
    else:
        terminal.lines(fleet_text(told, _at(told), commands))
    return EXIT_DONE


def show_why(terminal: Terminal, fleet: FleetAsked, subject: str, output: str) -> int:
    """Why a cluster of it stands where it stands."""
    name, _, pool = subject.partition("/")
    if pool:
        raise UsageError(
            "the controller's objects tell of clusters, not of single pools",
            hint=f"gitops-mc why {subject} REPO, with the repository and without --fleet, looks at the pool itself",
        )
    told, commands = _looked(fleet)
    names = [c["cluster"] for c in told["clusters"]]
    if name not in names:
        message, hint = no_such_cluster(told, name)
        raise UsageError(message, hint=commands.said(hint))
    links = fleet_why(told, name, _at(told), commands)
    if output == "json":
        terminal.json(fleet_why_json(told, name, links))
    else:
        terminal.lines(fleet_why_text(told, name, links))
    return EXIT_DONE


def _looked(fleet: FleetAsked) -> tuple[JsonObject, FleetCommands]:
    access = fleet.access()
    with fleet_place(access, fleet.namespace, fleet.name) as place:
        body, rollouts = place.fleet(), place.rollouts()
    memory = memory_of(body, rollouts)
    return fleet_json(body, rollouts, memory, moment(memory, world_time(access))), place.commands


def _at(told: JsonObject) -> datetime:
    return datetime.fromisoformat(told["at"])
