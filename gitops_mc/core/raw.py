"""Reading raw objects without trusting their shape: sections, counts and conditions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gitops_mc.core.model import JsonObject, metadata
from gitops_mc.core.remembered import Remembered


@dataclass(frozen=True, slots=True)
class Condition:
    """One entry of `status.conditions`. `status` is `True`, `False` or `Unknown`, as text."""

    type: str
    status: str
    reason: str
    message: str
    since: str
    """lastTransitionTime as the API says it, or empty."""

    @property
    def holds(self) -> bool:
        return self.status == "True"

    def __str__(self) -> str:
        since = f" since {self.since}" if self.since else ""
        told = ": ".join(part for part in (self.reason, self.message) if part)
        return f"{self.type}={self.status}{since}" + (f" ({told})" if told else "")


def section(obj: Any, *path: str) -> JsonObject:
    """The object at a path, or an empty one where it is absent or something else."""
    for key in path:
        obj = obj.get(key) if isinstance(obj, dict) else None
    return obj if isinstance(obj, dict) else {}


def items(obj: Any, *path: str) -> tuple[JsonObject, ...]:
    """The objects of a list at a path; what is no object is left out."""
    found = section(obj, *path[:-1]).get(path[-1])
    return tuple(item for item in found if isinstance(item, dict)) if isinstance(found, list) else ()


def count(obj: JsonObject, key: str) -> int | None:
    """A whole number, or None where it is absent or something else."""
    found = obj.get(key)
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def text(obj: JsonObject, key: str) -> str:
    found = obj.get(key)
    return found if isinstance(found, str) else ""


def conditions(obj: JsonObject) -> tuple[Condition, ...]:
    """All conditions, by type."""
    return _CONDITIONS.get((obj,), (), lambda: _conditions(obj))


_CONDITIONS: Remembered[tuple[Condition, ...]] = Remembered()


def _conditions(obj: JsonObject) -> tuple[Condition, ...]:
    found = (
        Condition(
            type=text(item, "type"),
            status=text(item, "status"),
            reason=text(item, "reason"),
            message=text(item, "message"),
            since=text(item, "lastTransitionTime"),
        )
        for item in items(obj, "status", "conditions")
    )
    return tuple(sorted(found, key=lambda c: c.type))


def condition(obj: JsonObject, kind: str) -> Condition | None:
    return next((c for c in conditions(obj) if c.type == kind), None)


def lag(obj: JsonObject) -> str:
    """Why the status may be older than the spec, or empty when its controller has seen this generation."""
    generation = count(metadata(obj), "generation")
    observed = count(section(obj, "status"), "observedGeneration")
    if generation is None:
        return "metadata.generation is missing"
    if observed is None:
        return f"status.observedGeneration is missing, generation is {generation}"
    if observed < generation:
        return f"the operator has seen generation {observed}, the object is at {generation}"
    return ""
