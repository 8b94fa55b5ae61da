"""`status` and `why` with --fleet: what the controller shows in its objects on global."""

from __future__ import annotations

from datetime import datetime

from gitops_mc.app.use_cases.fleet_objects import memory_of
from gitops_mc.bootstrap.fleets import fleet_place, one_look, world_time
from gitops_mc.cli.fleets import FleetAsked
from gitops_mc.cli.terminal import Terminal
from gitops_mc.core.errors import EXIT_DONE, UsageError
from gitops_mc.core.model import JsonObject, Known
from gitops_mc.core.render.fleet_commands import FleetCommands
from gitops_mc.core.render.fleet_status import fleet_json, fleet_text
from gitops_mc.core.render.fleet_why import (
    fleet_why,
    fleet_why_json,
    fleet_why_text,
    no_such_cluster,
    with_pools,
)
from gitops_mc.core.rollout.acts import moment
from gitops_mc.core.why.gates import pools_now


def show_status(terminal: Terminal, fleet: FleetAsked, output: str) -> int:
    """How the Fleet stands."""
    told, commands = _looked(fleet)
    if output == "json":
        terminal.json(told)
    else:
        terminal.lines(fleet_text(told, _at(told), commands))
    return EXIT_DONE


def show_why(terminal: Terminal, fleet: FleetAsked, subject: str, output: str) -> int:
    """Why a cluster of it stands where it stands: what its objects say, and below that one look at its pools."""
    name, _, pool = subject.partition("/")
    access = fleet.access()
    with fleet_place(access, fleet.namespace, fleet.name) as place:
        body, rollouts = place.fleet(), place.rollouts()
        memory = memory_of(body, rollouts)
        told = fleet_json(body, rollouts, memory, moment(memory, world_time(access)))
        if name not in rollouts:
            message, hint = no_such_cluster(told, name)
            raise UsageError(message, hint=place.commands.said(hint))
        live = one_look(access, name)
    if pool and isinstance(live.pools, Known) and pool not in live.pools.value:
        known = ", ".join(live.pools.value) or "none"
        raise UsageError(f"cluster {name} has no pool {pool}", hint=f"there are: {known}")
    pools = pools_now(live, memory.cluster(name), pool)
    links = with_pools(fleet_why(told, name, _at(told), place.commands), pools, place.commands)
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
