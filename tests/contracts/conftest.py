"""The API contract: what the product relies on when it talks to a Kubernetes API server.

The tests ask through the Transport port alone, so that they say the same of the embedded server and of a real one
behind the platform's gateway. The fixture below decides which: today the embedded one, carried in both ways there are.
Each test makes its own names, so that none depends on what another left behind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import pytest

from gitops_mc.adapters.kube import GatewayTransport
from gitops_mc.app.ports import Transport
from gitops_mc.sandbox.apiserver import ApiServer, Rule, User
from gitops_mc.sandbox.gateway import start
from gitops_mc.sandbox.transport import DirectTransport
from tests.contracts.api import EDGE, Api

ADMIN, READER = "contract-admin", "contract-reader"


def _embedded() -> ApiServer:
    reading = (Rule(verbs=("get", "list", "watch")),)
    server = ApiServer(
        EDGE,
        now=lambda: datetime(2026, 1, 1, tzinfo=UTC),
        tokens={ADMIN: User("admin"), READER: User("reader", reading)},
    )
    server.install_machine_apis()
    return server


@pytest.fixture(scope="session", params=["in-process", "over-http"])
def transport_of(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], Transport]]:
    """A transport for a token: straight into the server, or through the gateway by the product's own adapter."""
    servers = {EDGE: _embedded()}
    if request.param == "in-process":
        yield lambda token: DirectTransport(servers, token)
        return
    gateway = start(servers)
    folder = tmp_path_factory.mktemp("tokens")
    made: dict[str, GatewayTransport] = {}

    def over_http(token: str) -> Transport:
        if token not in made:
            (folder / token).write_text(token)
            made[token] = GatewayTransport(gateway.url, folder / token)
        return made[token]

    yield over_http
    for transport in made.values():
        transport.close()
    gateway.stop()


@pytest.fixture
def transport(transport_of: Callable[[str], Transport]) -> Transport:
    """A transport with every right."""
    return transport_of(ADMIN)


@pytest.fixture
def reader(transport_of: Callable[[str], Transport]) -> Transport:
    """A transport that may read and nothing else."""
    return transport_of(READER)


@pytest.fixture
def stranger(transport_of: Callable[[str], Transport]) -> Transport:
    """A transport with a token that nobody knows."""
    return transport_of("contract-nobody")


@pytest.fixture
def api(transport: Transport, request: pytest.FixtureRequest) -> Api:
    words = "".join(c if c.isalnum() else "-" for c in request.node.name.lower()).strip("-")
    return Api(transport, words[-50:].strip("-"))
