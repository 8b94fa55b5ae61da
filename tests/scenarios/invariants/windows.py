"""No step begins outside its change window, nor where it would not end before the window does."""

from __future__ import annotations

from datetime import datetime, timedelta

from gitops_mc.core.model import annotations_of
from gitops_mc.sandbox.nodes.machine import What
from tests.scenarios.drawn_windows import allowed, per_node, room
from tests.scenarios.invariants.evidence import Evidence, kind_of, told
from tests.scenarios.invariants.orders import touches_an_abort
from tests.scenarios.recording import OurWrite
from tests.scenarios.witness import BRACKET, Standing


def steps_begin_in_their_window(e: Evidence) -> None:
    """Judged at the moment of the decision, by the clock of the machine we run on. The rest of a step that is begun, and
    what frees its pools again, is written at any time.
    """
    windows = e.s.script.windows
    if not windows:
        return
    for cluster in e.orders:
        begun = _begun(e, cluster)
        for position, one in enumerate(begun):
            decided = e.s.looks[one.look].at
            if not allowed(windows, cluster, decided):
                e.fail(f"1: {told(one)}, decided at {decided:%H:%M:%S} outside of its window")
            until = begun[position + 1].write.time if position + 1 < len(begun) else None
            needed = _needed(e, one, until)
            if not room(windows, cluster, decided, needed):
                e.fail(f"1: {told(one)}, decided at {decided:%H:%M:%S}; {needed} do not fit its window")


def _begun(e: Evidence, cluster: str) -> list[OurWrite]:
    """The first write of every step."""
    found: list[OurWrite] = []
    standing = e.standing(cluster)
    before: OurWrite | None = None
    for one in e.by_cluster[cluster]:
        standing.forward(one.write.seq - 1 if one.server == cluster else e.s.reads[cluster][one.read].seq)
        same_move = before is not None and (before.look, before.read) == (one.look, one.read)
        before = one
        if not (one.stray or same_move or _open(standing) or _closes(one) or touches_an_abort(one)):
            found.append(one)
    return found


def _open(standing: Standing) -> bool:
    return any(standing.marked(pool) for pool in standing.of("machineconfigpools"))


def _closes(one: OurWrite) -> bool:
    return kind_of(one) == "machineconfigpools" and BRACKET in annotations_of(one.write.before or {})


def _needed(e: Evidence, one: OurWrite, until: datetime | None) -> timedelta:
    """What the step was to be reckoned with at least: rounds of the nodes that it has rebooted, where nobody else may have."""
    script = e.s.script
    if script.hands or script.troubles:
        return timedelta(0)
    standing = e.standing(one.cluster)  # as the step has left it: nodes may have gone from pool to pool
    standing.forward(max(_seq(e, w) for w in e.by_cluster[one.cluster] if _within(w, one, until)))
    longest = timedelta(0)
    for name, pool in standing.of("machineconfigpools").items():
        nodes = [n for n in standing.members(name) if _rebooted(e, one, n, until)]
        rounds = -(-len(nodes) // max(1, int(pool["spec"].get("maxUnavailable") or 1)))
        longest = max(longest, rounds * per_node(script.seed))
    return longest


def _within(write: OurWrite, one: OurWrite, until: datetime | None) -> bool:
    return write.write.time >= one.write.time and (until is None or write.write.time < until)


def _seq(e: Evidence, one: OurWrite) -> int:
    return one.write.seq if one.server == one.cluster else e.s.reads[one.cluster][one.read].seq


def _rebooted(e: Evidence, one: OurWrite, node: str, until: datetime | None) -> bool:
    return any(
        x.what is What.REBOOTED and x.at > one.write.time and (until is None or x.at <= until)
        for x in e.s.world.fleet.node_log(one.cluster, node).events
    )
