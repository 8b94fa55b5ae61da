"""The API contract: what the product relies on when it talks to a Kubernetes API server.

The tests ask through the Transport port alone, so that they say the same of the embedded server and of a real one
behind the platform's gateway. The fixture below decides which: the embedded one, carried in both ways there are, and,
where `make test-apiserver` asks for it, a real kube-apiserver. Each test makes its own names, so that none depends on
what another left behind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitops_mc.adapters.kube import GatewayTransport
from gitops_mc.app.ports import Transport
from gitops_mc.sandbox.apiserver import ApiServer, Rule, User
from gitops_mc.sandbox.behind import Server
from gitops_mc.sandbox.gateway import start
from gitops_mc.sandbox.transport import DirectTransport
from tests.apiserver import rights
from tests.apiserver.clusters import RealClusters, install, machine_definitions
from tests.contracts.api import EDGE, Api
from tests.contracts.watching import Watched

ADMIN, READER = "contract-admin", "contract-reader"
REAL_TOKENS = {ADMIN: rights.ADMIN.token, READER: rights.READER.token}


def _embedded() -> ApiServer:
    reading = (Rule(verbs=("get", "list", "watch")),)
    server = ApiServer(
        EDGE,
        now=lambda: datetime(2026, 1, 1, tzinfo=UTC),
        tokens={ADMIN: User("admin"), READER: User("reader", reading)},
    )
    server.install_machine_apis()
    return server


@dataclass(frozen=True, slots=True)
class Served:
    """The server that is asked: by transports, each for a token, or past them, as an administrator."""

    transport: Callable[[str], Transport]
    server: Server
    admin: str
    forget: Callable[[], None]
    """Makes it forget its oldest versions."""


@pytest.fixture(
    scope="session", params=["in-process", "over-http", pytest.param("real", marks=pytest.mark.apiserver)]
)
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Asked straight, or through the gateway by the product's own adapter."""
    match request.param:
        case "in-process":
            server = _embedded()
            yield Served(lambda token: DirectTransport({EDGE: server}, token), server, ADMIN, server.compact)
        case "over-http":
            server = _embedded()
            with _over_http({EDGE: server}, {}, tmp_path_factory.mktemp("tokens")) as transport:
                yield Served(transport, server, ADMIN, server.compact)
        case _:
            real: RealClusters = request.getfixturevalue("real_clusters")
            real.start(EDGE)
            install(real.servers[EDGE], *machine_definitions())
            with _over_http(real.servers, REAL_TOKENS, tmp_path_factory.mktemp("tokens")) as transport:
                # what was before it started, its first versions among it, it never knew
                yield Served(transport, real.servers[EDGE], REAL_TOKENS[ADMIN], lambda: None)


@contextmanager
def _over_http(
    servers: Mapping[str, Server], tokens: Mapping[str, str], folder: Path
) -> Iterator[Callable[[str], Transport]]:
    gateway = start(servers)
    made: dict[str, GatewayTransport] = {}

    def over_http(name: str) -> Transport:
        if name not in made:
            (folder / name).write_text(tokens.get(name, name))
            made[name] = GatewayTransport(gateway.url, folder / name)
        return made[name]

    yield over_http
    for transport in made.values():
        transport.close()
    gateway.stop()


@pytest.fixture
def transport_of(served: Served) -> Callable[[str], Transport]:
    """A transport for a token."""
    return served.transport


@pytest.fixture
def watched(served: Served) -> Watched:
    """The same server, to be watched."""
    return Watched(served.server, served.admin, served.forget)


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
