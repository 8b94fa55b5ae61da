"""How the memory of a cluster changes: admitted, about to write, passed, released. Each is remembered before the act."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from gitops_mc.core.diff import Update
from gitops_mc.core.gates import ModuleClocks, PoolClocks, live_modules
from gitops_mc.core.live import LiveCluster
from gitops_mc.core.model import Commit, Content, DesiredCluster, Kind
from gitops_mc.core.plan import DRIFT, StepKind
from gitops_mc.core.policy import Prune
from gitops_mc.core.rollout.memory import NO_COMMIT, ClusterMemory, Failure, ObjectName, StepIntent
from gitops_mc.core.rollout.moves import Apply, Unpause
from gitops_mc.core.rollout.next_step import Act, creates


def admitted(memory: ClusterMemory, desired: DesiredCluster, commit: Commit, now: datetime) -> ClusterMemory:
    """In the rollout with this content. What earlier content created and never passed stays known as such. One that was rolled
    back, and is given newer content, repairs by it what failed.
    """
    unfinished = memory.begun and (not memory.out or memory.failure is not None)
    return replace(
        memory,
        failure=next(iter(memory.held), None),
        rollback=None,
        started=desired.content,
        started_commit=commit,
        admitted_at=now,
        begun=unfinished,
        created=memory.created if unfinished else (),
        touched=memory.touched if unfinished else (),
        step=None,
        pool_clocks=_restarted(memory, memory.pool_clocks),
        module_clocks={},
        gate_since={},
        spec_hashes={},
        rolls={},
    )


ROLLING = (StepKind.POOLS, StepKind.MODULE, StepKind.MODULE_REMOVAL)
"""Steps after which nodes may roll. A policy is read when a node is updated: by itself it moves none."""


def about_to(
    memory: ClusterMemory, act: Act, desired: DesiredCluster, live: LiveCluster, now: datetime
) -> ClusterMemory:
    """The intent of a move, to be made durable before it is carried out."""
    move = act.move
    if isinstance(move, Unpause):
        return replace(memory, step=None, pool_clocks=_restarted(memory, move_pools(act)))
    touched = {*memory.touched, *(act.step.pools if act.step.kind in ROLLING else ())}
    memory = replace(
        memory,
        begun=True,
        touched=tuple(sorted(touched)),
        step=StepIntent(desired.content, act.step.id, act.step.pools, now),
    )
    if not isinstance(move, Apply):
        return memory
    created = {*memory.created, *(ObjectName(w.key.kind, w.key.name) for w in creates(move.writes))}
    changed = {*memory.changed, *(ObjectName(w.key.kind, w.key.name) for w in move.writes)}
    modules = [w for w in move.writes if w.key.kind is Kind.MODULE_INFO]
    hashes = dict(memory.spec_hashes)
    for write in modules:
        hashes.pop(write.key.name, None)
        if isinstance(write, Update) and _changes_only_config(write):
            hashes[write.key.name] = _spec_hash(live, write.key.name)
    return replace(
        memory,
        created=_ordered(created),
        changed=_ordered(changed),
        spec_hashes=hashes,
        module_clocks={
            k: v for k, v in memory.module_clocks.items() if k not in {w.key.name for w in modules}
        }
        | {w.key.name: ModuleClocks() for w in modules},
        pool_clocks=_restarted(memory, move_pools(act)),
        gate_since={},
    )


def move_pools(act: Act) -> tuple[str, ...]:
    return act.step.pools


def prune_settings(prune: Prune) -> str:
    """The prune settings as the memory keeps them."""
    return f"{'enabled' if prune.enabled else 'disabled'}, at most {prune.max_deletes}"


def passed(memory: ClusterMemory, prune: Prune, now: datetime) -> ClusterMemory:
    """Out of the rollout: every gate has opened with the content that was started. Of what was meant to be made, that is
    remembered as made which is there.
    """
    there = {(e.kind, e.name) for e in memory.inventory}
    before, before_commit = _before(memory)
    return replace(
        memory,
        before=before,
        before_commit=before_commit,
        retrying=False,
        created=tuple(o for o in memory.created if (o.kind, o.name) in there),
        passed=memory.started,
        passed_commit=memory.started_commit,
        passed_at=now,
        passed_prune=prune_settings(prune),
        failure=None,
        begun=False,
        overtaken=(),
        accepted=(),
        step=None,
        spec_hashes={},
        gate_since={},
        rolls={},
    )


def _before(memory: ClusterMemory) -> tuple[Content | None, Commit]:
    """What it had passed before, as far as it has not failed with that."""
    failed = {memory.started, *(f.content for f in memory.held)}
    for content, commit in ((memory.passed, memory.passed_commit), (memory.before, memory.before_commit)):
        if content is not None and content not in failed:
            return content, commit
    return None, NO_COMMIT


def failed(memory: ClusterMemory, failure: Failure) -> ClusterMemory:
    """It has failed, with what was tried once more too."""
    return replace(memory, failure=failure, retrying=False)


def proven(memory: ClusterMemory) -> ClusterMemory:
    """It has passed and soaked: what is changed by hand from here on says nothing against the content."""
    return replace(memory, changed=()) if memory.changed else memory


def without_drift(memory: ClusterMemory) -> ClusterMemory:
    """Nothing is left that Git could win: what was said of it does not hold for a hand that comes later."""
    kept = tuple(i for i in memory.accepted if not i.startswith(DRIFT))
    return memory if kept == memory.accepted else replace(memory, accepted=kept)


def _ordered(names: Iterable[ObjectName]) -> tuple[ObjectName, ...]:
    return tuple(sorted(names, key=lambda o: (o.kind.order, o.name)))


def _restarted(memory: ClusterMemory, pools: Iterable[str]) -> dict[str, PoolClocks]:
    return {**memory.pool_clocks, **{pool: PoolClocks() for pool in pools}}


def _changes_only_config(write: Update) -> bool:
    """A changed spec at the version that runs: known to be taken up when specHash moves. A mark moves nothing."""
    paths = [f.path for f in write.fields]
    return "spec.version" not in paths and any(path.startswith("spec.") for path in paths)


def _spec_hash(live: LiveCluster, module: str) -> str:
    found = live_modules(live, module)
    return str((found[0].get("status") or {}).get("specHash", "")) if found else ""
