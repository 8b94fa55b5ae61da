"""A process that dies at a given call: before it is sent, or after it has taken effect and before the answer is used."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import Enum

from gitops_mc.app.ports import Request, Response, Transport


class Killed(BaseException):
    """The end of the process: nothing of ours catches it."""


class Moment(Enum):
    BEFORE = "before"
    AFTER = "after"


@dataclass
class Counted:
    """Numbers every call from 1, and ends the process at one of them."""

    inner: Transport
    kill_at: int | None = None
    moment: Moment = Moment.BEFORE
    calls: list[tuple[str, str]] = field(default_factory=list)

    def send(self, cluster: str, request: Request, *, timeout: float) -> Response:
        self.calls.append((request.method, f"{cluster}{request.path}{'?dry' if is_dry_run(request) else ''}"))
        if self.kill_at == len(self.calls) and self.moment is Moment.BEFORE:
            raise Killed
        answer = self.inner.send(cluster, request, timeout=timeout)
        if self.kill_at == len(self.calls):
            raise Killed
        return answer


def is_dry_run(request: Request) -> bool:
    """Whether the server only says what it would do; a deletion carries that in its options (Kubernetes API)."""
    if request.method == "DELETE" and request.body:
        return "dryRun" in json.loads(request.body)
    return ("dryRun", "All") in request.query
