"""952 requests on the machine kinds, and what a real kube-apiserver 1.36 answered: the embedded server says the same."""

from __future__ import annotations

from datetime import UTC, datetime

from gitops_mc.sandbox.apiserver import ADMIN_TOKEN, ApiServer
from tests.sandbox.transcripts import EMPTIED, REQUESTS, replayed


def _server() -> ApiServer:
    server = ApiServer("edge-01", now=lambda: datetime(2026, 1, 1, tzinfo=UTC))
    server.install_machine_apis()
    return server


def test_every_recorded_request_is_answered_as_a_real_server_answered_it() -> None:
    rows = replayed(_server, ADMIN_TOKEN)
    assert sum(number >= 0 for _, number in rows) == REQUESTS
    assert {key for key, (_, right, found) in rows.items() if found != right} == EMPTIED
