"""The problems of a repository: for people, for programs, and as annotations of two CI systems."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from gitops_mc.core.desired import DesiredState
from gitops_mc.core.model import (
    ClusterScope,
    FleetScope,
    JsonObject,
    Problem,
    Scope,
    Severity,
    SharedScope,
    count,
    digest_of,
)
from gitops_mc.core.render.lines import Line, Tone, one_line

_GITLAB_SEVERITY = {Severity.ERROR: "major", Severity.WARNING: "minor"}


@dataclass(frozen=True, slots=True)
class Summary:
    """What was looked at, and what was found."""

    clusters: int
    objects: int
    errors: int
    warnings: int

    def __str__(self) -> str:
        found = f"{count(self.errors, 'error')}, {count(self.warnings, 'warning')}"
        return f"{count(self.clusters, 'cluster')}, {count(self.objects, 'object')}: {found}"


def summary_of(state: DesiredState) -> Summary:
    """Objects are counted for each cluster that has them."""
    return Summary(
        clusters=len(state.clusters),
        objects=sum(len(cluster.manifests) for cluster in state.clusters),
        errors=sum(1 for problem in state.problems if problem.severity is Severity.ERROR),
        warnings=sum(1 for problem in state.problems if problem.severity is Severity.WARNING),
    )


def problems_text(problems: Iterable[Problem]) -> Iterator[Line]:
    """`file:line:col: error: field: message [rule] (scope)`, and the hint below it."""
    for problem in problems:
        field = f"{problem.field}: " if problem.field else ""
        tone = Tone.BAD if problem.severity is Severity.ERROR else Tone.WARN
        place = f"{problem.place}: " if problem.place.file else ""
        told = f"{place}{problem.severity.value}: {field}{problem.message} [{problem.rule}] ({problem.scope})"
        yield Line(one_line(told), tone)
        if problem.hint:
            yield Line(one_line(f"    {problem.hint}"), Tone.DIM)


def problems_json(problems: Sequence[Problem], summary: Summary) -> JsonObject:
    return {
        "problems": [problem_json(problem) for problem in problems],
        "summary": {
            "clusters": summary.clusters,
            "objects": summary.objects,
            "errors": summary.errors,
            "warnings": summary.warnings,
        },
    }


def problems_github(problems: Iterable[Problem], root: str = "") -> Iterator[Line]:
    """Workflow commands of GitHub Actions. `root` is where the configuration stands in the Git repository."""
    for problem in problems:
        fields = {"file": _below(root, problem.place.file)}
        if problem.place.line:
            fields |= {"line": str(problem.place.line), "col": str(problem.place.column)}
        fields["title"] = problem.rule
        told = ",".join(f"{key}={_property(value)}" for key, value in fields.items() if value)
        yield Line(f"::{problem.severity.value} {told}::{_data(_sentence(problem))}")


def problems_gitlab(problems: Iterable[Problem], root: str = "") -> list[JsonObject]:
    """GitLab's code quality report. A fingerprint does not move with the line, so that a problem stays the same one."""
    found: list[JsonObject] = []
    seen: dict[str, int] = {}
    for problem in problems:
        file = _below(root, problem.place.file) or "fleet.yaml"
        identity = digest_of([file, problem.rule, problem.field, problem.message, str(problem.scope)])
        seen[identity] = seen.get(identity, 0) + 1
        found.append(
            {
                "description": _sentence(problem),
                "check_name": problem.rule,
                "fingerprint": identity if seen[identity] == 1 else digest_of([identity, seen[identity]]),
                "severity": _GITLAB_SEVERITY[problem.severity],
                "location": {"path": file, "lines": {"begin": problem.place.line or 1}},
            }
        )
    return found


def problem_json(problem: Problem) -> JsonObject:
    return {
        "file": problem.place.file,
        "line": problem.place.line,
        "column": problem.place.column,
        "severity": problem.severity.value,
        "rule": problem.rule,
        "field": problem.field,
        "message": problem.message,
        "hint": problem.hint,
        "scope": _scope_json(problem.scope),
    }


def _scope_json(scope: Scope) -> JsonObject:
    match scope:
        case FleetScope():
            return {"kind": "fleet"}
        case SharedScope(path):
            return {"kind": "shared", "path": path}
        case ClusterScope(cluster):
            return {"kind": "cluster", "cluster": cluster}


def _sentence(problem: Problem) -> str:
    field = f"{problem.field}: " if problem.field else ""
    hint = f"; {problem.hint}" if problem.hint else ""
    return f"{field}{problem.message}{hint} ({problem.scope})"


def _below(root: str, file: str) -> str:
    return posixpath.join(root, file) if root and file else file


def _data(text: str) -> str:
    """As GitHub's toolkit escapes the message of a command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
