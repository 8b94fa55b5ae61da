"""The way back and what is tried again: only where it may be, only what was asked for, and what was forgotten is left alone."""

from __future__ import annotations

from gitops_mc.core.policy import OnFailure
from gitops_mc.core.rollout.memory import FailureCause, Rollback
from tests.scenarios.drawn_orders import Order
from tests.scenarios.invariants.evidence import Evidence, kind_of, told
from tests.scenarios.invariants.orders import decided
from tests.scenarios.recording import unmarks
from tests.scenarios.repository import MARKER


def a_rollback_goes_to_what_passed(e: Evidence) -> None:
    """To a content that the cluster was seen to pass, and that did not fail; because fleet.yaml or a human says so, and for a
    failure of its pools alone.
    """
    for name in e.orders:
        passed: set[object] = set()
        before = None
        for number, look in enumerate(e.s.looks):
            memory = look.memory.cluster(name)
            back = memory.rollback if memory.rolled_back else None
            if back is not None and back != before:
                _must_be_a_way_back(e, name, number, back, passed)
            if memory.out:
                passed.add(memory.passed)
            before = back


def _must_be_a_way_back(e: Evidence, name: str, number: int, back: Rollback, passed: set[object]) -> None:
    at = f"{e.s.times[number]:%H:%M:%S}"
    if back.to not in passed or back.to == back.failed.content:
        e.fail(f"5: {name} is rolled back at {at} to {back.to[:12]}, which has not passed there")
    if back.failed.cause is not FailureCause.CONFIG:
        e.fail(f"5: {name} is rolled back at {at} from what failed for {back.failed.cause.value}")
    by_policy = e.s.heads[number].policy.rollout.on_failure is OnFailure.ROLLBACK
    asked = any(x.what is Order.ROLLBACK and x.concerns(name) and x.at <= e.s.times[number] for x in e.s.said)
    if not by_policy and not asked:
        e.fail(f"5: {name} is rolled back at {at}, and nobody has asked for it")


def only_retries_what_a_human_lets_in_again(e: Evidence) -> None:
    """What is written through a halt as a retry was asked for."""
    for name in e.orders:
        for number, look in enumerate(e.s.looks):
            if look.memory.cluster(name).retrying and not any(
                x.what is Order.RETRY and x.concerns(name) and x.at <= e.s.times[number] for x in e.s.said
            ):
                e.fail(f"5: {name} is retried at {e.s.times[number]:%H:%M:%S}, and nobody has asked for it")


def a_rollback_touches_no_module(e: Evidence) -> None:
    """What the failed content wrote of modules stays."""
    for one in decided(e):
        if kind_of(one) == "moduleinfoes" and e.memory(one).rolled_back:
            e.fail(f"5: {told(one)} in a rollback")


def what_was_rolled_back_stays_out(e: Evidence) -> None:
    """While a content is held after a rollback, it is not what the cluster is started with."""
    for number, look in enumerate(e.s.looks):
        for name in e.orders:
            memory = look.memory.cluster(name)
            if memory.rollback is None or not memory.rolled_back:
                continue
            before = e.s.looks[number - 1].memory.cluster(name) if number else memory
            if (
                before.rolled_back
                and before.rollback == memory.rollback
                and memory.started != memory.rollback.to
            ):
                e.fail(f"5: {name} is given what it was rolled back from")
    _bad_is_not_written_again(e)


def _bad_is_not_written_again(e: Evidence) -> None:
    for one in decided(e):
        memory = e.memory(one)
        bad = MARKER in str((one.write.after or {}).get("spec"))
        if memory.rolled_back and kind_of(one) == "machineconfigs" and bad:
            was = MARKER in str((one.write.before or {}).get("spec"))
            if not was:
                e.fail(f"5: {told(one)} brings back what was rolled back")


def forgetting_takes_our_marks_off_and_nothing_else(e: Evidence) -> None:
    """Nothing is deleted, nothing of a spec changes, nobody else's mark goes; and that only where somebody forgets."""
    for one in e.s.unmarked:
        what = f"{one.write.verb} of {one.write.resource} {one.write.name} of {one.cluster}"
        if not unmarks(one.write):
            e.fail(f"4: {what}, to forget it, takes off more than our marks")
        if one.cluster not in e.s.forgetting:
            e.fail(f"4: {what} takes our marks off, and nobody forgets it")
