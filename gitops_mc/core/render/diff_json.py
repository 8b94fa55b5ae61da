"""What differs between Git and the clusters, for programs. Keys are only added to, never renamed."""

from __future__ import annotations

from collections.abc import Iterable

from gitops_mc.core.model import JsonObject, Severity
from gitops_mc.core.render.diff_text import diff_headline
from gitops_mc.core.render.differences import ClusterDifference, ObjectDifference
from gitops_mc.core.render.parts import Part
from gitops_mc.core.render.problems import problem_json


def diff_json(clusters: Iterable[ClusterDifference]) -> JsonObject:
    return {"clusters": [_cluster(cluster) for cluster in clusters]}


def _cluster(cluster: ClusterDifference) -> JsonObject:
    found = cluster.preview
    errors = [p for p in found.desired.problems if p.severity is Severity.ERROR]
    return {
        "cluster": found.name,
        "content": found.desired.content,
        "summary": diff_headline(cluster),
        "unknown": found.unknown or None,
        "changes": [_object(d) for d in cluster.changes],
        "drift": [_object(d) for d in cluster.drifts],
        "refused": [_object(d) for d in cluster.refused],
        "otherRefusals": list(cluster.other_refusals),
        "orphans": [
            {"kind": o.key.kind.value, "name": o.key.name, "reason": o.reason} for o in cluster.orphans
        ],
        "newer": [
            {"module": n.key.name, "live": n.live_version, "git": n.desired_version} for n in cluster.newer
        ],
        "notRead": [{"kind": n.kind.value, "reason": n.reason} for n in cluster.not_read],
        "problems": [problem_json(problem) for problem in errors],
    }


def _object(difference: ObjectDifference) -> JsonObject:
    return {
        "change": difference.what,
        "kind": difference.key.kind.value,
        "name": difference.key.name,
        "notes": list(difference.notes),
        "parts": [part_json(part) for part in difference.parts],
    }


def part_json(part: Part) -> JsonObject:
    return {
        "name": part.name,
        "change": part.change.value,
        "sensitive": part.sensitive,
        "details": list(part.details),
        "diff": list(part.diff),
    }
