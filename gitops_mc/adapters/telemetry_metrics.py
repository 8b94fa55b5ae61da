"""Prometheus metrics on a registry of their own. What a fleet or cluster has stopped being there for has no series any more.

Gauges are made at each scrape from what the last pass of each fleet said; counters and histograms are kept.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import MappingProxyType

from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from gitops_mc.adapters import telemetry_rows as rows
from gitops_mc.adapters.telemetry_rows import PREFIX, Row
from gitops_mc.app.looks import Look
from gitops_mc.app.telemetry_ports import Credential, FleetMode, Lease
from gitops_mc.core.model import GLOBAL_CLUSTER, Open
from gitops_mc.core.render.polls import Poll, PollFailed, PollGood, PollRefused
from gitops_mc.core.rollout.fault import fleet_fault
from gitops_mc.core.rollout.inputs import Observed
from gitops_mc.core.rollout.moves import ClusterView, Standing, WaveState

_PASS_BUCKETS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)
_CALL_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20)
_NO_PART = (Standing.UNREGISTERED, Standing.SKIPPED, Standing.GONE)
"""Clusters that a rollout does not wait for and does not count."""
_RESULTS = {PollGood: "good", PollRefused: "refused", PollFailed: "failed"}


@dataclass(frozen=True, slots=True)
class _Cluster:
    name: str
    standing: Standing
    waiting_since: datetime | None
    refusals: int | None
    drift: int | None


@dataclass(frozen=True, slots=True)
class _Fleet:
    """What is known of one fleet, as values: a scrape reads one while a pass makes the next."""

    looked: datetime | None = None
    clusters: tuple[_Cluster, ...] = ()
    waves: tuple[tuple[str, WaveState], ...] = ()
    halted: bool = False
    fault: bool = False
    mode: FleetMode = FleetMode.ACTIVE
    polled: datetime | None = None
    expiries: Mapping[Credential, datetime] = field(default_factory=lambda: MappingProxyType({}))


class Metrics:
    """The `Measures` port, and what transports, webhook and events count. Safe to use from any thread."""

    def __init__(self, version: str, now: Callable[[], datetime]) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # a second series a counter, which says nothing; there is no smaller switch
        self.registry = CollectorRegistry()
        self._version = version
        self._now = now
        self._lock = threading.Lock()
        self._fleets: dict[str, _Fleet] = {}
        self._lease = (False, 0)
        self._counts = {
            row.name: _Counted(row, self.registry) for row in rows.ROWS if row.kind is rows.MetricKind.COUNTER
        }
        self._passes = _histogram(rows.RECONCILE, _PASS_BUCKETS, self.registry)
        self._calls = _histogram(rows.DURATION, _CALL_BUCKETS, self.registry)
        self.registry.register(_AtScrape(self._gauges))
        ProcessCollector(registry=self.registry)

    # ---------------------------------------------------------------------------------------------- what is reported

    def looked(self, fleet: str, look: Look) -> None:
        """All gauges of a fleet follow this pass; counters of clusters that are not in it any more go."""
        fault = fleet_fault(look.fleet, Observed(look.live))
        with self._lock:
            before = self._fleets.get(fleet, _Fleet())
            known = {c.name: c for c in before.clusters}
            self._fleets[fleet] = replace(
                before,
                looked=look.at,
                clusters=tuple(_cluster(known.get(v.cluster), v, look.at) for v in look.decision.clusters),
                waves=tuple((w.wave, w.state) for w in look.decision.waves),
                halted=look.memory.halt is not None,
                fault=bool(fault),
            )
        there = {GLOBAL_CLUSTER, *(view.cluster for view in look.decision.clusters)}
        for counted in self._counts.values():
            counted.forget(
                lambda labels: (
                    labels.get("fleet") == fleet and labels.get("cluster", GLOBAL_CLUSTER) not in there
                )
            )

    def stepped(self, fleet: str, seconds: float) -> None:
        self._passes.labels(fleet).observe(seconds)

    def polled(self, fleet: str, poll: Poll, at: datetime | None) -> None:
        self._counts[rows.POLLS.name].add(fleet, _RESULTS[type(poll)])
        if isinstance(poll, PollGood):
            self._change(fleet, polled=at)

    def troubled(self, fleet: str) -> None:
        self._counts[rows.TROUBLES.name].add(fleet)

    def led(self, lease: Lease) -> None:
        with self._lock:
            self._lease = (lease.leads, lease.transitions)

    def moded(self, fleet: str, mode: FleetMode) -> None:
        self._change(fleet, mode=mode)

    def expires(self, fleet: str, credential: Credential, at: datetime | None) -> None:
        with self._lock:
            before = self._fleets.get(fleet, _Fleet())
            known = {c: when for c, when in before.expiries.items() if c is not credential}
            expiries = known if at is None else {**known, credential: at}
            self._fleets[fleet] = replace(before, expiries=MappingProxyType(expiries))

    def forgotten(self, fleet: str) -> None:
        """No series of this fleet is left."""
        with self._lock:
            self._fleets.pop(fleet, None)
        for counted in self._counts.values():
            counted.forget(lambda labels: labels.get("fleet") == fleet)
        with suppress(KeyError):  # no pass of it was ever over
            self._passes.remove(fleet)

    def requested(self, fleet: str, cluster: str, verb: str, code: str, seconds: float) -> None:
        """A request was answered, or not: `code` is 2xx to 5xx, or none."""
        self._counts[rows.REQUESTS.name].add(fleet, cluster, code)
        self._counts[rows.BUSY.name].add(fleet, cluster, by=seconds)
        self._calls.labels(verb).observe(seconds)

    def wrote(self, fleet: str, cluster: str, kind: str, result: str) -> None:
        """A write of a managed kind was sent."""
        self._counts[rows.WRITES.name].add(fleet, cluster, kind, result)

    def saved(self, fleet: str, result: str) -> None:
        """A write of what is remembered was sent."""
        self._counts[rows.SAVES.name].add(fleet, result)

    def webhook(self, fleet: str, code: int) -> None:
        self._counts[rows.WEBHOOK.name].add(fleet, str(code))

    def events(self, result: str, number: int = 1) -> None:
        self._counts[rows.EVENTS.name].add(result, by=number)

    def notified(self, fleet: str, result: str, number: int = 1) -> None:
        """Messages that were taken, or not."""
        self._counts[rows.NOTIFICATIONS.name].add(fleet, result, by=number)

    def _change(self, fleet: str, **changes: object) -> None:
        with self._lock:
            self._fleets[fleet] = replace(self._fleets.get(fleet, _Fleet()), **changes)  # type: ignore[arg-type]

    # --------------------------------------------------------------------------------------------------- at a scrape

    def _gauges(self) -> Iterator[GaugeMetricFamily]:
        with self._lock:
            fleets, (leads, transitions) = sorted(self._fleets.items()), self._lease
        now = self._now()
        yield _gauge(rows.BUILD_INFO, [((self._version,), 1.0)])
        yield _gauge(rows.LEADER, [((), float(leads))])
        yield _gauge(rows.TRANSITIONS, [((), float(transitions))])
        found: dict[str, list[_Sample]] = {}
        for name, fleet in fleets:
            for row, labels, value in _of_fleet(fleet, now):
                found.setdefault(row.name, []).append(((name, *labels), value))
        for row in rows.ROWS:
            if row.name in found:
                yield _gauge(row, found[row.name])


_Sample = tuple[tuple[str, ...], float]


def _of_fleet(fleet: _Fleet, now: datetime) -> Iterator[tuple[Row, tuple[str, ...], float]]:
    yield rows.SUSPENDED, (), float(fleet.mode is FleetMode.SUSPENDED)
    yield rows.ELSEWHERE, (), float(fleet.mode is FleetMode.ELSEWHERE)
    if fleet.polled is not None:
        yield rows.LAST_POLL, (), fleet.polled.timestamp()
    for credential, at in fleet.expiries.items():
        yield rows.EXPIRY, (credential.value,), at.timestamp()
    if fleet.looked is None:
        return
    yield rows.LAST_PASS, (), fleet.looked.timestamp()
    yield rows.HALTED, (), float(fleet.halted)
    yield rows.FAULT, (), float(fleet.fault)
    taking_part = [c for c in fleet.clusters if c.standing not in _NO_PART]
    passed = sum(c.standing is Standing.PASSED for c in taking_part)
    yield rows.PROGRESS, (), passed / len(taking_part) if taking_part else 1.0
    for standing in Standing:
        yield rows.CLUSTERS, (standing.value,), float(sum(c.standing is standing for c in fleet.clusters))
    for wave, state in fleet.waves:
        for each in WaveState:
            yield rows.WAVE, (wave, each.value), float(each is state)
    for c in fleet.clusters:
        since = c.waiting_since
        yield rows.GATE_WAITING, (c.name,), 0.0 if since is None else max(0.0, (now - since).total_seconds())
        if c.refusals is not None:
            yield rows.REFUSALS, (c.name,), float(c.refusals)
        if c.drift is not None:
            yield rows.DRIFT, (c.name,), float(c.drift)


def _cluster(before: _Cluster | None, view: ClusterView, at: datetime) -> _Cluster:
    moving = view.standing in {Standing.IN_FLIGHT, Standing.FAILED}
    waiting = moving and any(not isinstance(gate.verdict, Open) for gate in view.gates)
    since = before.waiting_since if before is not None else None
    plan = view.plan
    return _Cluster(
        view.cluster,
        view.standing,
        (since or at) if waiting else None,
        None if plan is None else len(plan.refusals),
        None if plan is None else len(plan.drifts),
    )


class _AtScrape(Collector):
    def __init__(self, gauges: Callable[[], Iterator[GaugeMetricFamily]]) -> None:
        self._gauges = gauges

    def collect(self) -> Iterable[GaugeMetricFamily]:
        return self._gauges()

    def describe(self) -> Iterable[GaugeMetricFamily]:
        """Nothing is asked for before it is known."""
        return ()


class _Counted:
    """A counter that knows its series, so that those of what is gone can be taken away."""

    def __init__(self, row: Row, registry: CollectorRegistry) -> None:
        self._labels = row.labels
        self._counter = Counter(f"{PREFIX}{row.name}", row.meaning, row.labels, registry=registry)
        self._lock = threading.Lock()
        self._series: set[tuple[str, ...]] = set()

    def add(self, *values: str, by: float = 1.0) -> None:
        with self._lock:
            self._series.add(values)
            self._counter.labels(*values).inc(by)

    def forget(self, gone: Callable[[Mapping[str, str]], bool]) -> None:
        with self._lock:
            for values in [v for v in self._series if gone(dict(zip(self._labels, v, strict=True)))]:
                self._series.discard(values)
                self._counter.remove(*values)


def _histogram(row: Row, buckets: tuple[float, ...], registry: CollectorRegistry) -> Histogram:
    return Histogram(f"{PREFIX}{row.name}", row.meaning, row.labels, buckets=buckets, registry=registry)


def _gauge(row: Row, samples: Iterable[_Sample]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(row.full, row.meaning, labels=row.labels)
    for labels, value in samples:
        family.add_metric(labels, value)
    return family
