"""Rollouts by hand of clusters that a controller drives: refused, or remarked."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gitops_mc.app.api import ClusterApi
from gitops_mc.app.use_cases.fleet_objects import governors
from gitops_mc.cli.terminal import Terminal
from gitops_mc.core.errors import GitopsMcError, RefusedError
from gitops_mc.core.render.fleet_commands import FleetCommands
from gitops_mc.core.render.fleet_governed import refusal, remark, rests_on_the_state_file
from gitops_mc.core.render.lines import Line, Tone, one_line
from gitops_mc.core.rollout.driver import Driver


def refuse_governed(api: ClusterApi, clusters: tuple[str, ...]) -> None:
    """Raises RefusedError where a Fleet that is not suspended governs one of them, and what the API raises: a Fleet that nobody
    could ask for may be there.
    """
    governed = _governed(api, clusters)
    if governed:
        message, hint = refusal(governed)
        raise RefusedError(message, hint=hint)


def driver_beside(terminal: Terminal, api: ClusterApi, clusters: tuple[str, ...], driver: Driver) -> Driver:
    """Who drives, where a state file alone would say `driver`: the controller of a Fleet, which is remarked."""
    return Driver.CONTROLLER if _remarked(terminal, api, clusters, rests_on_the_state_file) else driver


def remark_governed(terminal: Terminal, api: ClusterApi, clusters: tuple[str, ...]) -> bool:
    """Say beside a result that a Fleet governs some of them, and give whether one does; that nobody knows is said, too."""
    return _remarked(terminal, api, clusters, remark)


def _remarked(
    terminal: Terminal,
    api: ClusterApi,
    clusters: tuple[str, ...],
    told_of: Callable[[Mapping[str, FleetCommands]], str],
) -> bool:
    try:
        governed = _governed(api, clusters)
    except GitopsMcError as error:
        told = f"whether a controller drives these clusters is not known: {error.message}"
        terminal.say(Line(one_line(told), Tone.DIM))
        return False
    if governed:
        terminal.say(Line(one_line(told_of(governed)), Tone.WARN))
    return bool(governed)


def _governed(api: ClusterApi, clusters: tuple[str, ...]) -> dict[str, FleetCommands]:
    found = governors(api, clusters)
    return {name: governor.commands for name, governor in found.items() if not governor.suspended}
