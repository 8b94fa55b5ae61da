"""What has failed is held, its repair gets in, and nothing is called failed that is not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from gitops_mc.core.model import DesiredCluster
from gitops_mc.core.rollout.memory import FailureCause
from gitops_mc.core.rollout.moves import Done, Halted, Hold
from gitops_mc.sandbox.nodes.machine import NodeEvent
from tests.scenarios.desk import Said
from tests.scenarios.drawn import Deed
from tests.scenarios.drawn_orders import Order
from tests.scenarios.invariants.evidence import Evidence, kind_of, told
from tests.scenarios.recording import OurWrite
from tests.scenarios.repository import MARKER

GRACE = timedelta(minutes=4)
"""From a node's Degraded to the last write that may have been decided without knowing of it."""
STALL = timedelta(minutes=60)
"""Less than the shortest time after which a pool that stands still is a failure."""


def comes_to_an_end(e: Evidence) -> None:
    """Done, halted, or waiting for an act that is named."""
    outlook = e.s.outlook
    if not e.s.settled:
        e.fail(f"7: still waiting a day after the last fault: {outlook}")
    if isinstance(outlook, Hold) and not (outlook.reasons and outlook.acts):
        e.fail(f"7: a hold that names no act: {outlook}")
    if isinstance(outlook, Halted) and not outlook.reason:
        e.fail("7: halted without a reason")


def bad_content_stays_where_it_failed(e: Evidence) -> None:
    """Once content has degraded more clusters than are tolerated, it is begun in no other; a human may say otherwise."""
    tolerated = max(f.policy.rollout.max_failures.of(len(f.clusters)) for f in e.s.heads)
    began: dict[str, OurWrite] = {}
    for one in e.s.ours:
        if _brings_bad(one):
            began.setdefault(one.cluster, one)
    failed = {name: min(x.at for x in events) for name in began if (events := list(_degraded(e, name)))}
    for name, one in began.items():
        counted = _counted(e, failed, tolerated, one.write.time)
        if len(counted) <= tolerated or name in failed:  # there, newer content is let in as a repair
            continue
        if one.write.time > counted[tolerated] + GRACE:
            e.fail(f"5: {told(one)} begins in {name} what {tolerated + 1} cluster(s) have failed with before")


def _counted(e: Evidence, failed: Mapping[str, datetime], tolerated: int, until: datetime) -> list[datetime]:
    """Since when each of the clusters counts as failed that do so at a time. One that a human lets try once more fails anew.
    A halt outlives what is said of one cluster: only its release ends it.
    """
    known: dict[str, datetime] = {}
    happened: list[tuple[datetime, str, Said | None]] = [(at, name, None) for name, at in failed.items()]
    happened += [(at, "", None) for at in e.s.pardons]
    happened += [(said.at, said.cluster, said) for said in e.s.said]
    for at, name, said in sorted((x for x in happened if x[0] <= until), key=lambda x: x[0]):
        if said is None:
            known = {**known, name: at} if name else {}
        elif name in known and (len(known) <= tolerated or said.what is Order.RELEASE):
            known = {n: x for n, x in known.items() if n != name}
            known |= {name: at} if said.what in {Order.RETRY, Order.RELEASE} else {}
    return sorted(known.values())


def _brings_bad(one: OurWrite) -> bool:
    """Whether a write brings the content that breaks nodes; it is inlined as percent-encoded or plain text."""
    return MARKER in str((one.write.after or {}).get("spec")) and kind_of(one) == "machineconfigs"


def _degraded(e: Evidence, cluster: str) -> Iterator[NodeEvent]:
    for node in e.s.world.fleet.nodes(cluster):
        for event in e.s.world.fleet.node_log(cluster, node).events:
            if event.what.value == "degraded" and MARKER in event.detail:
                yield event


def nothing_fails_without_a_cause(e: Evidence) -> None:
    """A cluster that failed for its pools had one that was degraded, or that stood still."""
    for name in e.orders:
        before = None
        for number, look in enumerate(e.s.looks):
            failure = look.memory.cluster(name).failure
            if failure is not None and before is None and failure.cause is FailureCause.CONFIG:
                _must_have_a_cause(e, name, number)
            before = failure


def _must_have_a_cause(e: Evidence, name: str, number: int) -> None:
    at = e.s.times[number]
    since = max((one.write.time for one in e.by_cluster[name] if one.look < number), default=e.s.start)
    if at - since - _stopped(e, name, since, number) >= STALL or _sick_pool(e, name, at):
        return
    e.fail(f"5: {name} is called failed at {at:%H:%M:%S}; no pool of it was degraded, and none stood still")


def _stopped(e: Evidence, name: str, since: datetime, number: int) -> timedelta:
    """How long orders kept it from going on, from a time until a pass: then its clocks stand still."""
    passed = timedelta(0)
    for i in range(number):
        acts = e.s.acts[i]
        if e.s.times[i] >= since and (acts.suspended or acts.abort(name) is not None):
            passed += e.s.times[i + 1] - e.s.times[i]
    return passed


def _sick_pool(e: Evidence, name: str, at: datetime) -> bool:
    """Whether a pool said Degraded at some time before."""
    for write in e.servers[name]:
        if write.time > at or not write.resource.startswith("machineconfigpools"):
            continue
        conditions = ((write.after or {}).get("status") or {}).get("conditions") or ()
        if any(c["type"].endswith("Degraded") and c["status"] == "True" for c in conditions):
            return True
    return False


def nothing_fails_in_calm_weather(e: Evidence) -> None:
    """Good contents, no faults and nobody's hands: whatever dies or is lost on our side, no cluster fails."""
    script = e.s.script
    if script.troubles or script.hands or any(MARKER in str(push.files) for push in script.pushes):
        return
    for number, look in enumerate(e.s.looks):
        for name in e.orders:
            failure = look.memory.cluster(name).failure
            if failure is not None:
                e.fail(
                    f"7: {name} has failed at {e.s.times[number]:%H:%M:%S} in calm weather: {failure.reason}"
                )


def a_repair_gets_in(e: Evidence) -> None:
    """Where bad content failed and Git has none of it any more, the newer content has been started."""
    if isinstance(e.s.outlook, Done) or not e.s.looks:
        return
    look, head = e.s.looks[-1], e.s.heads[-1]
    views = {view.cluster: view for view in look.decision.clusters}
    touched = {a.cluster for a in e.s.script.hands if a.deed in {Deed.EDIT, Deed.LABEL, Deed.UNLABEL}}
    acts = e.s.acts[-1]
    if acts.suspended:
        return
    for desired in head.clusters:
        memory = look.memory.cluster(desired.name)
        failed = None if memory.failure is None else e.desired(desired.name, memory.failure.content)
        if failed is None or memory.failure is None or memory.failure.cause is not FailureCause.CONFIG:
            continue
        if acts.abort(desired.name) is not None or desired.name in acts.held:
            continue
        if desired.blocked or desired.name in touched or memory.skipped == desired.content:
            continue
        repaired = _is_bad(failed) and not _is_bad(desired)
        if repaired and memory.started != desired.content and views[desired.name].standing.value == "failed":
            e.fail(
                f"5: {desired.name} has failed, and what repairs it is kept out: {views[desired.name].reason}"
            )


def _is_bad(desired: DesiredCluster) -> bool:
    return any(MARKER in str(m.body) for m in desired.manifests)
