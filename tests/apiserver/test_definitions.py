"""Our own definitions of the platform's kinds mean what the platform's mean."""

from __future__ import annotations

import pytest

from tests.apiserver.clusters import RealClusters, clear, install, machine_definitions
from tests.apiserver.rights import ADMIN
from tests.sandbox.transcripts import EMPTIED, REQUESTS, replayed


@pytest.mark.apiserver
def test_a_server_with_our_definitions_answers_what_one_with_the_platforms_has_answered(
    real_clusters: RealClusters,
) -> None:
    real_clusters.start("edge-01")
    server = real_clusters.servers["edge-01"]
    clear(server)
    install(server, *machine_definitions())
    rows = replayed(lambda: server, ADMIN.token)
    assert sum(number >= 0 for _, number in rows) == REQUESTS
    assert {key for key, (_, right, found) in rows.items() if found != right} == EMPTIED
