"""From a repository and a fleet to a plan: read, decide, and ask the servers about what differs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from gitops_mc.app.act import dry_run_unsupported, send_write
from gitops_mc.app.api import ClusterApi, DryRun
from gitops_mc.app.executor import ONE_LOOK, Executor
from gitops_mc.app.observe import Interest, NodeReading
from gitops_mc.app.ports import Clock, Workers
from gitops_mc.core.diff import Change
from gitops_mc.core.errors import (
    ApplyConflictError,
    ForbiddenError,
    GitopsMcError,
    InvalidError,
    MalformedApplyError,
    UnauthorizedError,
)
from gitops_mc.core.live import LiveCluster
from gitops_mc.core.model import Kind, Known
from gitops_mc.core.plan import ClusterPlan
from gitops_mc.core.rollout.inputs import Fleet
from gitops_mc.core.rollout.memory import FleetMemory
from gitops_mc.core.rollout.preview import (
    Answer,
    ClusterPreview,
    FleetPreview,
    ServerCheck,
    WriteId,
    preview,
)

_DENIED = (ForbiddenError, UnauthorizedError)
_REFUSED = (InvalidError, MalformedApplyError, ApplyConflictError)


@dataclass(frozen=True, slots=True)
class Session:
    """A fleet within reach: what plans, reports and rollouts work with."""

    api: ClusterApi
    clock: Clock
    workers: Workers
    executor: Executor


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan, and the facts and the memory it was made from."""

    preview: FleetPreview
    memory: FleetMemory
    live: Mapping[str, LiveCluster]


Asking: TypeAlias = Callable[[Session, FleetPreview], FleetPreview]
"""Whether, and how, the servers are asked about the writes of a plan."""


def plan_fleet(session: Session, fleet: Fleet, only: frozenset[str] | None, asking: Asking) -> Planned:
    """Look at every cluster that is asked for (all when `only` is None), and plan. What does not answer stays unknown."""
    watched = Fleet(
        fleet.policy,
        tuple(c for c in fleet.clusters if only is None or c.name in only),
        fleet.commit,
        fleet.contents,
    )
    memory = session.executor.memory()
    live = session.executor.observe(watched, Interest(nodes=NodeReading.ALWAYS), memory)
    known = session.executor.with_past(fleet, memory)
    found = asking(session, preview(known, memory, live, session.clock.now(), only))
    return Planned(found, memory, live)


def ask_nobody(_session: Session, found: FleetPreview) -> FleetPreview:
    return found


def ask_servers(session: Session, found: FleetPreview) -> FleetPreview:
    """The plan with what each server says of each write by dry run; nothing is changed. Clusters are asked side by side,
    and one that is slow has not been asked.
    """
    asked = [c for c in found.clusters if c.changes]
    jobs: Mapping[str, Callable[[], Mapping[WriteId, ServerCheck]]] = {
        c.name: partial(_ask, session.api, c) for c in asked
    }
    answers = session.workers.map(jobs, within=ONE_LOOK.total_seconds())
    checks: dict[str, Mapping[WriteId, ServerCheck]] = {}
    for cluster in asked:
        answer = answers.get(cluster.name)
        if isinstance(answer, BaseException):
            raise answer
        checks[cluster.name] = answer if answer is not None else _all_slow(cluster)
    return found.with_checks(checks)


def _all_slow(cluster: ClusterPreview) -> Mapping[WriteId, ServerCheck]:
    late = ServerCheck(Answer.NOT_ASKED, f"no answer within {ONE_LOOK.total_seconds():.0f} seconds")
    return {write_id: late for write_id, _ in _writes(cluster.plan)}


def _ask(api: ClusterApi, cluster: ClusterPreview) -> Mapping[WriteId, ServerCheck]:
    served = isinstance(cluster.live.machine_apis, Known) and cluster.live.machine_apis.value.served
    checks: dict[WriteId, ServerCheck] = {}
    denied: dict[Kind, ServerCheck] = {}
    for write_id, write in _writes(cluster.plan):
        kind = write.key.kind
        if kind is not Kind.MODULE_INFO and not served:
            checks[write_id] = ServerCheck(
                Answer.NOT_ASKED, "the machine configuration APIs are not served there yet"
            )
        elif kind in denied:
            checks[write_id] = denied[kind]
        else:
            checks[write_id] = _answer(api, cluster.name, write, denied)
    return checks


def _answer(api: ClusterApi, cluster: str, write: Change, denied: dict[Kind, ServerCheck]) -> ServerCheck:
    try:
        send_write(api, cluster, write, DryRun.SERVER)
    except _DENIED as error:
        denied[write.key.kind] = ServerCheck(Answer.NOT_ASKED, error.message)
        return denied[write.key.kind]
    except _REFUSED as error:
        told = f"{error.message}; {error.hint}" if error.hint else error.message
        unsupported = dry_run_unsupported(told)
        return ServerCheck(Answer.NOT_ASKED if unsupported else Answer.REFUSED, told)
    except GitopsMcError as error:
        return ServerCheck(Answer.NOT_ASKED, error.message)
    return ServerCheck(Answer.ACCEPTED)


def _writes(plan: ClusterPlan | None) -> list[tuple[WriteId, Change]]:
    if plan is None:
        return []
    return [((step.id, write.key), write) for step in plan.steps for write in step.writes]
