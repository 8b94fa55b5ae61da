"""The embedded fleet: a global cluster and workload clusters, their operators, nodes and platform, and their faults.

The fleet has no clock of its own and never blocks: whoever has one calls `step` when something is due.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import MappingProxyType

from gitops_mc.app.ports import Clock, Transport
from gitops_mc.core.model import (
    CLUSTER_LABEL,
    GLOBAL_CLUSTER,
    MACHINE_CONFIG_MODULE,
    MODULE_GROUP_VERSION,
    MODULE_LABEL,
    MODULE_TYPE_LABEL,
    PLATFORM_GROUP_VERSION,
    JsonObject,
)
from gitops_mc.sandbox.actor import Actor
from gitops_mc.sandbox.apiserver import AcceptedWrite, ApiServer, Rule, User
from gitops_mc.sandbox.behind import FleetServer, MakeServer
from gitops_mc.sandbox.faults import FOREVER, FaultBoard, FaultId
from gitops_mc.sandbox.faulty import FaultyTransport
from gitops_mc.sandbox.moduleinfo import Publication, config_body, plugin_body
from gitops_mc.sandbox.modules import ModuleController, PlatformOptions
from gitops_mc.sandbox.nodes.machine import Machine, NodeLog
from gitops_mc.sandbox.people import Agenda, Person
from gitops_mc.sandbox.pods.workload import Workload
from gitops_mc.sandbox.schedule import ActorFailure, Schedule
from gitops_mc.sandbox.site import WORKER_LABEL, ClusterSite, ClusterSpec
from gitops_mc.sandbox.transport import DirectTransport

MACHINE_CONFIG_VERSION = "v4.3.0"
WARM_UP = timedelta(minutes=15)
"""How long before its beginning the fleet was set up: enough for every preinstalled cluster to settle."""


@dataclass(frozen=True, slots=True)
class FleetSpec:
    """How a fleet is built. The global cluster is added when it is not listed."""

    clusters: tuple[ClusterSpec, ...]
    publications: tuple[Publication, ...] = (Publication(MACHINE_CONFIG_MODULE, MACHINE_CONFIG_VERSION),)
    """What is published before the fleet begins."""
    platform: PlatformOptions = field(default_factory=PlatformOptions)


def simple_fleet(
    *names: str, masters: int = 1, workers: int = 2, machine_config: str | None = MACHINE_CONFIG_VERSION
) -> FleetSpec:
    """Workload clusters of one size, with machine-config installed at this version (None: not installed)."""
    return FleetSpec(
        tuple(
            ClusterSpec(name, masters=masters, workers=workers, machine_config=machine_config)
            for name in names
        )
    )


def embedded(cluster: str, now: Callable[[], datetime]) -> ApiServer:
    """An API server in this process."""
    return ApiServer(cluster, now=now)


class SandboxFleet:
    """The fleet. `now` is the clock's; `step` runs what is due and answers when it is to be called next.

    It begins with everything preinstalled in place: that was set up in the quarter of an hour before, by the same actors
    in the same way. Faults already on the board that have no start hold for that time, too.
    """

    def __init__(
        self,
        spec: FleetSpec,
        now: Callable[[], datetime],
        *,
        faults: FaultBoard | None = None,
        seed: int = 0,
        make_server: MakeServer = embedded,
    ) -> None:
        self.token = "sandbox-token"  # noqa: S105 - opens this embedded fleet, nothing else
        self.reader_token = "sandbox-reader"  # noqa: S105 - the same
        self.faults = faults or FaultBoard()
        self.seed = seed
        self._now = now
        self._make_server = make_server
        self._lock = threading.RLock()  # a demo steps it in one thread and changes it in another
        self._warm_up: datetime | None = now() - WARM_UP
        self._schedule = Schedule()
        self._agenda = Agenda()
        self._faults_seen = -1
        self._border = FOREVER
        self._sites = {s.name: self._build(s) for s in _with_global(spec.clusters)}
        self._people = {name: self._person(site) for name, site in self._sites.items()}
        self._start_platform(spec)
        self._settle(spec)
        self._began = {name: len(site.server.writes) for name, site in self._sites.items()}

    # ------------------------------------------------------------------------------------------------ running

    def step(self, now: datetime) -> datetime:
        with self._lock:
            if self._faults_seen != self.faults.version or now >= self._border:
                self._faults_seen = self.faults.version
                self._border = self.faults.next_change(now)
                self._unlabel_workers(now)
                self._schedule.wake_all(now)
            due = self._schedule.run_due(now)
            return min(due, self._border)

    @property
    def failures(self) -> tuple[ActorFailure, ...]:
        """Steps of actors that ended in an error; a healthy run has none."""
        return tuple(self._schedule.failures)

    def at(self, when: datetime, act: Callable[[], object]) -> None:
        """Let something be done at a time: by a person, to the faults, to the fleet."""
        with self._lock:
            self._agenda.add(when, act)
            self._schedule.wake(self._agenda.name, when)

    def enlist(self, actor: Actor, cluster: str, user: str) -> None:
        """Take one more actor in, woken by the writes of that cluster that are not its user's own."""
        with self._lock:
            self._schedule.enlist(actor, self._sites[cluster].server, user, self._time())

    # ---------------------------------------------------------------------------------------------- looking in

    @property
    def servers(self) -> Mapping[str, FleetServer]:
        """The API servers by cluster, `global` among them."""
        return MappingProxyType({name: site.server for name, site in self._sites.items()})

    def transport(self, clock: Clock, *, token: str = "") -> FaultyTransport:
        """The product's way in, with what goes wrong on it; the token is the fleet's own unless another is given."""
        return self.faulty(DirectTransport(self.servers, token or self.token), clock)

    def faulty(self, inner: Transport, clock: Clock) -> FaultyTransport:
        """Another way in, an HTTP gateway's for one, with what goes wrong on it."""
        return FaultyTransport(inner, self.faults, clock, seed=self.seed)

    def skipped_nodes(self, cluster: str) -> Mapping[str, tuple[str, ...]]:
        """Nodes that the cluster's operator skips, with the custom pools that all select them."""
        operator = self._sites[cluster].operator
        return {} if operator is None else operator.skipped

    def node_log(self, cluster: str, node: str) -> NodeLog:
        return self._sites[cluster].machines[node].log

    def machine(self, cluster: str, node: str) -> Machine:
        """The machine under a node: what really stands on its disk."""
        return self._sites[cluster].machines[node]

    def nodes(self, cluster: str) -> tuple[str, ...]:
        return tuple(self._sites[cluster].machines)

    def reboots(self) -> Mapping[tuple[str, str], int]:
        """Reboots by cluster and node, of every node."""
        return {
            (name, node): machine.log.reboots
            for name, site in self._sites.items()
            for node, machine in site.machines.items()
        }

    def writes(self, cluster: str, *, user: str = "gitops-mc") -> tuple[AcceptedWrite, ...]:
        """The writes a user has had accepted since the fleet began."""
        log = self._sites[cluster].server.writes_after(self._began[cluster])
        return tuple(w for w in log if w.user == user)

    # -------------------------------------------------------------------------------------------- changing it

    def person(self, cluster: str) -> Person:
        """Somebody with kubectl at that cluster."""
        return self._people[cluster]

    def add_node(self, cluster: str, name: str, labels: Mapping[str, str] | None = None) -> None:
        """A node joins; without labels it is a worker."""
        with self._lock:
            self._sites[cluster].add_node(name, {WORKER_LABEL: ""} if labels is None else labels)

    def run(self, cluster: str, workload: Workload) -> None:
        """Somebody deploys something there. Its pods are evicted by drains, as its budget allows, and made anew elsewhere."""
        with self._lock:
            self._sites[cluster].run(workload)

    def set_phase(self, cluster: str, phase: str) -> None:
        """What the platform's inventory says of a cluster from now on; `Running` when good."""
        client = self._sites[GLOBAL_CLUSTER].client("platform", "cluster-transformer")
        client.merge_status("clusters", cluster, {"phase": phase})

    def restart_operator(self, cluster: str) -> None:
        """The cluster's machine-config operator dies and starts again."""
        with self._lock:
            self._sites[cluster].restart_operator()

    def publish(self, publication: Publication, *, ready_at: datetime | None = None) -> None:
        """A version is uploaded, and shows at once; it is ready to deploy at `ready_at`, else at once too."""
        platform = self._sites[GLOBAL_CLUSTER].client("platform:uploader", "violet")
        if platform.get("moduleplugins", publication.module) is None:
            platform.create("moduleplugins", plugin_body(publication))
        platform.create("moduleconfigs", config_body(publication))
        if ready_at is None:
            self._make_ready(publication)
        else:
            self.at(ready_at, lambda: self._make_ready(publication))

    def _make_ready(self, publication: Publication) -> None:
        platform = self._sites[GLOBAL_CLUSTER].client("platform:uploader", "violet")
        platform.merge_status("moduleconfigs", publication.config_name, {"readyForDeploy": True})
        platform.merge_status("moduleplugins", publication.module, {"latestVersion": publication.version})

    # ----------------------------------------------------------------------------------------------- building

    def _time(self) -> datetime:
        return self._warm_up or self._now()

    def _build(self, spec: ClusterSpec) -> ClusterSite:
        site = ClusterSite(
            spec,
            self.faults,
            server=self._make_server(spec.name, self._time),
            seed=self.seed,
            enlist=lambda actor, server, user: self._schedule.enlist(actor, server, user, self._time()),
            dismiss=self._schedule.dismiss,
        )
        site.server.grant(self.token, User("gitops-mc"))
        site.server.grant(self.reader_token, User("gitops-mc-reader", (Rule(("get", "list", "watch")),)))
        self._schedule.watch(site.server)
        return site

    def _person(self, site: ClusterSite) -> Person:
        site.server.grant("sandbox:person", User("person"))
        return Person(site.server, "sandbox:person")

    def _start_platform(self, spec: FleetSpec) -> None:
        site = self._sites[GLOBAL_CLUSTER]
        user = "platform"
        client = site.client(user, "cluster-transformer")
        for cluster in self._sites.values():
            client.create("clusters", _inventory(cluster.spec))
            client.merge_status("clusters", cluster.spec.name, {"phase": "Running"})
        for publication in spec.publications:
            self.publish(publication)
        controller = ModuleController(client, self._sites, self.faults, spec.platform)
        self._schedule.enlist(controller, site.server, user, self._time())
        self._schedule.enlist(self._agenda, site.server, "agenda", FOREVER)

    def _settle(self, spec: FleetSpec) -> None:
        """Set up what is preinstalled, in the time before the beginning, by the same way as everything else."""
        platform = self._sites[GLOBAL_CLUSTER].client("platform:installer", "console")
        for cluster in _with_global(spec.clusters):
            if cluster.machine_config is not None:
                platform.create("moduleinfoes", module_info(cluster.name, cluster.machine_config))
        begin = self._now()
        while self._warm_up is not None:
            due = self.step(self._warm_up)
            self._warm_up = due if due < begin else None

    def _unlabel_workers(self, now: datetime) -> None:
        for name, site in self._sites.items():
            if not self.faults.active(FaultId.UNLABELLED_WORKERS, name, now):
                continue
            person = self._person(site)
            for node in person.list_all("nodes"):
                if WORKER_LABEL in node["metadata"]["labels"]:
                    person.label_node(node["metadata"]["name"], **{WORKER_LABEL: None})


