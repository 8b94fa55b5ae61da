"""The transport without sockets."""

from __future__ import annotations

import pytest

from gitops_mc.app.ports import Request
from gitops_mc.core.errors import UnreachableError
from gitops_mc.sandbox.apiserver import ADMIN_TOKEN
from gitops_mc.sandbox.transport import DirectTransport
from tests.sandbox.apiserver_asking import NODES, Asking


def test_a_request_goes_to_the_cluster_it_names_under_the_token_of_the_transport() -> None:
    fleet = {name: Asking(name).server for name in ("edge-01", "edge-02")}
    request = Request("GET", NODES, token="of-the-caller")
    assert DirectTransport(fleet, ADMIN_TOKEN).send("edge-02", request, timeout=1).status == 200
    assert DirectTransport(fleet, "nobody").send("edge-02", request, timeout=1).status == 401


def test_a_cluster_that_is_not_or_no_longer_in_the_fleet_is_unreachable() -> None:
    fleet = {"edge-01": Asking("edge-01").server}
    transport = DirectTransport(fleet, ADMIN_TOKEN)
    assert transport.send("edge-01", Request("GET", NODES), timeout=1).status == 200
    del fleet["edge-01"]
    with pytest.raises(UnreachableError, match="edge-01"):
        transport.send("edge-01", Request("GET", NODES), timeout=1)


def test_the_token_does_not_show() -> None:
    assert "secret" not in repr(DirectTransport({}, "secret"))
