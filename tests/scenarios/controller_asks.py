"""What somebody does with kubectl to a controller's objects, as data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Deed(StrEnum):
    """What somebody does with kubectl to the objects on global."""

    ANNOTATE = "annotate"
    EDIT = "edit spec"
    DELETE = "delete the object"
    UNLABEL = "take the label off"
    WIPE = "wipe the status"
    SCRIBBLE = "write to the object again and again"


@dataclass(frozen=True, slots=True)
class Ask:
    """At a time: an annotation (verb and value) or an edit of a spec, on a cluster's object, or the Fleet's (`""`)."""

    at: float
    deed: Deed
    cluster: str = ""
    verb: str = ""
    value: str = ""
    """Of an annotation."""
    spec: tuple[tuple[str, object], ...] = ()
    seconds: float = 0
    """How long the scribbling goes on."""
