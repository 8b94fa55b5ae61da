"""The bracket around a step of more than one write: pools stand still until all of it is there.

Opened and closed by JSON Patch with a test on the resourceVersion, never by server-side apply: the operator may own
`spec.paused`. The annotation says who, why, for which content, what `paused` was before, and which rendered config the
pool had; so a run that finds it after a crash knows where it stands.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from gitops_mc.core.model import (
    BRACKET_ANNOTATION,
    FIELD_MANAGER,
    PAUSED_ANNOTATION,
    Content,
    JsonObject,
    annotations_of,
    metadata,
    name_of,
    resource_version,
)
from gitops_mc.core.pools import rendered_name
from gitops_mc.core.raw import section
from gitops_mc.core.rollout.moves import PoolPatch


def annotation_path(annotation: str) -> str:
    """Where an annotation stands, as JSON Patch writes it (RFC 6901)."""
    return "/metadata/annotations/" + annotation.replace("~", "~0").replace("/", "~1")


def label_path(label: str) -> str:
    """Where a label stands, in the same way."""
    return "/metadata/labels/" + label.replace("~", "~0").replace("/", "~1")


_PATH = annotation_path(BRACKET_ANNOTATION)
_PAUSED_PATH = annotation_path(PAUSED_ANNOTATION)


@dataclass(frozen=True, slots=True)
class Mark:
    """What stands in the annotation of a pool that we paused."""

    step: str
    content: str
    before: bool | None
    """`paused` before us; None: the field was absent."""
    rendered: str
    """spec.configuration.name when we paused."""


def mark_of(pool: JsonObject) -> Mark | None:
    """Our mark on a pool, or None. A mark that cannot be read is still a mark: nothing is known of what was before."""
    found = mark_in(pool, BRACKET_ANNOTATION)
    if found is None:
        return None
    return Mark(
        step=str(found.get("step", "")),
        content=str(found.get("content", "")),
        before=paused_before(found),
        rendered=str(found.get("rendered", "")),
    )


def mark_in(pool: JsonObject, annotation: str) -> JsonObject | None:
    """What a mark says; None where there is none, and nothing where it cannot be read: it is one all the same."""
    text = annotations_of(pool).get(annotation)
    if text is None:
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def paused_before(mark: JsonObject) -> bool | None:
    """`paused` as a mark remembers it; None: the field was absent, or nobody knows."""
    before = mark.get("paused")
    return before if isinstance(before, bool) else None


def opening(pool: JsonObject, step: str, content: Content) -> PoolPatch:
    """Pause a pool and mark it, in one patch."""
    spec = pool.get("spec") or {}
    text = json.dumps(
        {
            "by": FIELD_MANAGER,
            "why": "several writes belong together; nodes start when all are made",
            "step": step,
            "content": content,
            "paused": spec.get("paused"),
            "rendered": rendered_name(pool),
        },
        sort_keys=True,
    )
    return marking(pool, _PATH, text)


def marking(pool: JsonObject, mark: str, text: str) -> PoolPatch:
    """Pause a pool and write a mark at a path, in one patch."""
    operations: list[JsonObject] = [tested(pool)]
    if metadata(pool).get("annotations") is None:
        operations.append({"op": "add", "path": "/metadata/annotations", "value": {}})
    operations.append({"op": "add", "path": mark, "value": text})
    operations.append({"op": "add", "path": "/spec/paused", "value": True})
    return PoolPatch(name_of(pool), tuple(operations))


def closing(pool: JsonObject, mark: Mark, desired: JsonObject | None) -> PoolPatch:
    """Give `paused` back and take the mark off, in one patch.

    A manifest that sets `paused` itself takes effect here; otherwise it becomes what it was before us.
    """
    return giving_back(pool, _PATH, desired, before=mark.before)


def giving_back(pool: JsonObject, mark: str, desired: JsonObject | None, *, before: bool | None) -> PoolPatch:
    """Take the mark at a path off and give `paused` back: as the manifest says, or else as it was before the mark."""
    wanted = section(desired, "spec").get("paused", before)
    operations = [tested(pool), {"op": "remove", "path": mark}]
    if wanted is True and before is not True:
        operations.append({"op": "add", "path": _PAUSED_PATH, "value": "true"})
    if wanted is not None:
        operations.append({"op": "add", "path": "/spec/paused", "value": wanted})
    elif "paused" in section(pool, "spec"):
        operations.append({"op": "remove", "path": "/spec/paused"})
    return PoolPatch(name_of(pool), tuple(operations))


def paused_in_git(manifest: JsonObject | None) -> bool:
    return section(manifest, "spec").get("paused") is True


def is_paused(pool: JsonObject) -> bool:
    return section(pool, "spec").get("paused") is True


def freed_by_git(pool: JsonObject, manifest: JsonObject | None) -> bool:
    """Whether a pool stands still only because its manifest once said so, and says so no more."""
    return is_paused(pool) and PAUSED_ANNOTATION in annotations_of(pool) and not paused_in_git(manifest)


def pausing(pool: JsonObject) -> PoolPatch:
    """Pause a pool because its manifest says so, and remember on it that it was us."""
    return marking(pool, _PAUSED_PATH, "true")


def freeing(pool: JsonObject) -> PoolPatch:
    """Let a pool run again that its manifest had paused."""
    operations: list[JsonObject] = [
        tested(pool),
        {"op": "remove", "path": _PAUSED_PATH},
        {"op": "add", "path": "/spec/paused", "value": False},
    ]
    return PoolPatch(name_of(pool), tuple(operations))


def renders_while_paused(pool: JsonObject, mark: Mark) -> bool:
    """Whether the operator has rendered since we paused the pool. Then it is to be waited for, until what it rendered is the
    merge, or until it says that it cannot; if it has not, it may never render while paused: do not wait.
    """
    return rendered_name(pool) != mark.rendered


def tested(pool: JsonObject) -> JsonObject:
    """The operation by which the server refuses a patch of anything but what it was decided on."""
    return {"op": "test", "path": "/metadata/resourceVersion", "value": resource_version(pool)}
