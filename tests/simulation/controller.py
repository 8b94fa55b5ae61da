"""One seed with two processes of the controller, played and judged."""

from __future__ import annotations

import time

from gitops_mc.core.custom.kept import cluster_memory, fleet_memory
from gitops_mc.core.rollout.memory import FleetMemory, without_clocks
from tests.scenarios.controller_simulation import ControllerSimulation, simulate
from tests.scenarios.controller_simulation_drawn import Plot, draw_plot
from tests.scenarios.invariants import BrokenError, Checks
from tests.simulation.one import Outcome

REST = 8
"""Passes of a fresh process that finds nothing to do."""


def play_controller_seed(seed: int) -> Outcome:
    """Play a seed and check every invariant. Never raises for what the controller does."""
    return play_plot(draw_plot(seed))


def play_plot(plot: Plot) -> Outcome:
    """The same for a plot."""
    begun, seed = time.process_time(), plot.script.seed
    try:
        simulation = simulate(plot)
    except AssertionError as error:  # one that was made smaller may have nothing left to begin with
        return Outcome(seed, "no world", f"{error}".partition("\n")[0], "")
    try:
        simulation.play()
        _nothing_is_wrong(simulation)
        Checks(simulation).everything()
        stands_as_remembered(simulation)
    except BrokenError as error:
        told, _, story = str(error).partition("\n")
        return Outcome(seed, error.invariant, told, story)
    except Exception as error:  # noqa: BLE001 - whatever it raises is what was looked for
        told = f"{type(error).__name__}: {error}".partition("\n")[0]
        return Outcome(seed, "crash", told, f"{simulation.story()}\n{error!r}")
    return Outcome(
        seed,
        "",
        "",
        "",
        commits=len(plot.script.pushes),
        rollouts=len(
            {
                (n, m.started, m.admitted_at)
                for look in simulation.looks
                for n, m in look.memory.clusters.items()
                if m.admitted_at is not None
            }
        ),
        looks=len(simulation.looks),
        calls=simulation.calls,
        hours=simulation.world.seconds() / 3600,
        seconds=time.process_time() - begun,
    )


def _nothing_is_wrong(simulation: ControllerSimulation) -> None:
    if simulation.wrongs:
        raise BrokenError(simulation.wrongs[0], simulation.story())


def stands_as_remembered(simulation: ControllerSimulation) -> None:
    """What the last process knew stands in the objects, and one that begins with them has nothing to write."""
    known = simulation.looks[-1].memory
    stored = stored_memory(simulation)
    if lost := _differing(without_clocks(stored), without_clocks(_as_stored(known, stored))):
        raise BrokenError(f"10: the objects do not hold what the process knew: {lost}", simulation.story())
    before = len(simulation.ours)
    simulation.rest(REST)
    again = [w for w in simulation.ours[before:] if known.cluster(w.cluster).out]
    if again:
        raise BrokenError(f"10: {again[0].write.name} was written again", simulation.story())
    _nothing_is_wrong(simulation)


def stored_memory(simulation: ControllerSimulation) -> FleetMemory:
    """The memory as a process reads it that begins now."""
    fleet = simulation.kube.fleet()
    clusters = {
        body["metadata"]["name"]: cluster_memory(body["spec"], body.get("status") or {})
        for body in simulation.bodies()
    }
    return fleet_memory(fleet["spec"], fleet.get("status") or {}, clusters)


def _differing(stored: FleetMemory, known: FleetMemory) -> str:
    """What stands in the objects, and what was known."""
    parts = [(n, getattr(stored, n), getattr(known, n)) for n in ("waves", "halt", "prune")]
    parts += [(n, stored.cluster(n), m) for n, m in known.clusters.items()]
    return "; ".join(f"{name}: {a!r} != {b!r}" for name, a, b in parts if a != b)


def _as_stored(known: FleetMemory, stored: FleetMemory) -> FleetMemory:
    """History is cut to what an object shows, and waves that nothing stands of are not shown."""
    return FleetMemory(
        version=known.version,
        clusters=known.clusters,
        waves=known.waves,
        halt=known.halt,
        prune=known.prune,
        clock=known.clock,
        acts=stored.acts,
    )


__all__ = ["play_controller_seed", "play_plot", "stands_as_remembered", "stored_memory"]
