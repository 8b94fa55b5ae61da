"""Deliberate faults of the controller: each is found by the scenario, or by the seed, that is named here."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gitops_mc.app.controller.lease import LeadershipLostError
from tests.scenarios import test_controller as controller
from tests.scenarios import test_controller_faults_found as found
from tests.scenarios import test_controller_lease as lease
from tests.simulation.controller import play_controller_seed
from tests.simulation.mutants.controller import CONTROLLER_MUTANTS

pytestmark = pytest.mark.slow

SCENARIOS: dict[str, Callable[[], object]] = {
    "requests-off-first": found.test_a_death_between_what_came_of_a_request_and_its_end_loses_nothing,
    "written-over": found.every_order_between_a_look_and_its_keeping,
    "unreadable-is-empty": controller.test_memory_that_cannot_be_understood_shuts_its_cluster_and_is_never_written_over,
    "holds-in-status-alone": found.test_what_is_held_stands_in_spec_after_a_backup_without_status,
    "lease-not-asked": found.test_a_leader_that_is_slow_sends_nothing_once_its_time_is_over,
    "renewed-from-the-answer": found.test_the_time_that_a_renewal_takes_counts_against_the_leader,
    "deadline-beyond-duration": lease.test_a_leader_that_cannot_renew_ends_before_another_may_take_over,
    "approval-outlives": controller.test_an_approval_is_void_once_the_contents_change,
    "standby-acts": lease.test_of_two_processes_one_acts_and_the_other_waits,
    "identity-overlooked": controller.test_another_installation_only_looks,
    "claim-ignored": controller.test_a_cluster_that_another_fleet_has_claimed_is_not_touched,
    "wake-lost": found.test_a_push_that_comes_while_the_repository_is_read_is_not_missed,
    "blocked-followed": controller.test_a_fleet_file_with_problems_is_not_followed_not_even_by_a_process_that_begins_with_it,
    "unsigned-followed": controller.test_a_commit_that_nobody_has_signed_is_not_followed,
    "spec-overlooked": found.test_an_approval_that_is_taken_back_in_spec_opens_no_wave,
    "request-stays": controller.test_a_wave_waits_for_its_approval_and_goes_on_with_it,
    "suspension-seen-late": controller.test_suspended_by_kubectl_patch_nothing_is_written_and_resumed_it_goes_on,
    "hold-overlooked": controller.test_a_held_cluster_begins_nothing_until_it_is_released,
    "resume-leaves-the-abort": found.test_resume_ends_an_abort,
}
LONG = frozenset({"suspension-seen-late"})
SHOWS = (AssertionError, KeyError, LeadershipLostError)
"""How a scenario shows that something is not as it has to be; KeyError: what is to be told is not."""
SEEDS: dict[str, int] = {
    "memory-after-the-move": 0,
    "only-clocks-are-kept": 0,
    "lost-and-goes-on": 3,
}


def test_every_fault_of_the_list_has_what_finds_it() -> None:
    assert {*SCENARIOS, *SEEDS} == CONTROLLER_MUTANTS.keys()
    assert len(CONTROLLER_MUTANTS) >= 20


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow if n in LONG else ()) for n in sorted(SCENARIOS)]
)
def test_a_deliberate_fault_is_found_by_its_scenario(name: str) -> None:
    with CONTROLLER_MUTANTS[name].on(), pytest.raises(SHOWS):
        SCENARIOS[name]()


@pytest.mark.parametrize("name", sorted(SEEDS))
def test_a_deliberate_fault_is_found_by_its_seed(name: str) -> None:
    with CONTROLLER_MUTANTS[name].on():
        outcome = play_controller_seed(SEEDS[name])
    assert outcome.broken, f"{CONTROLLER_MUTANTS[name].sentence}: not found by seed {SEEDS[name]} any more"
