"""The API contract: what the product relies on when it talks to a Kubernetes API server.

The tests ask through the Transport port alone, so that they say the same of the embedded server and of a real one
behind the platform's gateway. The fixture below decides which: today it yields the embedded one. Each test makes its
own names, so that none depends on what another left behind.
"""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from gitops_mc.app.ports import Transport
from gitops_mc.sandbox.apiserver import ApiServer, Rule, User
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


@pytest.fixture(scope="session")
def servers() -> dict[str, ApiServer]:
    return {EDGE: _embedded()}


@pytest.fixture
def transport(servers: dict[str, ApiServer]) -> Transport:
    """A transport with every right."""
    return DirectTransport(servers, ADMIN)


@pytest.fixture
def reader(servers: dict[str, ApiServer]) -> Transport:
    """A transport that may read and nothing else."""
    return DirectTransport(servers, READER)


@pytest.fixture
def stranger(servers: dict[str, ApiServer]) -> Transport:
    """A transport with a token that nobody knows."""
    return DirectTransport(servers, "contract-nobody")


@pytest.fixture
def api(transport: Transport, request: pytest.FixtureRequest) -> Api:
    words = "".join(c if c.isalnum() else "-" for c in request.node.name.lower()).strip("-")
    return Api(transport, words[-50:].strip("-"))
