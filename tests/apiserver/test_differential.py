"""A real API server and the embedded one answer the same to whatever they are asked about the kinds that the product writes."""

from __future__ import annotations

import os
from datetime import UTC, datetime

import pytest

from gitops_mc.sandbox.apiserver import ADMIN_TOKEN, ApiServer
from tests.apiserver.clusters import RealClusters, clear, install, machine_definitions
from tests.apiserver.differential import Peer, answered, clean, left
from tests.apiserver.drawn_requests import sequence
from tests.apiserver.rights import ADMIN

SEQUENCES = int(os.environ.get("DIFFERENTIAL_SEQUENCES", "300"))
STEPS = 10


@pytest.fixture(scope="module")
def real(real_clusters: RealClusters) -> Peer:
    real_clusters.start("global")
    server = real_clusters.servers["global"]
    clear(server)
    install(server, *machine_definitions())
    return Peer(server, ADMIN.token)


def _embedded() -> Peer:
    server = ApiServer("global", now=lambda: datetime(2026, 1, 1, tzinfo=UTC))
    server.install_machine_apis()
    return Peer(server, ADMIN_TOKEN)


@pytest.mark.apiserver
@pytest.mark.parametrize("seed", range(SEQUENCES))
def test_both_answer_a_sequence_of_random_requests_alike(real: Peer, seed: int) -> None:
    kind, steps = sequence(seed, STEPS)
    names = tuple(sorted({step.name for step in steps}))
    embedded = _embedded()
    try:
        for number, step in enumerate(steps):
            told = "\n".join(map(str, steps[: number + 1]))
            assert answered(embedded, kind, step) == answered(real, kind, step), told
        for name in names:
            assert left(embedded, kind, name) == left(real, kind, name)
    finally:
        clean(real, kind, names)