def module_info(
    cluster: str, version: str, module: str = MACHINE_CONFIG_MODULE, config: JsonObject | None = None
) -> JsonObject:
    """A ModuleInfo as somebody creates it by hand, under its temporary name."""
    return {
        "apiVersion": MODULE_GROUP_VERSION,
        "kind": "ModuleInfo",
        "metadata": {
            "name": f"{cluster}-{module}-temporary",
            "labels": {CLUSTER_LABEL: cluster, MODULE_LABEL: module, MODULE_TYPE_LABEL: "plugin"},
        },
        "spec": {"version": version, "config": config or {}},
    }


def _with_global(clusters: tuple[ClusterSpec, ...]) -> tuple[ClusterSpec, ...]:
    if any(c.name == GLOBAL_CLUSTER for c in clusters):
        return clusters
    return (ClusterSpec(GLOBAL_CLUSTER, masters=1, workers=0), *clusters)


def _inventory(spec: ClusterSpec) -> JsonObject:
    labels = {"cpaas.io/os-linux": "true", "cpaas.io/arch-amd64": "true", **spec.labels}
    if spec.name == GLOBAL_CLUSTER:
        labels["is-global"] = "true"
    return {
        "apiVersion": PLATFORM_GROUP_VERSION,
        "kind": "Cluster",
        "metadata": {"name": spec.name, "labels": labels},
        "spec": {"displayName": spec.name, "type": "Baremetal"},
    }
