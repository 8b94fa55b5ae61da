"""How things stand, for programs: what is remembered of every wave and cluster, and beside it what was read just now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime

from gitops_mc.core.live import LiveCluster
from gitops_mc.core.model import JsonObject, Known, Unknown
from gitops_mc.core.render.progress import state_of
from gitops_mc.core.rollout.acts import findings
from gitops_mc.core.rollout.driver import Driver
from gitops_mc.core.rollout.memory import (
    Act,
    ClusterMemory,
    Failure,
    FleetMemory,
    Leave,
    Rollback,
    StepIntent,
)
from gitops_mc.core.rollout.moves import (
    ClusterView,
    Decision,
    Done,
    GateView,
    Halted,
    Hold,
    Standing,
    Wait,
    WaveState,
)
from gitops_mc.core.rollout.rollback import can_be_asked_for
from gitops_mc.core.rollout.windows import WindowClosed

APPLY = "gitops-mc apply"


@dataclass(frozen=True, slots=True)
class Seen:
    """What a look at the clusters came to."""

    decision: Decision
    live: Mapping[str, LiveCluster]


def status_json(memory: FleetMemory, now: datetime, seen: Seen | None, driver: Driver) -> JsonObject:
    """Everything, for programs. Times are RFC 3339, ages and durations are seconds; null: not known, or none."""
    views = {} if seen is None else {c.cluster: c for c in seen.decision.clusters}
    names = sorted({*memory.clusters, *views})
    halt = memory.halt
    return {
        "at": _at(now),
        "remembered_at": _at(memory.clock),
        "live": seen is not None,
        "driver": driver.value,
        "pending": _pending(memory) if seen is None else not isinstance(seen.decision.outlook, Done),
        "outlook": None if seen is None else _outlook(seen.decision),
        "halt": None
        if halt is None
        else {"reason": halt.reason, "since": _at(halt.since), "clusters": list(halt.clusters)},
        "waves": _waves(memory, seen),
        "clusters": [
            _cluster(name, memory, now, views.get(name), None if seen is None else seen.live.get(name))
            for name in names
        ],
        "acts": [_act(a) for a in memory.acts],
    }


def _pending(memory: FleetMemory) -> bool:
    """Whether the memory alone tells that a rollout is not at its end."""
    return memory.halt is not None or any(
        m.started is not None and not m.out for m in memory.clusters.values()
    )


def _outlook(decision: Decision) -> JsonObject:
    opened = frozenset(name for w in decision.waves if w.state is WaveState.OPEN for name in w.members)
    coming = [
        c.cluster
        for c in decision.clusters
        if c.standing is Standing.READY and c.cluster in opened and c.window is None
    ]
    if coming and isinstance(decision.outlook, Wait):
        return {
            "state": "pending",
            "reasons": [f"could start: {', '.join(coming)}"],
            "acts": [APPLY],
        }
    match decision.outlook:
        case Wait(reason):
            return {"state": "waiting", "reasons": [reason], "acts": []}
        case Hold(reasons, acts):
            return {"state": "held", "reasons": list(reasons), "acts": list(acts)}
        case Halted(reason):
            return {"state": "halted", "reasons": [reason], "acts": ["gitops-mc release --all"]}
        case Done(reason):
            return {"state": "done", "reasons": [reason], "acts": []}


def _waves(memory: FleetMemory, seen: Seen | None) -> list[JsonObject]:
    views = {} if seen is None else {w.wave: w for w in seen.decision.waves}
    found = []
    for name in dict.fromkeys([*views, *memory.waves]):
        view, kept = views.get(name), memory.waves.get(name)
        found.append(
            {
                "wave": name,
                "state": None if view is None else view.state.value,
                "reason": "" if view is None else view.reason,
                "members": None if view is None else list(view.members),
                "approved": kept is not None and kept.approved,
                "soak_since": None if kept is None else _at(kept.soak_since),
                "soak_left": None if view is None else view.soak_left.total_seconds(),
            }
        )
    return found


def _cluster(
    name: str, memory: FleetMemory, now: datetime, view: ClusterView | None, live: LiveCluster | None
) -> JsonObject:
    m = memory.cluster(name)
    return {
        "cluster": name,
        "wave": None if view is None else view.wave,
        "standing": _remembered_standing(m) if view is None else view.standing.value,
        "reason": "" if view is None else view.reason,
        "started": {"content": m.started, "commit": m.started_commit or None, "at": _at(m.admitted_at)},
        "passed": {"content": m.passed, "commit": m.passed_commit or None, "at": _at(m.passed_at)},
        "begun": m.begun,
        "step": None if m.step is None else _step(m.step),
        "failure": None if m.failure is None else _failure(m.failure),
        "rollback": None if m.rollback is None else _rollback(m.rollback),
        "no_rollback": can_be_asked_for(m),
        "retrying": m.retrying,
        "gates": None if view is None else [_gate(g) for g in view.gates],
        "skipped": m.skipped,
        "approved": m.approved,
        "excused": [
            {"node": e.node, "reason": e.reason, "until": _at(e.until), "ended": e.until <= now}
            for e in m.excused
        ],
        "accepted": list(m.accepted),
        "acceptable": list(findings(memory).get(name, ())),
        "hurried": None if m.hurried is None else _leave(m.hurried),
        "overridden": None if m.overridden is None else _leave(m.overridden),
        "dark_since": _at(m.dark_since),
        "merge_order": m.merge_order,
        "window": None if view is None or view.window is None else _window(view.window, now),
        "ages": None if live is None else _ages(live, now),
    }


def _window(window: WindowClosed, now: datetime) -> JsonObject:
    """Why the next step may not begin now, and when it may."""
    return {"reason": window.reason, "told": window.told(now), "opens_at": _at(window.opens_at)}


def _step(step: StepIntent) -> JsonObject:
    return {"step": step.step, "pools": list(step.pools), "since": _at(step.at)}


def _failure(failure: Failure) -> JsonObject:
    return {
        "cause": failure.cause.value,
        "reason": failure.reason,
        "at": _at(failure.at),
        "content": failure.content,
        "subjects": sorted(failure.subjects),
    }


def _rollback(rollback: Rollback) -> JsonObject:
    return {
        "to": {"content": rollback.to, "commit": rollback.to_commit or None},
        "held": _failure(rollback.failed) | {"commit": rollback.failed_commit or None},
        "at": _at(rollback.at),
        "by": rollback.by or None,
    }


def _leave(leave: Leave) -> JsonObject:
    return {"content": leave.content, "at": _at(leave.at), "by": leave.by, "reason": leave.reason}


def _gate(gate: GateView) -> JsonObject:
    return {
        "gate": gate.subject,
        "state": state_of(gate.verdict),
        "reason": gate.verdict.reason,
        "facts": list(gate.facts),
    }


def _remembered_standing(m: ClusterMemory) -> str:
    """Where a cluster stood when it was last looked at, in the words of the rollout."""
    if m.skipped is not None:
        return "skipped"
    if m.failure is not None or (m.rolled_back and m.out):
        return "failed"
    if m.out:
        return "passed"
    return "in flight" if m.started is not None else "not started"


def _ages(live: LiveCluster, now: datetime) -> JsonObject:
    """How old each fact is, in seconds; a fact that could not be read says why, and since when."""
    found: JsonObject = {}
    for name in (f.name for f in fields(live)):
        match getattr(live, name):
            case Known(_, at):
                found[name] = max(0.0, (now - at).total_seconds())
            case Unknown(reason, since):
                found[name] = {"unknown": reason, "since": _at(since)}
    return found


def _act(act: Act) -> JsonObject:
    return {"at": _at(act.at), "who": act.who, "what": act.what, "why": act.why}


def _at(when: datetime | None) -> str | None:
    return None if when is None else when.isoformat(timespec="seconds")
