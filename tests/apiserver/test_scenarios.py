"""The engine's scenarios on real API servers: the sandbox's operators, nodes and platform are ordinary clients there.

Time is virtual, as in the sandbox: only the servers are others. The product has the rights that `doctor` asks about and
no more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import pytest

from gitops_mc.sandbox.behind import FleetServer
from tests.apiserver.clusters import RealClusters, clear
from tests.apiserver.observed import ObservedServer
from tests.scenarios import test_failures, test_groups, test_rollout
from tests.scenarios.rollout_world import GROUND, Ground

pytestmark = pytest.mark.apiserver

SCENARIOS = (
    test_rollout.test_a_config_reaches_every_cluster_canary_first_and_each_worker_reboots_once,
    test_failures.test_a_degraded_canary_halts_the_rollout_and_no_other_cluster_is_written_for,
    test_failures.test_the_repair_goes_through_the_halt_and_then_everywhere,
    test_groups.test_a_pool_another_has_paused_is_named_and_never_unpaused,
    test_groups.test_a_new_pool_pauses_only_the_pools_that_it_touches,
)


@pytest.fixture
def real_ground(real_clusters: RealClusters) -> Iterator[list[ObservedServer]]:
    """Worlds stand on real servers, each emptied before; given are those that are in use."""
    used: list[ObservedServer] = []

    def make(name: str, now: Callable[[], datetime]) -> FleetServer:
        real_clusters.start(name)
        clear(real_clusters.servers[name])
        used.append(ObservedServer(real_clusters.servers[name], now))
        return used[-1]

    # not before the servers' own time, which stands in what they create
    token = GROUND.set(Ground(make, datetime.now(UTC).replace(microsecond=0)))
    yield used
    GROUND.reset(token)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__.removeprefix("test_"))
def test_on_real_api_servers(scenario: Callable[[], None], real_ground: list[ObservedServer]) -> None:
    scenario()
    assert sum(len(server.writes) for server in real_ground) > 0
    assert [refused for server in real_ground for refused in server.refused] == []
