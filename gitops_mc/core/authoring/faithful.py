"""Whether what was written for the repository, read by the rollout's own reader, leaves the live object exactly as it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gitops_mc.core.authoring.drafts import Draft
from gitops_mc.core.authoring.picking import Picked
from gitops_mc.core.desired import DesiredState
from gitops_mc.core.diff import Adopt, ClusterDiff, diff_cluster
from gitops_mc.core.diff.paths import said_only
from gitops_mc.core.live import LiveCluster
from gitops_mc.core.model import (
    JsonObject,
    Kind,
    Manifest,
    Problem,
    ResourceKey,
    Severity,
    canonical_json,
    count,
)


@dataclass(frozen=True, slots=True)
class Checked:
    """The repository with all drafts in it, held against the live cluster."""

    wrong: Mapping[ResourceKey, str]
    """Drafts that may not be kept as they are, each with the reason."""
    problems: tuple[Problem, ...]
    """Errors that block the cluster and stand in no draft."""
    diff: ClusterDiff
    """What the rollout would do to the cluster, everything else that the repository has for it included."""


def check_drafts(
    state: DesiredState, live: LiveCluster, drafts: tuple[Draft, ...], picked: Mapping[ResourceKey, Picked]
) -> Checked:
    """`state` is the repository with the drafts in it; the cluster is one of it."""
    cluster = state.cluster(live.name)
    assert cluster is not None, "a folder with a draft in it is a cluster"
    found = diff_cluster(cluster, live, {}, fleet=state.policy.name)
    errors = [p for p in cluster.problems if p.severity is Severity.ERROR]
    wrong: dict[ResourceKey, str] = {}
    ours = {draft.manifest.path for draft in drafts}
    for draft in drafts:
        said = [problem for problem in errors if problem.place.file == draft.manifest.path]
        manifest = cluster.get(draft.key)
        if said:
            wrong[draft.key] = _told(said)
        elif manifest is None or manifest.place.file != draft.manifest.path:
            wrong[draft.key] = (
                f"{draft.manifest.path} would not be read (does `ignore` of fleet.yaml cover it?)"
            )
        elif reason := next(_differs(manifest, picked[draft.key], found), ""):
            wrong[draft.key] = reason
    elsewhere = tuple(problem for problem in errors if problem.place.file not in ours)
    return Checked(wrong, elsewhere, found)


def _told(problems: list[Problem]) -> str:
    first = problems[0]
    where = f"{first.field}: " if first.field else ""
    more = f" (and {count(len(problems) - 1, 'problem')} more)" if len(problems) > 1 else ""
    return f"it breaks a rule of the repository: {where}{first.message} [{first.rule}]{more}"


def _differs(manifest: Manifest, picked: Picked, found: ClusterDiff) -> Iterator[str]:
    """Why a rollout would do more than adopt the object; nothing where it would not."""
    for refusal in found.refusals:
        if refusal.key == manifest.key:
            yield f"the rollout would refuse it: {refusal.reason}"
    for change in found.changes:
        if change.key != manifest.key:
            continue
        if not isinstance(change, Adopt):
            yield "written and read again it is not what stands in the cluster"
        elif change.sent and not sends_live_bytes(picked, change.body):
            yield "what would be sent is not byte for byte what stands in the cluster"


def sends_live_bytes(picked: Picked, body: JsonObject) -> bool:
    """Whether a body that would be sent has the live spec, byte for byte; of a partial one, whether the fields it has do:
    that is what the diff has said already.
    """
    kind = picked.key.kind
    if kind is not Kind.MACHINE_CONFIG:
        return True
    sent, standing = body.get("spec") or {}, said_only(kind, picked.live.get("spec") or {})
    return canonical_json(sent) == canonical_json(standing)
