"""The whole engine and a whole fleet in one process on virtual time: files in, rollout, and what became of it."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from gitops_mc.app.api import ClusterApi
from gitops_mc.app.executor import Executor
from gitops_mc.app.looks import Look, Pace
from gitops_mc.app.ports import Transport
from gitops_mc.core.desired import DesiredState, SourceFile, load
from gitops_mc.core.model import Commit, Content, DesiredCluster, JsonObject, Severity
from gitops_mc.core.rollout.inputs import NO_ACTS, Acts, Fleet
from gitops_mc.core.rollout.memory import ClusterMemory, FleetMemory, from_json, to_json
from gitops_mc.core.rollout.moves import ClusterView, Done, Halted, Hold, Outlook, Standing
from gitops_mc.sandbox.apiserver import AcceptedWrite
from gitops_mc.sandbox.behind import MakeServer
from gitops_mc.sandbox.faults import FaultBoard
from gitops_mc.sandbox.fleet import FleetSpec, SandboxFleet, embedded, simple_fleet
from gitops_mc.sandbox.virtual import DEFAULT_START, VirtualClock, VirtualWorkers
from tests.scenarios.shifted_clock import MachineClock

FLEET = """\
apiVersion: gitops-mc.io/v1alpha1
kind: FleetConfig
metadata: {name: test}
spec:
  rollout:
    waves:
      - name: canary
        clusters: {names: [edge-1]}
      - name: rest
        clusters: {}
        maxConcurrent: 10
"""


@dataclass
class KeptMemory:
    """A MemoryStore that keeps the bytes, as a file would."""

    state: bytes | None = None
    saves: int = 0

    def load(self) -> JsonObject | None:
        return None if self.state is None else json.loads(self.state)

    def save(self, state: JsonObject) -> None:
        self.state = json.dumps(state).encode()
        self.saves += 1


def source_files(files: Mapping[str, str]) -> tuple[SourceFile, ...]:
    return tuple(
        SourceFile(path, hashlib.sha1(text.encode()).hexdigest(), 0o100644, text.encode())
        for path, text in sorted(files.items())
    )


def machine_config(
    name: str, role: str = "worker", files: Mapping[str, str] | None = None, **more: str
) -> str:
    """A MachineConfig manifest with files by path, and units by name."""
    listed = [{"path": p, "mode": 0o644, "contents": {"inline": text}} for p, text in (files or {}).items()]
    units = [{"name": n, "enabled": True, "contents": text} for n, text in more.items()]
    config: JsonObject = {"ignition": {"version": "3.4.0"}}
    if listed:
        config["storage"] = {"files": listed}
    if units:
        config["systemd"] = {"units": [{**u, "name": str(u["name"]).replace("_", ".")} for u in units]}
    return json.dumps(
        {
            "apiVersion": "machineconfiguration.alauda.io/v1alpha1",
            "kind": "MachineConfig",
            "metadata": {"name": name, "labels": {"machineconfiguration.alauda.io/role": role}},
            "spec": {"config": config},
        }
    )


def module(
    cluster: str, version: str = "v4.3.0", name: str = "machine-config", config: JsonObject | None = None
) -> str:
    labels = {
        "cpaas.io/cluster-name": cluster,
        "cpaas.io/module-name": name,
        "cpaas.io/module-type": "plugin",
    }
    return json.dumps(
        {
            "apiVersion": "cluster.alauda.io/v1alpha1",
            "kind": "ModuleInfo",
            "metadata": {"name": f"{cluster}-temporary-name", "labels": labels},
            "spec": {"version": version, "config": config or {}},
        }
    )


def manifest(kind: str, name: str, spec: JsonObject, annotations: Mapping[str, str] | None = None) -> str:
    """A manifest of a machine kind without labels."""
    meta: JsonObject = {"name": name}
    if annotations:
        meta["annotations"] = dict(annotations)
    return json.dumps(
        {
            "apiVersion": "machineconfiguration.alauda.io/v1alpha1",
            "kind": kind,
            "metadata": meta,
            "spec": spec,
        }
    )


def policy(restarts: Mapping[str, str]) -> str:
    """A MachineConfiguration that restarts a service when a file changes: file path -> service."""
    files = [
        {"path": path, "actions": [{"type": "Restart", "restart": {"serviceName": service}}]}
        for path, service in restarts.items()
    ]
    return manifest("MachineConfiguration", "cluster", {"nodeDisruptionPolicy": {"files": files}})


UNIT = "[Unit]\nDescription=x\n[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n"


@dataclass(frozen=True, slots=True)
class Ground:
    """What a world's fleet stands on."""

    make_server: MakeServer = embedded
    begin: datetime = DEFAULT_START


