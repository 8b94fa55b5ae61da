"""What humans order is kept: judged on what the servers accepted, and on what stood ordered when it was decided."""

from __future__ import annotations

from gitops_mc.core.model import JsonObject, annotations_of
from tests.scenarios.invariants.evidence import Evidence, kind_of, told
from tests.scenarios.recording import OurWrite
from tests.scenarios.repository import MARKER
from tests.scenarios.witness import BRACKET

ABORT = "gitops-mc.io/aborted"


def nothing_is_written_while_suspended(e: Evidence) -> None:
    """Not even to close a bracket; a call that was on its way comes in all the same."""
    for one in _decided(e):
        if e.s.acts[one.look].suspended and not pauses_for_an_abort(one):
            e.fail(f"1: {told(one)} while the rollout is suspended")


def nothing_is_written_after_an_abort_but_the_pause(e: Evidence) -> None:
    """And that only of pools that were not paused, and are not marked by a step of ours."""
    for one in _decided(e):
        if e.s.acts[one.look].abort(one.cluster) is None:
            continue
        if not pauses_for_an_abort(one):
            e.fail(f"1: {told(one)} after {one.cluster} was aborted")
        before = one.write.before or {}
        if before["spec"].get("paused") or BRACKET in annotations_of(before):
            e.fail(f"2: {told(one)} for an abort, and it was paused already")


def no_step_begins_where_a_cluster_is_held(e: Evidence) -> None:
    """What begins one: no memory of it at the pass before, or another one's."""
    for one in _decided(e):
        if one.cluster not in e.s.acts[one.look].held or one.look == 0 or touches_an_abort(one):
            continue
        now, before = e.memory(one).step, e.s.looks[one.look - 1].memory.cluster(one.cluster).step
        if now is not None and (before is None or before.step != now.step):
            e.fail(f"1: {told(one)} begins {now.step} although {one.cluster} is held")


def a_rollback_touches_no_module(e: Evidence) -> None:
    """What the failed content wrote of modules stays."""
    for one in _decided(e):
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
    for one in _decided(e):
        memory = e.memory(one)
        bad = MARKER in str((one.write.after or {}).get("spec"))
        if memory.rolled_back and kind_of(one) == "machineconfigs" and bad:
            was = MARKER in str((one.write.before or {}).get("spec"))
            if not was:
                e.fail(f"5: {told(one)} brings back what was rolled back")


def pauses_for_an_abort(one: OurWrite) -> bool:
    """Whether a write pauses a pool because of an abort, and does nothing else."""
    return _abort_marks(one) == (False, True) and _paused(one.write.after)


def touches_an_abort(one: OurWrite) -> bool:
    """Whether it sets or takes off an abort's mark."""
    before, after = _abort_marks(one)
    return before != after


def _abort_marks(one: OurWrite) -> tuple[bool, bool]:
    if kind_of(one) != "machineconfigpools":
        return False, False
    before, after = (ABORT in annotations_of(body or {}) for body in (one.write.before, one.write.after))
    return before, after


def _paused(pool: JsonObject | None) -> bool:
    return bool(((pool or {}).get("spec") or {}).get("paused"))


def _decided(e: Evidence) -> list[OurWrite]:
    """Writes of the pass that they are noted under; one that a dead process sent may have been decided before."""
    return [one for one in e.s.ours if not one.stray]
