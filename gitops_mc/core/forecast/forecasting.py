"""The forecast: every cluster looked at by the engine's rules, then the fleet's rollout played again and again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from math import gcd
from typing import Final

from gitops_mc.core.forecast.courses import Course, Leg, Looks
from gitops_mc.core.forecast.model import FleetForecast
from gitops_mc.core.forecast.prospects import Prospect, prospect
from gitops_mc.core.forecast.running import Runner, Stage, play
from gitops_mc.core.forecast.starts import Starts, starts_of
from gitops_mc.core.forecast.telling import Played, Waves, told_of
from gitops_mc.core.forecast.timing import Tempo, tempo_of, track_of
from gitops_mc.core.live import LiveCluster
from gitops_mc.core.policy import Approval
from gitops_mc.core.rollout.case import Assessment
from gitops_mc.core.rollout.desk import Desk
from gitops_mc.core.rollout.fault import fleet_fault
from gitops_mc.core.rollout.fleet import prune_limits, without_wave
from gitops_mc.core.rollout.halting import budget_of, with_halt
from gitops_mc.core.rollout.inputs import NO_ACTS, Acts, Fleet, Observed, Pass
from gitops_mc.core.rollout.memory import FleetMemory, WaveMemory
from gitops_mc.core.rollout.moves import Standing, WaveState
from gitops_mc.core.rollout.waves import (
    Budget,
    Line,
    has_work,
    lines,
    look,
    remembered,
    starts_alone,
    too_many_away,
)
from gitops_mc.core.rollout.windows import Rule

SAMPLES: Final = 200
"""Of which the tenth longest is the P95."""
LOOKS: Final = timedelta(seconds=2)
"""Between two passes of `apply` and of the controller."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How the forecast is made: the same effort gives the same forecast, byte for byte."""

    samples: int = SAMPLES
    seed: int = 0
    looks: timedelta = LOOKS


EFFORT: Final = Effort()


def forecast(
    fleet: Fleet,
    memory: FleetMemory,
    observed: Observed,
    now: datetime,
    acts: Acts = NO_ACTS,
    *,
    effort: Effort = EFFORT,
) -> FleetForecast:
    """How long the rollout of what Git says takes from `now` on, when nothing fails.

    The arguments are those of a pass (`next_moves`), earlier contents of clusters in flight included; nodes should have been
    read (without, only their number is known). `acts` are orders that stand, and approvals that are given.
    """
    on = Pass(fleet, observed, now, acts, fleet_fault(fleet, observed))
    memory = prune_limits(memory, fleet)
    looks = Looks(effort.looks.total_seconds(), fleet.policy.gates)
    ahead = {c.name: prospect(c, on, memory, looks) for c in fleet.clusters}
    ahead = _permitted(ahead, on, memory)
    history = {name: m.paces for name, m in sorted(memory.clusters.items()) if m.paces}
    courses = [c for p in ahead.values() if (c := _whole(p)) is not None]
    tempo = tempo_of(courses, history, looks, effort.samples, effort.seed)
    runners = _runners(ahead, tempo, on)
    waves = _waves(on, memory, ahead, runners)
    play(waves.stages, len(waves.kept), tempo, looks.every)
    return told_of(Played(on, ahead, runners, waves, tempo, effort.seed))


def _permitted(ahead: Mapping[str, Prospect], on: Pass, memory: FleetMemory) -> dict[str, Prospect]:
    """Without those that the fleet keeps from beginning: a halt, no wave, not among those that were asked for."""
    found = {name: p.found for name, p in ahead.items()}
    homeless = without_wave(on.fleet, found)
    halt = with_halt(memory, found, budget_of(on.fleet, found, memory), on).halt
    result = {}
    for name, p in ahead.items():
        told = ""
        if homeless[name] is not p.found:
            told = homeless[name].reason
        elif on.acts.only is not None and name not in on.acts.only:
            told = "it is not among the clusters that were asked for"
        elif halt is not None and not _goes_through_a_halt(p):
            told = f"halted: {halt.reason}"
        result[name] = replace(p, course=None, in_flight=False, no_time=told) if told and p.course else p
    return result


def _goes_through_a_halt(p: Prospect) -> bool:
    a = p.found
    return a.memory.repairing or a.memory.retrying or (a.admission is not None and a.admission.repair)


def _whole(p: Prospect) -> Course | None:
    """Everything of a cluster that is drawn."""
    return None if p.course is None else replace(p.course, legs=(*p.before, *p.course.legs))


