"""What the samples come to, as the value that is shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from math import ceil, inf, isnan

from gitops_mc.core.forecast.courses import Course
from gitops_mc.core.forecast.model import (
    Basis,
    ClusterForecast,
    FleetForecast,
    RestsOn,
    Spread,
    WaveForecast,
)
from gitops_mc.core.forecast.prospects import Prospect
from gitops_mc.core.forecast.running import Runner, Stage
from gitops_mc.core.forecast.timing import Tempo
from gitops_mc.core.rollout.inputs import Pass
from gitops_mc.core.rollout.moves import Standing
from gitops_mc.core.rollout.paces import Work
from gitops_mc.core.rollout.waves import lines

_NOTHING = Spread(timedelta(0), timedelta(0), timedelta(0))
_TOLD = 3
_WORKS = tuple(Work)


@dataclass(frozen=True, slots=True)
class Waves:
    """All of them, and of one that does not open, or is never done, why."""

    stages: tuple[Stage, ...]
    kept: tuple[str, ...]
    """Clusters that keep a place and do not get through."""
    why: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Since:
    """From when times are counted, by sample: from now, or from the approval in `after`."""

    at: Sequence[float]
    after: str = ""


@dataclass(frozen=True, slots=True)
class Played:
    """Every sample, played to its end."""

    on: Pass
    ahead: Mapping[str, Prospect]
    runners: Mapping[str, Runner]
    waves: Waves
    tempo: Tempo
    seed: int


def told_of(played: Played) -> FleetForecast:
    """The forecast."""
    ordered, homeless = lines(played.on.fleet.policy, played.on.fleet.clusters)
    waves: list[WaveForecast] = []
    since = now = Since([0.0] * played.tempo.samples)
    for line, stage in zip(ordered, played.waves.stages, strict=True):
        approval = f"gitops-mc apply --approve {line.wave.name}" if stage.approval else ""
        if approval:
            since = Since(stage.begins, f"wave {line.wave.name} is approved")
        clusters = tuple(_cluster(n, stage, played, since) for n in line.members)
        waves.append(replace(_wave(stage, played, since), clusters=clusters, approval=approval))
    outside = tuple(_cluster(n, None, played, now) for n in homeless)
    found = tuple(c for w in waves for c in w.clusters)
    lost = [c for c in (*found, *outside) if c.no_time and c.standing is not Standing.SKIPPED]
    return FleetForecast(
        waves=tuple(waves),
        homeless=outside,
        takes=_spread(_ends(played)),
        approvals=(*(c for x in found for c in x.needs), *(w.approval for w in waves if w.approval)),
        first=_first(found),
        no_time=_some(lost),
        rests_on=_joined(r for c in found for r in c.rests_on),
        samples=played.tempo.samples,
        seed=played.seed,
    )


def _some(lost: Sequence[ClusterForecast]) -> str:
    told = "; ".join(f"{c.name}: {c.no_time}" for c in lost[:_TOLD])
    return f"{told}; and {len(lost) - _TOLD} more" if len(lost) > _TOLD else told


def _ends(played: Played) -> list[float]:
    """When all is done that has an end, by sample; empty where nothing has."""
    rows = [r.ends for r in played.runners.values()] + [s.ends for s in played.waves.stages]
    rows = [row for row in rows if any(_known(x) for x in row)]
    return (
        [max((row[i] for row in rows if _known(row[i])), default=0.0) for i in range(played.tempo.samples)]
        if rows
        else []
    )


def _known(at: float) -> bool:
    return not isnan(at) and at != inf


# -------------------------------------------------------------------------------------------------------- clusters


def _cluster(name: str, stage: Stage | None, played: Played, since: Since) -> ClusterForecast:
    ahead, runner = played.ahead[name], played.runners.get(name)
    wave = "" if stage is None else stage.name
    standing = ahead.found.standing
    if runner is None:
        done = standing is Standing.PASSED and not ahead.no_time
        span = _NOTHING if done else None
        told = ahead.no_time or ("" if done else ahead.found.reason)
        return ClusterForecast(name, wave, standing, span, span, span, told, needs=ahead.needs, works=False)
    counted = [0.0] * played.tempo.samples if runner.in_flight else since.at
    start, end = _spread(_less(runner.begins, counted)), _spread(_less(runner.ends, counted))
    takes = _spread(_less(runner.ends, runner.begins))
    known = start is not None and end is not None
    course = ahead.course
    assert course is not None
    return ClusterForecast(
        name=name,
        wave=wave,
        standing=standing,
        start=start if known else None,
        end=end if known else None,
        takes=takes if known else None,
        no_time="" if known else _ENDLESS if start is not None else _not_reached(stage, played),
        after="" if runner.in_flight else since.after,
        needs=ahead.needs,
        windows=_spread(runner.waits) if known and ahead.rules else None,
        untimed=_untimed(course, played.tempo),
        rests_on=_rests_on(name, course, played.tempo),
        works=not runner.track.empty,
    )


_ENDLESS = "it ends in no window that can be seen from here"


def _not_reached(stage: Stage | None, played: Played) -> str:
    if stage is None:
        return ""
    if not stage.opens:
        return played.waves.why.get(stage.name, "")
    if played.waves.kept:
        return f"no place becomes free: {', '.join(played.waves.kept[:_TOLD])} keeps one"
    return "a wave before it has no end"


def _untimed(course: Course, tempo: Tempo) -> tuple[str, ...]:
    names = dict.fromkeys(leg.module for leg in course.all_legs if leg.module)
    return tuple(n for n in names if tempo.module(n)[1].basis is Basis.LIMIT)


def _rests_on(name: str, course: Course, tempo: Tempo) -> tuple[RestsOn, ...]:
    rolls = [r for leg in course.all_legs for pool in leg.pools for r in pool]
    nodes = [tempo.belief(name, r.work).rests_on for r in rolls]
    modules = [tempo.module(leg.module)[1] for leg in course.all_legs if leg.module]
    return _joined((*nodes, *modules))


def _joined(found: Iterable[RestsOn]) -> tuple[RestsOn, ...]:
    return tuple(sorted(dict.fromkeys(found), key=lambda r: (_WORKS.index(r.work), r.told)))


# ----------------------------------------------------------------------------------------------------------- waves


def _wave(stage: Stage, played: Played, since: Since) -> WaveForecast:
    start, end = _spread(_less(stage.begins, since.at)), _spread(_less(stage.ends, since.at))
    known = start is not None and end is not None
    told = played.waves.why.get(stage.name, "") or ("" if known else _not_reached(stage, played))
    return WaveForecast(
        name=stage.name,
        clusters=(),
        start=start,
        end=end,
        takes=_spread(_less(stage.ends, stage.begins)),
        soak=timedelta(seconds=max(0.0, stage.soak - (0.0 if stage.runners else stage.soaked))),
        after=since.after,
        no_time=told,
    )


def _first(clusters: Sequence[ClusterForecast]) -> tuple[str, ...]:
    begin = {c.name: c.start.p50 for c in clusters if c.start is not None and c.works and not c.after}
    earliest = min(begin.values(), default=None)
    return tuple(name for name, at in begin.items() if at == earliest)


# ---------------------------------------------------------------------------------------------------------- spreads


def _less(ends: Sequence[float], begins: Sequence[float]) -> list[float]:
    return [end - begin for end, begin in zip(ends, begins, strict=False)]


def _spread(spans: Sequence[float]) -> Spread | None:
    """None: there is no end in sight, in one of twenty samples or more."""
    known = sorted(span if _known(span) else inf for span in spans)
    if not known:
        return None
    p05, p50, p95 = (known[max(0, ceil(len(known) * share) - 1)] for share in (0.05, 0.5, 0.95))
    return None if p95 == inf else Spread(_whole(p05), _whole(p50), _whole(p95))


def _whole(seconds: float) -> timedelta:
    return timedelta(seconds=round(seconds))
