"""The invariants of a rollout, checked on what the API servers accepted, after a simulation.

The numbers are those of docs/testing.md.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.scenarios.invariants import failures, knowledge, orders, pools, waves, ways_back, windows
from tests.scenarios.invariants.evidence import BrokenError, Evidence
from tests.scenarios.simulation import Simulation

INVARIANTS: tuple[Callable[[Evidence], None], ...] = (
    failures.comes_to_an_end,
    pools.touches_only_settled_pools,
    pools.nodes_never_start_on_half_of_a_step,
    pools.never_unpauses_what_another_paused,
    pools.the_policy_shows_before_its_config_is_written,
    knowledge.nothing_is_written_unseen,
    knowledge.what_was_changed_by_hand_stays,
    knowledge.without_memory_nothing_that_stands_is_changed,
    knowledge.deletes_only_its_own,
    failures.bad_content_stays_where_it_failed,
    failures.nothing_fails_without_a_cause,
    failures.nothing_fails_in_calm_weather,
    failures.a_repair_gets_in,
    orders.nothing_is_written_while_suspended,
    orders.nothing_is_written_after_an_abort_but_the_pause,
    orders.no_step_begins_where_a_cluster_is_held,
    orders.an_abort_stops_what_rolls,
    orders.what_is_done_leaves_no_pool_stopped,
    ways_back.a_rollback_goes_to_what_passed,
    ways_back.only_retries_what_a_human_lets_in_again,
    ways_back.a_rollback_touches_no_module,
    ways_back.what_was_rolled_back_stays_out,
    ways_back.forgetting_takes_our_marks_off_and_nothing_else,
    waves.keeps_waves_and_budgets,
    waves.a_wave_soaks_before_the_next_one_starts,
    waves.manual_waves_are_approved,
    waves.disrupts_within_the_bound,
    waves.what_has_passed_is_left_alone,
    knowledge.passed_clusters_stood_as_git_says,
    windows.steps_begin_in_their_window,
)


class Checks:
    """All invariants of one played simulation."""

    def __init__(self, simulation: Simulation) -> None:
        self.evidence = Evidence(simulation)

    def everything(self) -> None:
        """Raises BrokenError for the first that does not hold."""
        for invariant in INVARIANTS:
            invariant(self.evidence)


__all__ = ["INVARIANTS", "BrokenError", "Checks", "Evidence"]
