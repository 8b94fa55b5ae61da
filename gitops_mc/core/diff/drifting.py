"""Whether somebody has changed what we wrote: asked of what Git still names, and of what has left it, in the same way."""

from __future__ import annotations

from types import MappingProxyType

from gitops_mc.core.diff.changes import Written
from gitops_mc.core.diff.digests import digest_of_leaves
from gitops_mc.core.diff.owners import owners_of
from gitops_mc.core.diff.paths import Leaves, in_order_of, leaves_of
from gitops_mc.core.model import APPLIED_ANNOTATION, JsonObject, ResourceKey, annotations_of

NO_MODEL: Leaves = MappingProxyType({})
"""Nothing says in which order keyed items were written: they count as they stand."""


def last_written(live: JsonObject, written: Written | None) -> str | None:
    """Digest of what we wrote last: the annotation; where that is gone, what is remembered. None: we wrote nothing."""
    annotation = annotations_of(live).get(APPLIED_ANNOTATION)
    return annotation or (written.digest if written is not None else None)


def is_drifted(key: ResourceKey, ours: Leaves, last: str | None, model: Leaves = NO_MODEL) -> bool:
    """Whether `ours`, the leaves of the live object that we own, are not what we wrote last: changed, removed or taken over.

    Other owners of a keyed list move our entries when they apply theirs; that has no effect and is no drift, so the order
    of `model`, what Git wants, will do as well.
    """
    candidates = (ours, in_order_of(model, ours))
    return last is not None and last not in {
        digest_of_leaves(key.kind, key.name, each) for each in candidates
    }


def is_edited(key: ResourceKey, live: JsonObject, written: Written | None) -> bool:
    """Whether a live object says something else than what we wrote, whatever Git says of it. Never, where we wrote nothing."""
    ours = owners_of(live).projection(leaves_of(key.kind, live))
    return is_drifted(key, ours, last_written(live, written))