EMBEDDED = Ground()
GROUND: ContextVar[Ground] = ContextVar("GROUND", default=EMBEDDED)
"""What worlds are built on; set, it puts a whole scenario on other servers."""


@dataclass
class RolloutWorld:
    """`files` is the repository; change it and call `run` again for the next commit."""

    spec: FleetSpec = field(default_factory=lambda: simple_fleet("edge-1", "edge-2", "edge-3"))
    files: dict[str, str] = field(default_factory=dict)
    faults: FaultBoard = field(default_factory=FaultBoard)
    seed: int = 0
    order: int | None = None
    """Seed of the order in which the clusters are looked at; None: by name."""
    wrap: Callable[[Transport], Transport] = lambda transport: transport
    ground: Ground = field(default_factory=GROUND.get)
    pace: Pace = field(default_factory=lambda: Pace(every=timedelta(seconds=5)))

    def __post_init__(self) -> None:
        self.clock = VirtualClock(self.ground.begin)
        self.shift = timedelta()
        """By how much the clock of the machine that the engine runs on is set wrong."""
        self.start = self.clock.now()
        self.fleet = SandboxFleet(
            self.spec, self.clock.now, faults=self.faults, seed=self.seed, make_server=self.ground.make_server
        )
        self.clock.drive(self.fleet)
        self.store = KeptMemory()
        self.past: dict[tuple[str, Content], DesiredCluster] = {}
        self.looks: list[Look] = []
        self.files.setdefault("fleet.yaml", FLEET)

    # ------------------------------------------------------------------------------------------------------- running

    def desired(self) -> DesiredState:
        state = load(source_files(self.files), cache={})
        for cluster in state.clusters:
            self.past[cluster.name, cluster.content] = cluster
        return state

    def executor(self) -> Executor:
        """A fresh process: nothing but the store outlives it."""
        transport = self.wrap(self.fleet.transport(self.clock))
        clock = MachineClock(self.clock, lambda: self.shift)
        api = ClusterApi(transport, clock, jitter=random.Random(self.seed).random)
        return Executor(
            api,
            clock,
            VirtualWorkers(self.clock, seed=self.order),
            self.store,
            pace=self.pace,
            past=lambda cluster, _commit, content: self.past.get((cluster, content)),
        )

    def git(self, commit: str = "") -> Fleet:
        state = self.desired()
        errors = [p for p in state.problems if p.severity is Severity.ERROR]
        assert not state.fleet_blocked, errors
        digest = hashlib.sha1(json.dumps(self.files, sort_keys=True).encode()).hexdigest()
        return Fleet(state.policy, state.clusters, Commit(commit or digest))

    def run(
        self, acts: Acts = NO_ACTS, *, hours: float = 12, until: Callable[[Look], bool] | None = None
    ) -> Outlook:
        """Roll until the outlook is final, or `until` says so, or the time is over."""
        deadline = self.clock.now() + timedelta(hours=hours)
        for look in self.executor().rollout(self.git(), acts):
            self.looks.append(look)
            final = isinstance(look.decision.outlook, Done | Hold | Halted)
            if (until is not None and until(look)) or final or self.clock.now() >= deadline:
                return look.decision.outlook
        raise AssertionError("the rollout ended by itself")

    # ---------------------------------------------------------------------------------------------------- looking at

    @property
    def last(self) -> Look:
        return self.looks[-1]

    def view(self, cluster: str) -> ClusterView:
        return next(c for c in self.last.decision.clusters if c.cluster == cluster)

    def standing(self, cluster: str) -> Standing:
        return self.view(cluster).standing

    def memory(self) -> FleetMemory:
        state = self.store.load()
        assert state is not None
        return from_json(state)

    def remember(self, change: Callable[[FleetMemory], FleetMemory]) -> None:
        """What a human does by `release`, `skip` and the like."""
        self.store.save(to_json(change(self.memory())))

    def cluster_memory(self, cluster: str) -> ClusterMemory:
        return self.memory().cluster(cluster)

    def writes(self, cluster: str) -> tuple[AcceptedWrite, ...]:
        """What we had accepted on this cluster."""
        return self.fleet.writes(cluster)

    def reboots(self, cluster: str) -> dict[str, int]:
        return {node: n for (c, node), n in self.fleet.reboots().items() if c == cluster and n}

    def seconds(self, at: datetime | None = None) -> float:
        return ((at or self.clock.now()) - self.start).total_seconds()
