"""Carrying out one move on one cluster: write after write, ending at the first that does not go through.

Every write carries what it was decided on; the server refuses it when that has changed, and the next pass decides anew.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import assert_never

from gitops_mc.app.api import RESOURCES, ClusterApi, DryRun, Force, Resource
from gitops_mc.app.ports import Clock
from gitops_mc.core.diff import Adopt, Change, Create, Delete, Ownership, Update
from gitops_mc.core.errors import (
    AlreadyExistsError,
    ApiError,
    ApplyConflictError,
    ForbiddenError,
    GitopsMcError,
    InvalidError,
    MalformedApplyError,
    NotFoundError,
    StaleError,
)
from gitops_mc.core.model import GLOBAL_CLUSTER, Content, Kind, ResourceKey, metadata
from gitops_mc.core.rollout.case import WriteFault
from gitops_mc.core.rollout.moves import Apply, Move, Pause, PoolPatch, Unmark, Unpause

_FINAL = (InvalidError, MalformedApplyError, ApplyConflictError, ForbiddenError)
_NO_DRY_RUN = ("dry run", "dryrun", "dry-run")


@dataclass(frozen=True, slots=True)
class Written:
    """A write the server accepted, in words."""

    cluster: str
    what: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a move."""

    written: tuple[Written, ...] = ()
    fault: WriteFault | None = None
    """Refused for good."""
    trouble: str = ""
    """It may go through the next time: changed in between, no answer, asked to slow down."""
    about: ResourceKey | None = None
    """What the trouble is with."""
    stale: bool = False
    """It had changed in between; where that happens on every fresh look, the write itself is wrong."""

    @property
    def stops(self) -> bool:
        return self.fault is not None or bool(self.trouble)


def carry_out(api: ClusterApi, clock: Clock, move: Move, content: Content) -> Outcome:
    """Make the writes of a move. Never raises for what the server answers."""
    match move:
        case Pause() | Unpause():
            return _patches(
                api, move.cluster, move.patches, "paused" if isinstance(move, Pause) else "running again"
            )
        case Apply():
            return _writes(api, clock, move, content)
        case _:
            assert_never(move)


def _patches(api: ClusterApi, cluster: str, patches: tuple[PoolPatch, ...], deed: str) -> Outcome:
    done: list[Written] = []
    for patch in patches:
        try:
            api.json_patch(cluster, RESOURCES["MachineConfigPool"], patch.pool, patch.patch)
        except GitopsMcError as error:
            key = ResourceKey(cluster, Kind.MACHINE_CONFIG_POOL, patch.pool)
            stale = isinstance(error, StaleError)
            changed = " has changed since it was read, and is read again" if stale else ""
            told = f"pool {patch.pool}{changed} ({error.message})"
            return Outcome(tuple(done), trouble=told, about=key, stale=stale)
        done.append(Written(cluster, f"pool {patch.pool} {deed}"))
    return Outcome(tuple(done))


def take_marks_off(api: ClusterApi, move: Unmark) -> Outcome:
    """What a forgotten cluster needs on its objects. Never raises for what the server answers."""
    done: list[Written] = []
    for patch in move.patches:
        try:
            api.json_patch(move.cluster, RESOURCES[patch.kind.value], patch.name, patch.patch)
        except NotFoundError:
            continue
        except GitopsMcError as error:
            key = ResourceKey(move.cluster, patch.kind, patch.name)
            told = f"{patch.kind.value} {patch.name}: {error.message}"
            return Outcome(tuple(done), trouble=told, about=key, stale=isinstance(error, StaleError))
        done.append(Written(move.cluster, f"{patch.kind.value} {patch.name} no longer marked as ours"))
    return Outcome(tuple(done))


def _writes(api: ClusterApi, clock: Clock, move: Apply, content: Content) -> Outcome:
    """All writes are tried on the server first, so that a step the server refuses is not begun."""
    for write in move.writes:
        tried = _attempt(write, content, clock, partial(send_write, api, move.cluster, write, DryRun.SERVER))
        told = tried.fault.reason if tried.fault is not None else tried.trouble
        if tried.stops and not dry_run_unsupported(told):
            return tried
    done: list[Written] = []
    for write in move.writes:
        outcome = _attempt(write, content, clock, partial(send_write, api, move.cluster, write, DryRun.NO))
        if outcome.stops:
            return replace(outcome, written=tuple(done))
        done.append(Written(move.cluster, describe(write)))
    return Outcome(tuple(done))


def _attempt(write: Change, content: Content, clock: Clock, send: Callable[[], None]) -> Outcome:
    try:
        send()
    except (AlreadyExistsError, StaleError) as error:
        return Outcome(trouble=error.message, about=write.key, stale=True)
    except _FINAL as error:
        return Outcome(fault=WriteFault(content, write.key, _told(error), clock.now()))
    except GitopsMcError as error:
        return Outcome(trouble=error.message, about=write.key)
    return Outcome()


def dry_run_unsupported(told: str) -> bool:
    """Some servers refuse dry runs as such (an admission webhook without support): then the real write is the test."""
    return any(word in told.lower() for word in _NO_DRY_RUN)


def send_write(api: ClusterApi, cluster: str, write: Change, dry_run: DryRun) -> None:
    """Make one write, or let the server only say what it would do. Raises what the API raises."""
    where = GLOBAL_CLUSTER if write.key.kind is Kind.MODULE_INFO else cluster
    resource = RESOURCES[write.key.kind.value]
    match write:
        case Create() if write.key.kind is Kind.MODULE_INFO:
            _create_module(api, resource, write, dry_run)
        case Create():
            api.apply(where, resource, write.body, dry_run=dry_run)
        case Adopt():
            if write.sent:
                api.apply(where, resource, write.body, force=_force(write.ownership), dry_run=dry_run)
        case Update() if write.patch:
            api.json_patch(
                where, resource, str(metadata(write.body).get("name", "")), write.patch, dry_run=dry_run
            )
        case Update():
            api.apply(where, resource, write.body, force=_force(write.ownership), dry_run=dry_run)
        case Delete():
            try:
                api.delete(
                    where,
                    resource,
                    write.name,
                    uid=write.uid,
                    version=write.resource_version,
                    dry_run=dry_run,
                )
            except NotFoundError:
                return
        case _:
            assert_never(write)


def _create_module(api: ClusterApi, resource: Resource, write: Create, dry_run: DryRun) -> None:
    """POST under the name the platform will give it; where it insists on naming itself, under a temporary one (ACP)."""
    try:
        api.create(GLOBAL_CLUSTER, resource, write.body, dry_run=dry_run)
    except InvalidError as error:
        if not any(cause.field == "metadata.name" for cause in error.causes):
            raise
        named = {**metadata(write.body), "name": f"{write.key.cluster}-temporary-name"}
        api.create(GLOBAL_CLUSTER, resource, {**write.body, "metadata": named}, dry_run=dry_run)


def _force(ownership: Ownership) -> Force:
    return Force.TAKE_OVER if ownership is Ownership.TAKE else Force.NEVER


def describe(write: Change) -> str:
    """A write in words, for progress and logs."""
    deeds = {Create: "created", Adopt: "adopted", Update: "updated", Delete: "deleted"}
    return f"{write.key.kind.value} {write.key.name} {deeds[type(write)]}"


def _told(error: ApiError) -> str:
    fields = ", ".join(c.field for c in error.causes if c.field)
    hint = f"; {error.hint}" if error.hint else ""
    return f"{error.message}{f' ({fields})' if fields and fields not in error.message else ''}{hint}"
