"""`python -m tests.simulation`: play seeds in bulk, replay one, shrink one, or look whether deliberate faults are found."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import nullcontext

import click

from tests.scenarios.controller_simulation import simulate as simulate_controller
from tests.scenarios.controller_simulation_drawn import Plot, draw_plot
from tests.scenarios.drawn import Script, draw_script
from tests.scenarios.simulation import Simulation
from tests.simulation import bulk, forecasting
from tests.simulation.controller import play_controller_seed, play_plot
from tests.simulation.mutants import FOUND, MISSED, MUTANTS
from tests.simulation.mutants.controller import CONTROLLER_MUTANTS
from tests.simulation.one import play, play_seed
from tests.simulation.shrinking import shrunk, shrunk_plot
from tests.simulation.trace import trace

PATIENCE = 400
"""Seeds after which a deliberate fault counts as not found."""


@click.group()
def simulate() -> None:
    """Whole rollouts over whole fleets on virtual time; one number decides everything."""


@simulate.command()
@click.option("--seeds", default=1000, show_default=True, help="How many.")
@click.option("--from", "first", default=0, show_default=True, help="The first one.")
@click.option("--jobs", default=os.cpu_count() or 1, show_default=True, help="Processes.")
@click.option("--minutes", default=1e6, help="Begin no more after that.")
@click.option(
    "--controller", is_flag=True, help="Two processes of the controller instead of the engine alone."
)
def many(seeds: int, first: int, jobs: int, minutes: float, controller: bool) -> None:  # noqa: FBT001 - click hands a flag over as a bool
    """Play many seeds; exit 1 if an invariant breaks."""
    play = play_controller_seed if controller else play_seed
    tally = bulk.run(range(first, first + seeds), jobs=jobs, minutes=minutes, tell=_tell, play=play)
    for line in tally.lines():
        click.echo(line)
    for outcome in tally.broken:
        click.echo(f"seed {outcome.seed}: {outcome.told}")
        if controller:
            click.echo(f"    python -m tests.simulation controlled {outcome.seed}; ... --shrink")
        else:
            click.echo(f"    python -m tests.simulation one {outcome.seed}; ... one {outcome.seed} --shrink")
    sys.exit(1 if tally.broken else 0)


def _tell(tally: bulk.Tally) -> None:
    rate = len(tally.outcomes) / tally.took
    broken = ", ".join(str(outcome.seed) for outcome in tally.broken)
    click.echo(f"{len(tally.outcomes)} seeds, {rate:.1f}/s, broken: {broken or 'none'}", err=True)


@simulate.command()
@click.argument("seed", type=int)
@click.option(
    "--shrink", is_flag=True, help="Take away what can be taken away while the same invariant breaks."
)
@click.option("--mutant", type=click.Choice(sorted(MUTANTS)), help="With this deliberate fault.")
def one(seed: int, shrink: bool, mutant: str | None) -> None:  # noqa: FBT001 - click hands a flag over as a bool
    """Play one seed and print everything that happened."""
    with nullcontext() if mutant is None else MUTANTS[mutant].on():
        script = draw_script(seed)
        outcome = play(script)
        if shrink and outcome.broken:
            script = _smallest(script, outcome.broken)
            outcome = play(script)
        for line in trace(Simulation(script).play()):
            click.echo(line)
    click.echo(f"\nseed {seed}: {outcome.told or 'every invariant holds'}")
    sys.exit(1 if outcome.broken else 0)


@simulate.command()
@click.argument("seed", type=int)
@click.option(
    "--shrink", is_flag=True, help="Take away what can be taken away while the same invariant breaks."
)
@click.option("--mutant", type=click.Choice(sorted(CONTROLLER_MUTANTS)), help="With this deliberate fault.")
def controlled(seed: int, shrink: bool, mutant: str | None) -> None:  # noqa: FBT001 - click hands a flag over as a bool
    """Play one seed with two processes of the controller and print everything that happened."""
    with nullcontext() if mutant is None else CONTROLLER_MUTANTS[mutant].on():
        plot = draw_plot(seed)
        outcome = play_plot(plot)
        if shrink and outcome.broken:
            wanted = outcome.broken
            plot = shrunk_plot(plot, lambda smaller: play_plot(smaller).broken == wanted)
            outcome = play_plot(plot)
        for line in _told(plot) if outcome.broken != "crash" else outcome.story.splitlines():
            click.echo(line)
    click.echo(f"\nseed {seed}: {outcome.told or 'every invariant holds'}")
    sys.exit(1 if outcome.broken else 0)


@simulate.command()
@click.option("--seeds", default=200, show_default=True, help="How many.")
@click.option("--from", "first", default=0, show_default=True, help="The first one.")
@click.option("--jobs", default=os.cpu_count() or 1, show_default=True, help="Processes.")
def forecast(seeds: int, first: int, jobs: int) -> None:
    """Forecast rollouts, play them, and print how far off that was; exit 1 if too few end within the P95."""
    tally = forecasting.run(range(first, first + seeds), jobs=jobs)
    for line in tally.lines():
        click.echo(line)
    shares = (forecasting.share(tally.rollouts(number), lambda c: c.within) for number in range(2))
    sys.exit(1 if min(shares) < forecasting.CALIBRATED else 0)


def _told(plot: Plot) -> Iterator[str]:
    simulation = simulate_controller(plot)
    yield from trace(simulation.play())
    yield from simulation.own_story()


def _smallest(script: Script, wanted: str) -> Script:
    """The smallest script that still breaks this invariant."""
    return shrunk(script, lambda smaller: play(smaller).broken == wanted)


@simulate.command()
@click.argument("names", nargs=-1)
@click.option("--patience", default=PATIENCE, show_default=True, help="Seeds to try with each.")
@click.option("--jobs", default=os.cpu_count() or 1, show_default=True, help="Processes.")
@click.option("--keep", is_flag=True, help="Write the seeds down for the test that plays them again.")
def mutants(names: tuple[str, ...], patience: int, jobs: int, keep: bool) -> None:  # noqa: FBT001 - click hands a flag over as a bool
    """Switch deliberate faults on in turn, and say which seed finds each first; exit 1 if one is not found."""
    found = {}
    for name in names or sorted(MUTANTS):
        found[name] = outcome = bulk.first_broken(name, patience, jobs)
        told = (
            "not found"
            if outcome is None
            else f"after {outcome.seed - MUTANTS[name].first + 1} seeds, {outcome.told}"
        )
        click.echo(f"{name:26} {told[:140]}")
    if keep:
        kept = {name: outcome.seed for name, outcome in found.items() if outcome is not None}
        before = json.loads(FOUND.read_text()) if names else {}
        FOUND.write_text(json.dumps(before | kept, indent=2, sort_keys=True) + "\n")
    sys.exit(1 if any(o is None and name not in MISSED for name, o in found.items()) else 0)


if __name__ == "__main__":
    simulate()
