"""Rules about the annotations by which a manifest speaks to gitops-mc."""

from __future__ import annotations

from difflib import get_close_matches

from gitops_mc.core.model import (
    ADOPT_ANNOTATION,
    DOWNGRADE_ANNOTATION,
    PRUNE_ANNOTATION,
    JsonObject,
    Kind,
)
from gitops_mc.core.rules.row import Found
from gitops_mc.core.rules.shapes import at, mapping, text

_PREFIX = "gitops-mc.io/"
_KNOWN = (ADOPT_ANNOTATION, DOWNGRADE_ANNOTATION, PRUNE_ANNOTATION)
_PRUNE_VALUES = ("disabled", "confirmed")


def unknown_annotation(body: JsonObject) -> Found:
    """A slip of the pen in `gitops-mc.io/prune` would leave an object unprotected without a word."""
    for key in mapping(at(body, "metadata", "annotations")):
        if key.startswith(_PREFIX) and key not in _KNOWN:
            close = get_close_matches(key, _KNOWN, n=1)
            yield (
                ("metadata", "annotations", key),
                f"there is no annotation {key}",
                f"did you mean {close[0]}?" if close else f"known are {', '.join(_KNOWN)}",
            )


def annotation_value(body: JsonObject) -> Found:
    annotations = mapping(at(body, "metadata", "annotations"))
    prune = annotations.get(PRUNE_ANNOTATION)
    if prune is not None and prune not in _PRUNE_VALUES:
        yield (
            ("metadata", "annotations", PRUNE_ANNOTATION),
            f"{PRUNE_ANNOTATION} is {prune!r}",
            "write disabled (never delete) or confirmed (delete what is only deleted on request)",
        )
    adopt = annotations.get(ADOPT_ANNOTATION)
    if adopt is not None and not all(name.strip() for name in text(adopt).split(",")):
        yield (
            ("metadata", "annotations", ADOPT_ANNOTATION),
            f"{ADOPT_ANNOTATION} names no manager, or an empty one",
            "name the managers whose fields are taken over, with commas between them",
        )
    downgrade = annotations.get(DOWNGRADE_ANNOTATION)
    if downgrade is None:
        return
    path = ("metadata", "annotations", DOWNGRADE_ANNOTATION)
    if body.get("kind") != Kind.MODULE_INFO:
        yield path, f"{DOWNGRADE_ANNOTATION} has a meaning on a ModuleInfo only", "remove it"
    elif downgrade != at(body, "spec", "version"):
        yield (
            path,
            f"{DOWNGRADE_ANNOTATION} names {downgrade}, but spec.version is another",
            "it names the very version that may be gone down to",
        )
