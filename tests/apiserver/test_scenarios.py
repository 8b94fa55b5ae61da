"""The engine's scenarios on real API servers: the sandbox's operators, nodes and platform are ordinary clients there.

Time is virtual, as in the sandbox: only the servers are others. The product has the rights that `doctor` asks about and
no more. These are some; `-p tests.apiserver.everywhere` puts all scenarios there.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.apiserver.clusters import RealClusters
from tests.apiserver.ground import check, real_ground
from tests.scenarios import (
    test_crashes,
    test_deletion,
    test_failures,
    test_first_contact,
    test_groups,
    test_modules,
    test_policy,
    test_rollout,
)


def a_bracketed_step() -> None:
    test_groups.test_everything_that_touches_the_pools_is_one_step_and_each_node_reboots_once(None)


SCENARIOS: tuple[Callable[[], None], ...] = (
    test_rollout.test_a_config_reaches_every_cluster_canary_first_and_each_worker_reboots_once,
    test_failures.test_a_degraded_canary_halts_the_rollout_and_no_other_cluster_is_written_for,
    test_failures.test_the_repair_goes_through_the_halt_and_then_everywhere,
    a_bracketed_step,
    test_groups.test_a_pool_another_has_paused_is_named_and_never_unpaused,
    test_groups.test_a_new_pool_pauses_only_the_pools_that_it_touches,
    test_policy.test_entries_that_go_stay_until_the_configs_are_through_and_what_comes_is_there_before,
    test_policy.test_entries_that_only_go_are_one_write_and_another_owners_entry_stays,
    test_modules.test_an_unpublished_version_waits_named_and_goes_on_when_it_is_published,
    test_deletion.test_within_its_limits_prune_deletes_exactly_what_is_gone,
    test_deletion.test_machine_config_is_removed_only_after_a_commit_that_confirms_it,
    test_first_contact.test_other_values_made_by_kubectl_are_a_conflict_that_names_who_and_how_to_take_over,
    test_first_contact.test_an_emergency_edit_is_listed_and_left_alone_while_git_does_not_change_it,
    test_crashes.test_killed_at_a_few_writes_of_a_bracket_on_whatever_servers_there_are_it_ends_the_same,
)


def _named(scenario: Callable[[], None]) -> str:
    return scenario.__name__.removeprefix("test_")


@pytest.mark.apiserver
@pytest.mark.parametrize("scenario", SCENARIOS, ids=_named)
def test_on_real_api_servers(scenario: Callable[[], None], real_clusters: RealClusters) -> None:
    with real_ground(real_clusters) as used:
        scenario()
    check(used)
