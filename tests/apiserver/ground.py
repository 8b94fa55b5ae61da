"""Worlds of the scenarios on real API servers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest

from gitops_mc.sandbox.behind import FleetServer
from tests.apiserver.clusters import RealClusters, clear
from tests.apiserver.observed import ObservedServer
from tests.scenarios.rollout_world import GROUND, Ground

_MOST = 9
"""API servers that run side by side, of about 300 MiB each."""


@contextmanager
def real_ground(real_clusters: RealClusters) -> Iterator[list[ObservedServer]]:
    """Every world that is built in here stands on real servers, emptied before; given are those in use. A world that
    wants more of them than there may be is skipped.
    """
    used: list[ObservedServer] = []

    def make(name: str, now: Callable[[], datetime]) -> FleetServer:
        if name not in real_clusters.servers and len(real_clusters.servers) >= _MOST:
            pytest.skip(f"more than {_MOST} API servers are too many for one machine")
        real_clusters.start(name)
        clear(real_clusters.servers[name])
        used.append(ObservedServer(real_clusters.servers[name], now))
        return used[-1]

    # not before the servers' own time, which stands in what they create
    token = GROUND.set(Ground(make, datetime.now(UTC).replace(microsecond=0)))
    try:
        yield used
    finally:
        GROUND.reset(token)


def check(used: list[ObservedServer]) -> None:
    """What holds after every scenario: something was written, and nobody was refused what he needed."""
    assert sum(len(server.writes) for server in used) > 0
    assert [refused for server in used for refused in server.refused] == []
