"""A plan for programs. Keys are only added to, never renamed."""

from __future__ import annotations

from gitops_mc.core.diff import Change
from gitops_mc.core.model import JsonObject, Severity
from gitops_mc.core.plan import NodeImpact, PoolImpact, Step
from gitops_mc.core.render.plan_words import deed, headline, remarks, standing_words, step_gate
from gitops_mc.core.render.problems import problem_json
from gitops_mc.core.rollout.preview import ClusterPreview, FleetPreview, ServerCheck, WavePreview
from gitops_mc.core.rollout.windows import WindowClosed


def plan_json(found: FleetPreview) -> JsonObject:
    clusters = found.clusters
    return {
        "commit": found.commit,
        "waves": [_wave(wave) for wave in found.waves],
        "clusters": [_cluster(cluster) for cluster in clusters],
        "totals": {
            "clusters": len(clusters),
            "changing": sum(1 for c in clusters if c.changes),
            "unknown": sum(1 for c in clusters if c.unknown),
            "blocked": sum(1 for c in clusters if c.desired.blocked),
            "refused": sum(1 for c in clusters if c.refused),
            "nodesRebooting": sum(c.rebooting for c in clusters),
            "nodesDraining": sum(c.draining for c in clusters),
        },
        "haltedBy": list(found.halted),
        "digest": found.digest,
    }


def _wave(wave: WavePreview) -> JsonObject:
    return {
        "name": wave.line.wave.name,
        "clusters": [c.name for c in wave.clusters],
        "maxConcurrent": wave.at_once,
        "soakSeconds": int(wave.line.wave.soak.total_seconds()),
        "approvalNeeded": wave.approve,
        "estimateSeconds": int(wave.estimate.total_seconds()),
    }


def _cluster(cluster: ClusterPreview) -> JsonObject:
    plan = cluster.plan
    errors = [p for p in cluster.desired.problems if p.severity is Severity.ERROR]
    return {
        "cluster": cluster.name,
        "wave": cluster.wave,
        "content": cluster.desired.content,
        "summary": headline(cluster),
        "unknown": cluster.unknown or None,
        "impactNotKnown": (plan.unforeseen or None) if plan is not None else None,
        "stopped": standing_words(cluster) or None,
        "firstContactApproval": bool(cluster.approve),
        "window": _window(cluster.window),
        "steps": [] if plan is None else [_step(step, cluster) for step in plan.steps],
        "pools": [_impact(impact) for impact in cluster.impacts],
        "nodesRebooting": cluster.rebooting,
        "nodesDraining": cluster.draining,
        "estimateSeconds": int(cluster.estimate.total_seconds()),
        "modulesWithoutEstimate": list(cluster.untimed),
        "moduleLimitSeconds": int(cluster.module_limit.total_seconds()),
        "remarks": [{"kind": word, "text": text} for word, text in remarks(cluster)],
        "problems": [problem_json(problem) for problem in errors],
        "digest": None if plan is None else plan.digest,
    }


def _window(window: WindowClosed | None) -> JsonObject | None:
    """Why the first step may not begin now, and when it may; null: it may."""
    if window is None:
        return None
    opens_at = window.opens_at.isoformat(timespec="seconds") if window.opens_at is not None else None
    return {"reason": window.reason, "opensAt": opens_at}


def _step(step: Step, cluster: ClusterPreview) -> JsonObject:
    return {
        "id": step.id,
        "kind": step.kind.value,
        "pools": list(step.pools),
        "bracketed": step.bracketed,
        "gate": step_gate(step),
        "writes": [_write(write, cluster.checks.get((step.id, write.key))) for write in step.writes],
    }


def _write(write: Change, check: ServerCheck | None) -> JsonObject:
    said = {"answer": check.answer.value, "reason": check.reason} if check is not None else None
    return {
        "change": deed(write),
        "kind": write.key.kind.value,
        "name": write.key.name,
        "touch": write.touch.value,
        "server": said,
    }


def _impact(impact: PoolImpact) -> JsonObject:
    return {
        "pool": impact.pool,
        "changes": [str(change) for change in impact.changes],
        "maxUnavailable": impact.max_unavailable,
        "estimateSeconds": int(impact.estimate.total_seconds()),
        "nodes": [_nodes(node) for node in impact.nodes],
    }


def _nodes(impact: NodeImpact) -> JsonObject:
    disruption = impact.disruption
    return {
        "names": list(impact.nodes),
        "count": impact.count,
        "reboot": disruption.reboot,
        "drain": disruption.drain,
        "actions": [str(action) for action in disruption.actions],
        "causes": [
            {
                "entry": str(c.entry),
                "change": c.change.value,
                "rule": c.rule,
                "actions": [str(a) for a in c.actions],
            }
            for c in disruption.causes
        ],
    }
