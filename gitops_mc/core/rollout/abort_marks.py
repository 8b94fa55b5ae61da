"""The mark of an abort on a pool: it stands still until somebody resumes it.

Set and taken off as a bracket's mark is (`gitops_mc.core.rollout.brackets`), and beside it: an abort does not end a step
that is open, and a step that is written after it, on resume, leaves the abort's pause to the abort.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from gitops_mc.core.live import LiveCluster
from gitops_mc.core.model import (
    ABORT_ANNOTATION,
    FIELD_MANAGER,
    Content,
    JsonObject,
    Unknown,
)
from gitops_mc.core.raw import section
from gitops_mc.core.rollout.brackets import annotation_path, giving_back, mark_in, marking, paused_before
from gitops_mc.core.rollout.inputs import Abort
from gitops_mc.core.rollout.moves import PoolPatch

_PATH = annotation_path(ABORT_ANNOTATION)


@dataclass(frozen=True, slots=True)
class AbortMark:
    """What stands in the annotation of a pool that an abort has paused."""

    by: str
    why: str
    content: str
    before: bool | None
    """`paused` before it; None: the field was absent."""


def abort_mark_of(pool: JsonObject) -> AbortMark | None:
    """An abort's mark on a pool, or None. One that cannot be read is still one: the pool was not paused before it."""
    found = mark_in(pool, ABORT_ANNOTATION)
    if found is None:
        return None
    return AbortMark(
        by=str(found.get("by", "")),
        why=str(found.get("why", "")),
        content=str(found.get("content", "")),
        before=paused_before(found),
    )


def stopped_pools(live: LiveCluster) -> dict[str, JsonObject]:
    """Live pools that carry an abort's mark."""
    if isinstance(live.pools, Unknown):
        return {}
    return {name: pool for name, pool in live.pools.value.items() if abort_mark_of(pool) is not None}


def stopping(pool: JsonObject, abort: Abort, content: Content | None) -> PoolPatch:
    """Pause a pool and say on it that it was aborted, in one patch."""
    mark = {
        "abort": FIELD_MANAGER,
        "by": abort.by,
        "why": abort.reason,
        "content": content or "",
        "paused": section(pool, "spec").get("paused"),
    }
    return marking(pool, _PATH, json.dumps(mark, sort_keys=True))


def resuming(pool: JsonObject, mark: AbortMark, manifest: JsonObject | None) -> PoolPatch:
    """Give `paused` back and take the mark off, in one patch."""
    return giving_back(pool, _PATH, manifest, before=mark.before)
