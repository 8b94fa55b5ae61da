"""A problem in a file's bytes, before the file has a name and a scope: what can be cached with the bytes."""

from __future__ import annotations

from dataclasses import dataclass

from gitops_mc.core.model import BodyPath, Place, Problem, Scope, Severity, dotted


@dataclass(frozen=True, slots=True)
class Flaw:
    """Line and column count from 1; line 0 is the file as a whole."""

    line: int
    column: int
    rule: str
    path: BodyPath
    message: str
    hint: str
    severity: Severity = Severity.ERROR

    def in_file(self, file: str, scope: Scope) -> Problem:
        return Problem(
            place=Place(file, self.line, self.column),
            rule=self.rule,
            field=dotted(self.path),
            message=self.message,
            hint=self.hint,
            scope=scope,
            severity=self.severity,
        )
