"""What was forecast against what happened: the whole engine on the sandbox, whose times no forecast has seen."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta

from gitops_mc.app.looks import Look, Pace
from gitops_mc.app.observe import Interest, NodeReading
from gitops_mc.core.forecast import Effort, FleetForecast, Spread, forecast
from gitops_mc.core.rollout.inputs import Acts, Observed
from gitops_mc.core.rollout.moves import Done, Halted, Hold, Standing
from tests.collecting import collect_rarely
from tests.scenarios.rollout_world import RolloutWorld
from tests.simulation.forecast_worlds import Scene, draw_scene

LOOKS = timedelta(seconds=15)
RESTING = timedelta(seconds=60)
"""Between looks while everything waits for its window: else most of the time goes by with nothing to see."""
HOURS = 80
"""Of the fleet's time, in which every rollout has to end."""
CALIBRATED = 0.90
"""At least so many rollouts have to end within the P95."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A span that was forecast, and what it came to, in seconds."""

    said: Spread
    actual: float

    @property
    def ratio(self) -> float:
        """Actual to P50."""
        return self.actual / max(1.0, self.said.p50.total_seconds())

    @property
    def width(self) -> float:
        """P95 to P50."""
        return self.said.p95.total_seconds() / max(1.0, self.said.p50.total_seconds())

    @property
    def within(self) -> bool:
        return self.actual <= self.said.p95.total_seconds()

    @property
    def below(self) -> bool:
        return self.actual < self.said.p05.total_seconds()


@dataclass(frozen=True, slots=True)
class Outcome:
    """One rollout: all of it, and each cluster that had something to do, by its end."""

    seed: int
    number: int
    """0: forecast from settings; 1: from what the one before it has taught."""
    whole: Compared
    clusters: tuple[Compared, ...]
    rests_on: tuple[str, ...]
    seconds: float
    """Of this machine's CPU."""


def play(seed: int) -> tuple[Outcome, ...]:
    """Both rollouts of a seed: the first is forecast from settings, the second from what the first has taught."""
    scene = draw_scene(seed)
    world = RolloutWorld(scene.spec, files=dict(scene.commits[0]), seed=seed, pace=Pace(every=LOOKS))
    _prepare(world, scene)
    return tuple(_played(world, scene, number) for number in range(len(scene.commits)))


def _prepare(world: RolloutWorld, scene: Scene) -> None:
    for cluster, number in scene.at_once.items():
        patch = {"spec": {"maxUnavailable": number}}
        world.fleet.person(cluster).edit("machineconfigpools", "worker", patch)
    for cluster, node in scene.labelled:
        world.fleet.person(cluster).label_node(node, **{"node-role.kubernetes.io/gpu": ""})
    world.clock.wait_for(120)


def foretold(world: RolloutWorld, acts: Acts, seed: int = 0) -> FleetForecast:
    """The forecast of a world as it stands, from one look at it and what is remembered."""
    executor = world.executor()
    memory = executor.memory()
    fleet = executor.with_past(world.git(), memory)
    live = executor.observe(fleet, Interest(nodes=NodeReading.ALWAYS))
    effort = Effort(looks=world.pace.every, seed=seed)
    return forecast(fleet, memory, Observed(live), world.clock.now(), acts, effort=effort)


def _played(world: RolloutWorld, scene: Scene, number: int) -> Outcome:
    begun = time.process_time()
    world.files.clear()
    world.files.update(scene.commits[number])
    acts, now = Acts(approved=frozenset(scene.at_once)), world.clock.now()
    said = foretold(world, acts)
    last = _rolled_out(world, acts)
    assert isinstance(last.decision.outlook, Done), (scene.seed, number, last.decision.outlook)
    assert said.takes is not None, (scene.seed, number, said.no_time)
    actual = (last.at - now).total_seconds()
    passed = {name: m.passed_at for name, m in last.memory.clusters.items()}
    return Outcome(
        scene.seed,
        number,
        Compared(said.takes, actual),
        tuple(
            Compared(c.end, (at - now).total_seconds())
            for c in said.clusters
            if c.works and c.end is not None and (at := passed[c.name]) is not None
        ),
        tuple(r.told for r in said.rests_on),
        time.process_time() - begun,
    )


def _rolled_out(world: RolloutWorld, acts: Acts) -> Look:
    """The last look of a rollout."""
    executor, end = world.executor(), world.clock.now() + timedelta(hours=HOURS)
    for look in executor.rollout(world.git(), acts):
        if isinstance(look.decision.outlook, Done | Hold | Halted) or look.at > end:
            return look
        on_the_way = [c for c in look.decision.clusters if c.standing in _ON_THE_WAY]
        rests = bool(on_the_way) and all(c.window is not None for c in on_the_way)
        executor.pace = Pace(every=RESTING if rests else LOOKS)
    raise AssertionError("the rollout ended by itself")


_ON_THE_WAY = (Standing.IN_FLIGHT, Standing.READY, Standing.NOT_KNOWN)


# ---------------------------------------------------------------------------------------------------------- in bulk


@dataclass
class Tally:
    """What many seeds came to."""

    outcomes: list[Outcome] = field(default_factory=list)
    took: float = 0

    def rollouts(self, number: int) -> list[Compared]:
        return [o.whole for o in self.outcomes if o.number == number]

    def clusters(self, number: int) -> list[Compared]:
        return [c for o in self.outcomes if o.number == number for c in o.clusters]

    def lines(self) -> Iterator[str]:
        """A table: how far off, how often within, and how wide."""
        yield (
            f"{'':34}{'actual / P50':^23}  {'within':>6}  {'below':>6}  {'P95/P50':>7}\n"
            f"{'':34}{'P10':>7} {'P50':>7} {'P90':>7}  {'P95':>6}  {'P05':>6}  {'median':>7}"
        )
        for number, basis in enumerate(("settings", "history")):
            yield _row(f"rollouts, from {basis}", self.rollouts(number))
            yield _row(f"clusters, from {basis}", self.clusters(number))
        seconds = sum(o.seconds for o in self.outcomes)
        yield f"{len({o.seed for o in self.outcomes})} seeds, {self.took:.0f} s, {seconds:.0f} s of CPU"


def share(found: Sequence[Compared], holds: Callable[[Compared], bool]) -> float:
    """Of how many of these something holds, from 0 to 1."""
    return sum(1 for each in found if holds(each)) / max(1, len(found))


def quantile(values: Iterable[float], at: float) -> float:
    ordered = sorted(values)
    return ordered[round(at * (len(ordered) - 1))]


def _row(name: str, found: Sequence[Compared]) -> str:
    ratios = [quantile((c.ratio for c in found), at) for at in (0.1, 0.5, 0.9)]
    told = " ".join(f"{ratio:7.2f}" for ratio in ratios)
    within, below = share(found, lambda c: c.within), share(found, lambda c: c.below)
    width = quantile((c.width for c in found), 0.5)
    return f"{f'{len(found)} {name}':34}{told}  {within:6.1%}  {below:6.1%}  {width:7.2f}"


def run(seeds: range, *, jobs: int) -> Tally:
    """Play seeds on several processes."""
    begun = time.monotonic()
    tally = Tally()
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=collect_rarely) as pool:
        for outcomes in pool.map(play, seeds):
            tally.outcomes += outcomes
    tally.took = time.monotonic() - begun
    return tally