def _runners(ahead: Mapping[str, Prospect], tempo: Tempo, on: Pass) -> dict[str, Runner]:
    calendars: dict[tuple[tuple[Rule, ...], timedelta], Starts | None] = {}

    def starts(p: Prospect) -> dict[Leg, Starts | None]:
        found = {}
        for leg in () if p.course is None else p.course.all_legs:
            if leg.length is not None:
                key = p.rules, leg.length.span or timedelta(0)
                if key not in calendars:
                    calendars[key] = starts_of(*key, on.now)
                found[leg] = calendars[key]
        return found

    coprime = [n for n in range(1, tempo.samples) if gcd(n, tempo.samples) == 1] or [1]
    runners = {}
    for number, (name, p) in enumerate(ahead.items()):
        if p.course is None:
            continue
        own = coprime[(number * 7 + 3) % len(coprime)], (number * 37) % tempo.samples
        before = track_of(Course(p.before), name, tempo, {}) if p.before else None
        runners[name] = Runner(
            name,
            track_of(p.course, name, tempo, starts(p)),
            own,
            settled=p.ready,
            before=before,
            in_flight=p.in_flight,
            alone=starts_alone(name),
        )
    return runners


# ----------------------------------------------------------------------------------------------------------- waves


def _waves(
    on: Pass, memory: FleetMemory, ahead: Mapping[str, Prospect], runners: Mapping[str, Runner]
) -> Waves:
    """By the same functions that decide it on a pass: of where clusters stand now, and in the end."""
    found = {name: p.found for name, p in ahead.items()}
    final = {n: _passed(a) if n in runners else _left(a, on.observed.live.get(n)) for n, a in found.items()}
    budget = budget_of(on.fleet, final, memory)
    desk = Desk(on, memory, found, budget)
    clusters = {c.name: c for c in on.fleet.clusters}
    stages: list[Stage] = []
    why: dict[str, str] = {}
    closed = ""
    for line in lines(on.fleet.policy, on.fleet.clusters)[0]:
        said = remembered(line, clusters, memory.waves.get(line.wave.name))
        if not closed and stages and budget.too_many_unreachable and has_work(line, found):
            closed = too_many_away(budget)
        never = closed or _never_done(line, final, budget, on)
        stage = _stage(line, said, on, found)
        stage.runners = tuple(runners[n] for n in line.members if n in runners)
        stage.no_sooner = _unreachable_from(line, on, memory, found, runners)
        stage.opens, stage.never = not closed, bool(never)
        stages.append(stage)
        if never:
            why[line.wave.name] = never
            closed = closed or f"wave {line.wave.name} is not done: {never}"
    kept = tuple(n for n, a in found.items() if n not in runners and desk.holds_place(a))
    return Waves(tuple(stages), kept, why)


def _passed(a: Assessment) -> Assessment:
    """Where a cluster stands that has got through."""
    return replace(a, standing=Standing.PASSED)


def _left(a: Assessment, live: LiveCluster | None) -> Assessment:
    """Where one stands that has not, when nobody does anything: what does not answer is unreachable after a while."""
    if a.standing is not Standing.NOT_KNOWN or live is None or live.dark is None:
        return a
    return replace(a, standing=Standing.UNREACHABLE)


def _never_done(line: Line, final: Mapping[str, Assessment], budget: Budget, on: Pass) -> str:
    """Why a wave is not done when all have got through that can; empty: it is."""
    view, _ = look(line, final, WaveMemory("", soaked=True), budget, on.now, closed="", read_at={})
    return "" if view.state in {WaveState.DONE, WaveState.SOAKING} else view.reason


def _stage(line: Line, said: WaveMemory, on: Pass, found: Mapping[str, Assessment]) -> Stage:
    asks = line.wave.approval is Approval.MANUAL and not said.approved and has_work(line, found)
    soaks = bool(line.members) and not said.soaked
    return Stage(
        name=line.wave.name,
        at_once=line.wave.max_concurrent.at_least_one(len(line.members)),
        soak=line.wave.soak.total_seconds() if soaks else 0.0,
        soaked=0.0 if said.soak_since is None else (on.now - said.soak_since).total_seconds(),
        approval=asks and line.wave.name not in on.acts.approved | on.acts.approved_waves,
    )


def _unreachable_from(
    line: Line,
    on: Pass,
    memory: FleetMemory,
    found: Mapping[str, Assessment],
    runners: Mapping[str, Runner],
) -> float:
    """Seconds from now until all clusters of a wave that do not answer count as unreachable."""
    after = on.fleet.policy.gates.unreachable_after
    dark = (n for n in line.members if n not in runners and found[n].standing is Standing.NOT_KNOWN)
    since = (memory.cluster(n).dark_since or on.now for n in dark)
    return max([0.0, *((at + after - on.now).total_seconds() for at in since)])
