"""The links above the cluster: Git, its wave, the halt, and who uses up what the fleet tolerates."""

from __future__ import annotations

from collections.abc import Iterator

from gitops_mc.core.model import Kind, Manifest, Severity, Unknown
from gitops_mc.core.pools import selects_config
from gitops_mc.core.rollout.driver import UNDRIVEN, Driver
from gitops_mc.core.rollout.moves import AWAY, OUT_OF_THE_WAY, ClusterView, Standing, WaveState, WaveView
from gitops_mc.core.rollout.waves import lines
from gitops_mc.core.why.link import Link, Question, Subject

_SHOWN = 5
_OVER = (*OUT_OF_THE_WAY, Standing.GONE)

_FIRST_A_HUMAN = (Standing.FAILED, Standing.APPROVAL, Standing.PROBLEMS)


def git(q: Question) -> Iterator[Link]:
    """Commit, content, and the manifests it is about: those that would be written, or those of the pool."""
    errors = [p for p in q.desired.problems if p.severity is Severity.ERROR]
    for problem in errors[:_SHOWN]:
        hint = f" ({problem.hint})" if problem.hint else ""
        yield Link(
            Subject.GIT,
            f"{problem.message}{hint}",
            blocks=True,
            places=(problem.place,),
            commands=("gitops-mc validate",),
        )
    keys = [w.key for w in q.plan.writes] if q.plan is not None else []
    if q.pool or not keys:
        keys = [m.key for m in q.desired.manifests if _concerns(q, m)]
    places = tuple(place for key in dict.fromkeys(keys) for place in q.place(key))
    commit = f"commit {q.fleet.commit[:12]}" if q.fleet.commit else "the folder as it lies there"
    more = f" and {len(places) - _SHOWN} more files" if len(places) > _SHOWN else ""
    yield Link(Subject.GIT, f"{commit}, content {q.desired.content[:12]}{more}", places=places[:_SHOWN])


def _concerns(q: Question, manifest: Manifest) -> bool:
    if not q.pool:
        return True
    if manifest.key.kind is Kind.MACHINE_CONFIG_POOL:
        return manifest.key.name == q.pool
    pools = {} if isinstance(q.cluster.pools, Unknown) else q.cluster.pools.value
    return manifest.key.kind is Kind.MACHINE_CONFIG and selects_config(pools.get(q.pool) or {}, manifest.body)


def wave(q: Question) -> Iterator[Link]:
    """The wave's state, and who closes it."""
    found = q.wave
    if found is None:
        told = "no wave in fleet.yaml takes this cluster"
        yield Link(Subject.WAVE, told, blocks=True, commands=("gitops-mc validate",))
        return
    open_enough = (
        found.state in {WaveState.OPEN, WaveState.DONE, WaveState.SOAKING} or q.view.standing in _OVER
    )
    approve = (f"gitops-mc apply --approve {found.wave}",) if found.state is WaveState.NEEDS_APPROVAL else ()
    told = f"{found.wave}: {found.state.value}" + (f": {found.reason}" if found.reason else "")
    yield Link(Subject.WAVE, told, blocks=not open_enough, commands=approve)
    if found.state is WaveState.CLOSED:
        yield from _closing(q, found)
    elif found.state is WaveState.OPEN and q.view.standing is Standing.READY and q.view.window is None:
        yield from _places(q, found)


def _closing(q: Question, closed: WaveView) -> Iterator[Link]:
    """Clusters of the first wave before this one that is not done."""
    first = next((w for w in q.decision.waves if w.state is not WaveState.DONE), None)
    if first is None or first.wave == closed.wave:
        return
    holding = [c for c in q.decision.clusters if c.cluster in first.members and c.standing not in _OVER]
    for view in holding[:_SHOWN]:
        told = f"wave {first.wave} waits for {view.cluster}: {view.standing.value}: {view.reason}"
        commands = () if view.cluster == q.name else (f"gitops-mc why {view.cluster}",)
        yield Link(Subject.WAVE, told, blocks=True, commands=commands)


def _places(q: Question, found: WaveView) -> Iterator[Link]:
    flying = [c.cluster for c in q.decision.clusters if c.standing is Standing.IN_FLIGHT]
    limit = next(
        line.wave.max_concurrent.at_least_one(len(line.members))
        for line in lines(q.fleet.policy, q.fleet.clusters)[0]
        if line.wave.name == found.wave
    )
    if flying:
        told = f"wave {found.wave} lets {limit} roll at once; in flight: {', '.join(flying)}"
        yield Link(
            Subject.BUDGET, told, blocks=True, commands=tuple(f"gitops-mc why {n}" for n in flying[:_SHOWN])
        )
    else:
        yield Link(Subject.WAVE, "nothing keeps it: it is started next")


def driver(q: Question) -> Iterator[Link]:
    """That a rollout moves only while it is carried out; said where nothing has to be done before that."""
    if q.driver is Driver.NOBODY and q.view.standing not in (*_OVER, *_FIRST_A_HUMAN):
        yield Link(Subject.DRIVER, UNDRIVEN, blocks=True, commands=("gitops-mc apply",))


def halt(q: Question) -> Iterator[Link]:
    """What has stopped new writes everywhere."""
    found = q.memory.halt
    if found is None or q.view.standing in _OVER:
        return
    since = found.since.isoformat(timespec="seconds")
    told = f"new writes are halted since {since}, by {', '.join(found.clusters)}"
    commands = (*(f"gitops-mc why {n}" for n in found.clusters if n != q.name), "gitops-mc release --all")
    yield Link(Subject.HALT, told, blocks=True, commands=commands)


def budget(q: Question) -> Iterator[Link]:
    """Who uses up maxUnreachable and maxFailures, where one of them is used up."""
    total, rollout = len(q.decision.clusters), q.fleet.policy.rollout
    if q.view.standing in _OVER:
        return
    rows = (
        ("maxUnreachable", rollout.max_unreachable.of(total), _standing_in(q, AWAY)),
        ("maxFailures", rollout.max_failures.of(total), _standing_in(q, (Standing.FAILED,))),
    )
    for limit, allowed, using in rows:
        others = [c for c in using if c.cluster != q.name]
        if len(using) > allowed and others and q.view.standing not in {Standing.FAILED, Standing.IN_FLIGHT}:
            names = ", ".join(f"{c.cluster} ({c.standing.value})" for c in others[:_SHOWN])
            more = f" and {len(others) - _SHOWN} more" if len(others) > _SHOWN else ""
            told = f"{limit} tolerates {allowed} of {total} clusters; used up by {names}{more}"
            commands = tuple(f"gitops-mc why {c.cluster}" for c in others[:_SHOWN])
            yield Link(Subject.BUDGET, told, blocks=True, commands=commands)


def _standing_in(q: Question, standings: tuple[Standing, ...]) -> list[ClusterView]:
    return [c for c in q.decision.clusters if c.standing in standings]
