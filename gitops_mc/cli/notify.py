"""`gitops-mc notify`: whether people are reached."""

from __future__ import annotations

import click

from gitops_mc.app.use_cases.notifying import tried, wanted
from gitops_mc.bootstrap.fleets import fleet_place, fleet_post, secrets_of
from gitops_mc.cli.explaining import ExplainedGroup
from gitops_mc.cli.fleets import FleetAsked, looked_at_fleet
from gitops_mc.cli.terminal import Terminal
from gitops_mc.core.errors import EXIT_DONE, EXIT_ERROR
from gitops_mc.core.render.lines import Line, Tone, one_line


@click.group("notify", cls=ExplainedGroup)
def command() -> None:
    """Find out whether the people that a Fleet tells are reached."""


@command.command("test", short_help="Send a message that says it is a test.")
@click.argument("destination", required=False)
@looked_at_fleet
@click.pass_obj
def test(terminal: Terminal, *, destination: str | None, fleet: FleetAsked) -> int:
    """Send a message that says it is a test to DESTINATION of spec.notifications, or to all of them. It is sent from this machine,
    with the addresses that the Fleet's Secrets hold: whether the controller may get out of its cluster is shown by
    .status.notifications of the Fleet.
    """
    code = EXIT_DONE
    with fleet_place(fleet.access(), fleet.namespace, fleet.name) as place:
        found = wanted(place, destination)
        for each in tried(place, found, secrets_of(place), fleet_post()):
            if not each.problem:
                terminal.lines([Line(one_line(f"{each.name}: sent"), Tone.GOOD)])
                continue
            code = EXIT_ERROR
            terminal.lines([Line(one_line(f"{each.name}: not sent: {each.problem}"), Tone.BAD)])
            if each.hint:
                terminal.say(Line(one_line(f"  {each.hint}"), Tone.DIM))
    return code
