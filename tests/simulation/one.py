"""One seed, played and judged."""

from __future__ import annotations

import time
from dataclasses import dataclass

from gitops_mc.core.rollout.memory import from_json, to_json
from tests.scenarios.drawn import Script, draw_script
from tests.scenarios.invariants import BrokenError, Checks
from tests.scenarios.simulation import Simulation


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a script, and how much it was."""

    seed: int
    broken: str
    """Number of the invariant that does not hold, `crash` for an exception, or empty."""
    told: str
    """The first line of what is wrong."""
    story: str
    """Everything that happened, where something is wrong."""
    commits: int = 0
    rollouts: int = 0
    """Contents that a cluster was admitted with."""
    looks: int = 0
    calls: int = 0
    """Requests that the engine has sent."""
    hours: float = 0
    """On the clock of the world."""
    seconds: float = 0
    """Of this machine's CPU."""


def play(script: Script) -> Outcome:
    """Play a script and check every invariant. Never raises for what the engine does."""
    begun = time.process_time()
    try:
        simulation = Simulation(script).play()
        Checks(simulation).everything()
        nothing_more_is_written(simulation)
    except BrokenError as error:
        told, _, story = str(error).partition("\n")
        return Outcome(script.seed, error.invariant, told, story)
    except Exception as error:  # noqa: BLE001 - whatever it raises is what was looked for
        return Outcome(
            script.seed, "crash", f"{type(error).__name__}: {error}".partition("\n")[0], str(error)
        )
    return Outcome(
        script.seed,
        "",
        "",
        "",
        commits=len(script.pushes),
        rollouts=_rollouts(simulation),
        looks=len(simulation.looks),
        calls=simulation.calls,
        hours=simulation.world.seconds() / 3600,
        seconds=time.process_time() - begun,
    )


def play_seed(seed: int) -> Outcome:
    return play(draw_script(seed))


def nothing_more_is_written(simulation: Simulation) -> None:
    """Another process, with the memory written and read once more, finds nothing to do in clusters that have passed."""
    memory = simulation.world.memory()
    if from_json(to_json(memory)) != memory:
        raise BrokenError("10: the memory does not come back as it was written", simulation.story())
    before = len(simulation.ours)
    simulation.rest(passes=8)
    again = [w for w in simulation.ours[before:] if memory.cluster(w.cluster).out]
    if again:
        raise BrokenError(f"10: {again[0].write.name} was written again", simulation.story())


def _rollouts(simulation: Simulation) -> int:
    seen = {
        (name, m.started, m.admitted_at)
        for look in simulation.looks
        for name, m in look.memory.clusters.items()
        if m.admitted_at is not None
    }
    return len(seen)
