"""Carrying a fleet's rollout out by hand: look after look until it ends, or until the end is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from gitops_mc.app.looks import Look
from gitops_mc.app.ports import MemoryStore
from gitops_mc.app.use_cases.planning import Session
from gitops_mc.core.errors import GitopsMcError
from gitops_mc.core.live import LiveCluster
from gitops_mc.core.model import Unknown, named
from gitops_mc.core.plan import title_of
from gitops_mc.core.rollout import acts as human
from gitops_mc.core.rollout.brackets import mark_of
from gitops_mc.core.rollout.ending import Ending, ending
from gitops_mc.core.rollout.inputs import Acts, Fleet
from gitops_mc.core.rollout.memory import FleetMemory, from_json, to_json

_LAST_CALLS = 10.0
"""Real seconds that a call which is under way gets to end in."""


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The end was asked for. Nothing was begun after that; what stands open is remembered."""

    reason: str = "interrupted"


Rolled: TypeAlias = tuple[Look, Ending | Interrupted | None]
"""A look, and the end if it was the last one."""


def roll(session: Session, fleet: Fleet, acts: Acts, stopping: Callable[[], bool]) -> Iterator[Rolled]:
    """Every look of the rollout; the last one has its end. After the last one nothing more is written."""
    for look in session.executor.rollout(fleet, acts):
        if stopping():
            _let_calls_end(session)
            yield look, Interrupted()
            return
        end = ending(look.decision, acts.only)
        yield look, end
        if end is not None:
            return


def _let_calls_end(session: Session) -> None:
    for _ in range(len(session.workers.running())):
        session.workers.map({}, within=_LAST_CALLS)


def act_on(
    store: MemoryStore, now: datetime, act: Callable[[FleetMemory, datetime], human.ActResult]
) -> tuple[str, ...]:
    """Load, act, save; what has changed, in sentences. Raises GitopsMcError when the act would change nothing."""
    state = store.load()
    if state is None:
        raise GitopsMcError(
            "nothing is remembered yet, so there is nothing to act on",
            hint="is it the right state file? name it with --state FILE",
        )
    memory = from_json(state)
    match act(memory, human.moment(memory, now)):
        case human.Unchanged(reason, hint):
            raise GitopsMcError(reason, hint=hint)
        case human.Changed(after, said):
            store.save(to_json(after))
            return said


def record_approval(store: MemoryStore, who: str, now: datetime, name: str) -> None:
    """Keep in the log that somebody approved a wave or a first contact."""
    state = store.load()
    memory = FleetMemory() if state is None else from_json(state)
    by = human.By(who, human.moment(memory, now))
    store.save(to_json(human.approved(memory, name, by)))


def record_override(store: MemoryStore, who: str, now: datetime, clusters: str, why: str) -> None:
    """Keep in the log that somebody lets the change windows of clusters not count, and why."""
    state = store.load()
    memory = FleetMemory() if state is None else from_json(state)
    by = human.By(who, human.moment(memory, now), why)
    store.save(to_json(human.overridden(memory, clusters, by)))


def open_steps(memory: FleetMemory, live: Mapping[str, LiveCluster] | None = None) -> tuple[str, ...]:
    """Steps that were begun and have not been read back, with the pools that stand paused by us. `live`: what was read
    after the last write; without it nobody knows which pools are paused.
    """
    return tuple(
        f"{name}: {title_of(m.step.step)} is begun{_paused(m.step.pools, None if live is None else live.get(name))}"
        for name, m in memory.clusters.items()
        if m.step is not None
    )


def _paused(pools: tuple[str, ...], live: LiveCluster | None) -> str:
    if live is None or isinstance(live.pools, Unknown):
        return f"; {named('pool', pools)} may stand paused, marked as ours" if pools else ""
    marked = [p for p in pools if p in live.pools.value and mark_of(live.pools.value[p]) is not None]
    return f"; {named('pool', marked)} paused, marked as ours" if marked else "; no pool stands paused"
