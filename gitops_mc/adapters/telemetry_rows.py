"""Every metric, one row each: its name, kind, labels and meaning. Documentation and series are made from these.

Labels are fleets, clusters and waves, which Git bounds, and words of closed sets. Never a reason, a commit or a node.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

PREFIX = "gitops_mc_"


class MetricKind(StrEnum):
    GAUGE = "gauge"
    COUNTER = "counter"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Row:
    """One metric. `name` is without the prefix, and for a counter without `_total`."""

    name: str
    kind: MetricKind
    labels: tuple[str, ...]
    meaning: str

    @property
    def full(self) -> str:
        """As Prometheus has it."""
        return f"{PREFIX}{self.name}{'_total' if self.kind is MetricKind.COUNTER else ''}"


_G, _C, _H = MetricKind.GAUGE, MetricKind.COUNTER, MetricKind.HISTOGRAM
_FLEET, _CLUSTER = ("fleet",), ("fleet", "cluster")

BUILD_INFO = Row("build_info", _G, ("version",), "1 for the version that runs")
LEADER = Row("leader", _G, (), "1 where this process holds the lease")
TRANSITIONS = Row("lease_transitions", _G, (), "How often the lease has changed hands, as it says itself")
SUSPENDED = Row("suspended", _G, _FLEET, "1 while somebody has suspended the fleet")
ELSEWHERE = Row(
    "active_elsewhere", _G, _FLEET, "1 where activeOn names another installation, and this one only reads"
)
HALTED = Row("halted", _G, _FLEET, "1 while failures have halted new writes")
FAULT = Row("fleet_fault", _G, _FLEET, "1 while gateway, global API or credentials fail for most clusters")
PROGRESS = Row(
    "rollout_progress_ratio",
    _G,
    _FLEET,
    "Clusters that have passed, of those that take part; 1 where none does",
)
CLUSTERS = Row("clusters", _G, ("fleet", "state"), "Clusters by where they stand")
WAVE = Row(
    "wave_state", _G, ("fleet", "wave", "state"), "1 for the state that the wave is in, 0 for the others"
)
GATE_WAITING = Row(
    "gate_waiting_seconds",
    _G,
    _CLUSTER,
    "For how long a cluster in flight has had a gate that is not open; 0: none",
)
REFUSALS = Row(
    "refusals", _G, _CLUSTER, "Writes that Git asks for and that need a human first; absent: not known"
)
DRIFT = Row(
    "drift_objects", _G, _CLUSTER, "Objects that are not any more what was written; absent: not known"
)
LAST_PASS = Row("last_pass_timestamp_seconds", _G, _FLEET, "When the last pass was decided")
LAST_POLL = Row(
    "last_good_poll_timestamp_seconds", _G, _FLEET, "When the source was last read, and its commit followed"
)
EXPIRY = Row(
    "token_expiry_timestamp_seconds",
    _G,
    ("fleet", "credential"),
    "When a credential expires; absent: not said",
)
RECONCILE = Row("reconcile_seconds", _H, _FLEET, "How long a whole pass took, reads and writes included")
POLLS = Row("polls", _C, ("fleet", "result"), "Polls of the source: good, refused, failed")
TROUBLES = Row(
    "troubles", _C, _FLEET, "Passes that could not do something: the Fleet unread, its memory not kept"
)
SAVES = Row("memory_saves", _C, ("fleet", "result"), "Writes of what is remembered: saved, conflict, failed")
WRITES = Row(
    "writes",
    _C,
    ("fleet", "cluster", "kind", "result"),
    "Writes sent to that cluster's API server, dry runs left out: accepted, refused (4xx), failed (no answer, 429, 5xx); "
    "a ModuleInfo is written on global, whatever cluster it is for",
)
REQUESTS = Row(
    "api_requests",
    _C,
    ("fleet", "cluster", "code"),
    "Requests to a cluster's API server: 2xx to 5xx, none (no answer)",
)
BUSY = Row("api_request_seconds_by_cluster", _C, _CLUSTER, "Seconds spent waiting for a cluster's API server")
DURATION = Row("api_request_seconds", _H, ("verb",), "How long one request took, over all clusters")
WEBHOOK = Row(
    "webhook_requests",
    _C,
    ("fleet", "code"),
    "Webhook answers; fleet is empty where the secret was not known",
)
EVENTS = Row(
    "kubernetes_events", _C, ("result",), "Events: created, counted (one more of the same), dropped, failed"
)
NOTIFICATIONS = Row(
    "notifications",
    _C,
    ("fleet", "result"),
    "Messages to people: sent, failed (tried again), dropped (things that were never told, after hours of failing)",
)

ROWS = (
    BUILD_INFO,
    LEADER,
    TRANSITIONS,
    SUSPENDED,
    ELSEWHERE,
    HALTED,
    FAULT,
    PROGRESS,
    CLUSTERS,
    WAVE,
    GATE_WAITING,
    REFUSALS,
    DRIFT,
    LAST_PASS,
    LAST_POLL,
    EXPIRY,
    RECONCILE,
    POLLS,
    TROUBLES,
    SAVES,
    WRITES,
    REQUESTS,
    BUSY,
    DURATION,
    WEBHOOK,
    EVENTS,
    NOTIFICATIONS,
)
