"""Deliberate faults of what humans order, and of the way back: each is found by the scenario that is there for it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.scenarios import test_orders as ordered
from tests.scenarios import test_rollback as back
from tests.simulation.mutants import MUTANTS

pytestmark = pytest.mark.slow

FINDS: dict[str, Callable[[], None]] = {
    "rollback-retries-what-is-held": back.test_where_a_failure_is_tolerated_the_held_content_is_not_retried_either,
    "abort-unpauses-what-another-paused": ordered.test_an_abort_never_touches_a_pool_that_another_has_paused_nor_does_its_end,
    "suspended-closes-a-bracket": ordered.test_suspended_with_an_open_bracket_it_stays_open_however_long_and_is_closed_on_resume,
    "abort-ends-the-step": ordered.test_an_open_bracket_stays_open_through_an_abort_and_is_ended_on_resume,
    "clocks-run-while-suspended": ordered.test_a_node_that_stands_still_while_suspended_does_not_stall,
    "rollback-writes-modules": back.test_a_rollback_touches_no_module,
}


@pytest.mark.parametrize("name", sorted(FINDS))
def test_a_deliberate_fault_is_found(name: str) -> None:
    with MUTANTS[name].on(), pytest.raises(AssertionError):
        FINDS[name]()
