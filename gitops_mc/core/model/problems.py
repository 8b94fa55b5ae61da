"""What is wrong in the input: where, whom it blocks, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

BodyPath: TypeAlias = tuple[str | int, ...]
"""Where something stands in an object: keys, and positions in lists."""


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Where something stands: a path inside the repository, and line and column from 1 (0: the file as a whole)."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return self.file if not self.line else f"{self.file}:{self.line}:{self.column}"


class Severity(StrEnum):
    """ERROR blocks its scope; WARNING is shown and blocks nothing."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class FleetScope:
    """The whole fleet: fleet.yaml, or the source itself."""

    def __str__(self) -> str:
        return "fleet"


@dataclass(frozen=True, slots=True)
class SharedScope:
    """The clusters that use a shared set; `path` as in `shared/base`."""

    path: str

    def __str__(self) -> str:
        return self.path


@dataclass(frozen=True, slots=True)
class ClusterScope:
    """One cluster."""

    cluster: str

    def __str__(self) -> str:
        return f"cluster {self.cluster}"


Scope: TypeAlias = FleetScope | SharedScope | ClusterScope


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong in the input: where, which field, what, and what to do about it."""

    place: Place
    rule: str
    """Id of the rule in the table of `gitops_mc.core.rules`, for instance `yaml-duplicate-key`."""
    field: str
    """Dotted path inside the manifest, `""` for the document as a whole."""
    message: str
    hint: str
    scope: Scope
    severity: Severity = Severity.ERROR

    def sort_key(self) -> tuple[Place, str, str, str, str]:
        return (self.place, self.rule, self.field, self.message, str(self.scope))


def sorted_problems(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """All problems, each once, by place."""
    unique = {(*p.sort_key(), p.severity): p for p in problems}
    return tuple(sorted(unique.values(), key=Problem.sort_key))


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem before it has a place: found in one manifest's body, at a path in it."""

    path: BodyPath
    rule: str
    message: str
    hint: str
    severity: Severity = Severity.ERROR


def dotted(path: BodyPath) -> str:
    """`("spec", "files", 0, "path")` as `spec.files[0].path`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else (f".{part}" if text else part)
    return text
