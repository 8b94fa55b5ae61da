"""What is noted while a simulation is played: looks at clusters, and the writes that were decided on them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from gitops_mc.core.model import APPLIED_ANNOTATION, FLEET_LABEL, JsonObject
from gitops_mc.sandbox.apiserver import AcceptedWrite

_MARKS = {("labels", FLEET_LABEL), ("annotations", APPLIED_ANNOTATION)}


@dataclass(frozen=True, slots=True)
class Read:
    """A look at a cluster's pools; `seq`: the last write its server had accepted by then."""

    at: datetime
    seq: int
    answered: bool


@dataclass(frozen=True, slots=True)
class OurWrite:
    """A write of ours that a server accepted, and what it was decided on."""

    cluster: str
    """The cluster it is for: a ModuleInfo stands on global and is for another."""
    server: str
    write: AcceptedWrite
    read: int
    """Index of the last look at that cluster before it."""
    look: int
    """Index of the pass that decided it."""
    stray: bool = False
    """It came in with a later one: a process that was dead by then had sent it, so the pass is not the one that decided it."""


def unmarks(write: AcceptedWrite) -> bool:
    """Whether a write takes our marks off an object, and changes nothing else."""
    if write.before is None or write.after is None or write.before.get("spec") != write.after.get("spec"):
        return False
    before, after = _notes(write.before), _notes(write.after)
    gone = before.keys() - after.keys()
    return bool(gone) and gone <= _MARKS and after.items() <= before.items()


def _notes(body: JsonObject) -> dict[tuple[str, str], object]:
    """Labels and annotations."""
    meta = body["metadata"]
    return {
        (kind, key): value
        for kind in ("labels", "annotations")
        for key, value in (meta.get(kind) or {}).items()
    }
