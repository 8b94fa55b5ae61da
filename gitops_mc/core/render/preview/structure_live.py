"""What the clusters say, for programs."""

from __future__ import annotations

from datetime import datetime, timedelta

from gitops_mc.core.forecast.model import ClusterForecast, FleetForecast, Spread, WaveForecast
from gitops_mc.core.model import JsonObject, digest_of
from gitops_mc.core.preview.hindrances import Drains, DrainsNotRead, NodeNote, UpgradePath
from gitops_mc.core.preview.model import LivePreview
from gitops_mc.core.preview.promised import promise_digest
from gitops_mc.core.render.plan_words import headline, standing_words
from gitops_mc.core.rollout.preview import ClusterPreview, FleetPreview


def live_json(live: LivePreview) -> JsonObject:
    return {
        "readAt": _at(live.at),
        "halted": live.halted or None,
        "unasked": live.unasked,
        "promise": promise_digest(live.outcome),
        "merged": _fleet(live.outcome),
        "already": _fleet(live.already),
        "underWay": [
            {
                "cluster": found.cluster,
                "standing": found.standing.value,
                "reason": found.reason,
                "since": _at(found.since) if found.since else None,
            }
            for found in live.under_way
        ],
        "soaking": [
            {"wave": w.wave, "since": _at(w.since), "soakSeconds": int(w.soak.total_seconds())}
            for w in live.soaking
        ],
        "unread": [{"cluster": u.cluster, "reason": u.reason, "since": _at(u.since)} for u in live.unread],
        "drains": [_drains(cluster, found) for cluster, found in live.drains.items()],
        "upgrades": [_upgrade(cluster, path) for cluster, paths in live.upgrades.items() for path in paths],
        "advice": [
            {"kind": advice.kind.value, "clusters": list(advice.clusters), "text": advice.told}
            for advice in live.advice
        ],
        "forecast": _forecast(live.forecast) if live.forecast is not None else None,
    }


def _fleet(found: FleetPreview) -> JsonObject:
    return {"digest": found.digest, "clusters": [_clusters(c) for c in _alike(found)]}


def _alike(found: FleetPreview) -> list[tuple[JsonObject, list[ClusterPreview]]]:
    """Clusters of which the same is said, in the order of the first of them."""
    groups: dict[str, tuple[JsonObject, list[ClusterPreview]]] = {}
    for cluster in found.clusters:
        said = _said(cluster)
        groups.setdefault(digest_of(said), (said, []))[1].append(cluster)
    return list(groups.values())


def _said(found: ClusterPreview) -> JsonObject:
    """Of each of them, but the names of its nodes."""
    return {
        "wave": found.wave or None,
        "summary": headline(found),
        "changes": found.changes,
        "refused": found.refused,
        "unknown": found.unknown or None,
        "stopped": standing_words(found) or None,
        "nodesRebooting": found.rebooting,
        "nodesDraining": found.draining,
        "pools": [
            {
                "pool": impact.pool,
                "maxUnavailable": impact.max_unavailable,
                "nodes": [
                    {"count": n.count, "actions": [str(action) for action in n.disruption.actions]}
                    for n in impact.nodes
                ],
            }
            for impact in found.impacts
        ],
    }


def _clusters(group: tuple[JsonObject, list[ClusterPreview]]) -> JsonObject:
    said, clusters = group
    return {
        "clusters": [cluster.name for cluster in clusters],
        **said,
        "nodes": [name for c in clusters for impact in c.impacts for n in impact.nodes for name in n.nodes],
    }


def _drains(cluster: str, found: Drains | DrainsNotRead) -> JsonObject:
    match found:
        case Drains():
            return {
                "cluster": cluster,
                "readAt": _at(found.at),
                "unknown": None,
                "hindrances": [
                    {"node": h.node, "kind": h.kind.value, "subject": h.subject, "text": h.told}
                    for h in found.hindrances
                ],
                "leftOut": found.left_out,
                "notes": [_note(note) for note in found.notes],
            }
        case DrainsNotRead():
            return {
                "cluster": cluster,
                "readAt": None,
                "unknown": {"reason": found.reason, "since": _at(found.since)},
                "hindrances": [],
                "leftOut": 0,
                "notes": [_note(note) for note in found.notes],
            }


def _note(note: NodeNote) -> JsonObject:
    return {"nodes": list(note.nodes), "text": note.told}


def _upgrade(cluster: str, path: UpgradePath) -> JsonObject:
    return {
        "cluster": cluster,
        "module": path.module,
        "live": path.live or None,
        "wanted": path.wanted,
        "steps": list(path.steps),
        "remarks": list(path.told),
        "blocked": path.blocked,
        "unknown": path.unknown or None,
    }


def _forecast(found: FleetForecast) -> JsonObject:
    return {
        "takes": _spread(found.takes),
        "noTime": found.no_time or None,
        "approvals": list(found.approvals),
        "first": list(found.first),
        "restsOn": [{"work": r.work.value, "basis": r.basis.value, "text": r.told} for r in found.rests_on],
        "samples": found.samples,
        "seed": found.seed,
        "waves": [_wave(wave) for wave in found.waves],
        "homeless": [_times(cluster) for cluster in found.homeless],
    }


def _wave(wave: WaveForecast) -> JsonObject:
    return {
        "wave": wave.name,
        "start": _spread(wave.start),
        "end": _spread(wave.end),
        "takes": _spread(wave.takes),
        "soakSeconds": _seconds(wave.soak),
        "approval": wave.approval or None,
        "after": wave.after or None,
        "noTime": wave.no_time or None,
        "clusters": [_times(cluster) for cluster in wave.clusters],
    }


def _times(cluster: ClusterForecast) -> JsonObject:
    return {
        "cluster": cluster.name,
        "start": _spread(cluster.start),
        "end": _spread(cluster.end),
        "takes": _spread(cluster.takes),
        "windows": _spread(cluster.windows),
        "after": cluster.after or None,
        "needs": list(cluster.needs),
        "untimed": list(cluster.untimed),
        "noTime": cluster.no_time or None,
    }


def _spread(spread: Spread | None) -> JsonObject | None:
    if spread is None:
        return None
    return {
        "p05Seconds": _seconds(spread.p05),
        "p50Seconds": _seconds(spread.p50),
        "p95Seconds": _seconds(spread.p95),
    }


def _seconds(span: timedelta) -> int:
    return int(span.total_seconds())


def _at(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")
