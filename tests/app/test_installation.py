"""The identity of an installation: made once, whoever is first, and never taken for nothing."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from gitops_mc.app.api import ClusterApi
from gitops_mc.app.ports import Request, Response
from gitops_mc.app.use_cases.installation import (
    INSTALLATION,
    INSTALLATION_NAMESPACE,
    identity_of,
    made_identity,
)
from gitops_mc.core.errors import UsageError
from gitops_mc.core.model import GLOBAL_CLUSTER
from gitops_mc.sandbox.apiserver import ADMIN_TOKEN, ApiServer
from gitops_mc.sandbox.transport import DirectTransport
from gitops_mc.sandbox.virtual import VirtualClock


class Site:
    """Global, where somebody else may be a moment faster than us."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.server = ApiServer(GLOBAL_CLUSTER, now=self.clock.now)
        self._inner = DirectTransport({GLOBAL_CLUSTER: self.server}, ADMIN_TOKEN)
        self.before_a_write: Callable[[], None] | None = None
        self.api = ClusterApi(self, self.clock, jitter=lambda: 0.0)

    def send(self, cluster: str, request: Request, *, timeout: float) -> Response:
        if request.method == "POST" and (first := self.before_a_write) is not None:
            self.before_a_write = None
            first()
        return self._inner.send(cluster, request, timeout=timeout)

    def make(self, data: dict[str, str]) -> None:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": INSTALLATION}, "data": data}
        path = f"/api/v1/namespaces/{INSTALLATION_NAMESPACE}/configmaps"
        answer = self.server.handle(Request("POST", path, body=json.dumps(body).encode(), token=ADMIN_TOKEN))
        assert answer.status == 201, answer.body


@pytest.fixture
def site() -> Site:
    return Site()


def test_it_is_made_on_first_use_and_stays(site: Site) -> None:
    assert identity_of(site.api) == ""
    assert made_identity(site.api, lambda: "one") == "one"
    assert made_identity(site.api, lambda: "two") == "one"
    assert identity_of(site.api) == "one"


def test_of_two_who_begin_together_the_first_one_names_it(site: Site) -> None:
    site.before_a_write = lambda: site.make({"identity": "the other's"})
    assert made_identity(site.api, lambda: "ours") == "the other's"


def test_a_config_map_that_names_none_is_told_and_not_written_over(site: Site) -> None:
    site.make({"other": "x"})
    with pytest.raises(UsageError, match="names no identity"):
        made_identity(site.api, lambda: "ours")
    assert identity_of(site.api) == ""
