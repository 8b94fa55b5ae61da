from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from gitops_mc.app.ports import Request, Response
from gitops_mc.app.stopping import ReadOnlyOnce
from gitops_mc.core.errors import UnreachableError


@dataclass
class Counted:
    sent: list[str] = field(default_factory=list)

    def send(self, cluster: str, request: Request, *, timeout: float) -> Response:
        self.sent.append(request.method)
        return Response(200, b"{}")


def test_after_the_stop_reads_go_on_and_no_write_is_sent() -> None:
    inner, stopped = Counted(), False
    transport = ReadOnlyOnce(inner, lambda: stopped)
    transport.send("edge-1", Request("PATCH", "/x"), timeout=1)
    stopped = True
    transport.send("edge-1", Request("GET", "/x"), timeout=1)
    for method in ("PATCH", "POST", "PUT", "DELETE"):
        with pytest.raises(UnreachableError, match="the end was asked for"):
            transport.send("edge-1", Request(method, "/x"), timeout=1)
    assert inner.sent == ["PATCH", "GET"]
