"""One cluster of the sandbox: its server, its nodes and machines, and what the platform can do to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType

from gitops_mc.core.model import MACHINE_CONFIG_MODULE, JsonObject
from gitops_mc.sandbox.actor import Actor
from gitops_mc.sandbox.apiserver import User
from gitops_mc.sandbox.behind import FleetServer
from gitops_mc.sandbox.client import ApiClient
from gitops_mc.sandbox.faults import FaultBoard, FaultId
from gitops_mc.sandbox.moduleinfo import ReleaseState, app_release
from gitops_mc.sandbox.nodes.daemon import CONTROL_PLANE_LABEL, NodeDaemon, NodeOptions
from gitops_mc.sandbox.nodes.machine import Machine
from gitops_mc.sandbox.operator import components
from gitops_mc.sandbox.operator.controller import MachineConfigOperator, OperatorOptions
from gitops_mc.sandbox.operator.pools import stamp
from gitops_mc.sandbox.pods.budgets import BudgetController
from gitops_mc.sandbox.pods.workload import Workload, WorkloadController

WORKER_LABEL = "node-role.kubernetes.io/worker"
_CONTROLLERS = "system:kube-controller-manager"


@dataclass(frozen=True, slots=True)
class ClusterSpec:
    """How one cluster is built. Nodes are called `<cluster>-m1`, `<cluster>-w1` and so on, from 1."""

    name: str
    masters: int = 3
    workers: int = 3
    labels: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Labels of the cluster in the platform's inventory."""
    machine_config: str | None = None
    """Version of machine-config that is installed and settled when the fleet begins; None: not installed."""
    operator: OperatorOptions = field(default_factory=OperatorOptions)
    nodes: NodeOptions = field(default_factory=NodeOptions)


Enlist = Callable[[Actor, FleetServer, str], None]
"""Takes an actor into the fleet: it, the server whose writes wake it, and the user in whose name it writes."""


class ClusterSite:
    """The cluster. Everything it does to its API goes through `handle`, like everybody else's calls."""

    def __init__(
        self,
        spec: ClusterSpec,
        faults: FaultBoard,
        *,
        server: FleetServer,
        seed: int,
        enlist: Enlist,
        dismiss: Callable[[str], None],
    ) -> None:
        self.spec = spec
        self.server = server
        self.machines: dict[str, Machine] = {}
        self.operator: MachineConfigOperator | None = None
        """The running operator, where machine-config is installed."""
        self._faults = faults
        self._seed = seed
        self._enlist = enlist
        self._dismiss = dismiss
        self._installed = ""
        for number in range(spec.masters):
            self.add_node(f"{spec.name}-m{number + 1}", {CONTROL_PLANE_LABEL: ""})
        for number in range(spec.workers):
            self.add_node(f"{spec.name}-w{number + 1}", {WORKER_LABEL: ""})
        self._enlist(BudgetController(spec.name, self._controllers()), server, _CONTROLLERS)

    def client(self, user: str, manager: str) -> ApiClient:
        """A client in the name of a user, who may do everything."""
        token = f"sandbox:{user}"
        self.server.grant(token, User(user))
        return ApiClient(self.server, token, manager)

    # -------------------------------------------------------------------------------------------------- nodes

    def add_node(self, name: str, labels: Mapping[str, str]) -> None:
        """A node joins, Ready, and is managed if the plugin is there."""
        machine = self.machines[name] = Machine(self.spec.name, name)
        kubelet = self.client(_node_user(name), "kubelet")
        status = _node_status(machine, name, len(self.machines))
        kubelet.create("nodes", {**_node(name, labels), "status": status})
        kubelet.merge_status("nodes", name, status)
        if self._installed:
            self._start_daemon(name)

    def _start_daemon(self, node: str) -> None:
        client = self.client(_node_user(node), components.DAEMON)
        daemon = NodeDaemon(
            self.spec.name,
            node,
            client,
            self.machines[node],
            faults=self._faults,
            options=self.spec.nodes,
            seed=self._seed,
        )
        self._enlist(daemon, self.server, _node_user(node))

    # ---------------------------------------------------------------------------------------------- workloads

    def run(self, workload: Workload) -> None:
        """Somebody deploys something: its namespace, its budget if it has one, and its pods, which are kept up."""
        person = self.client("person", "kubectl-create")
        if person.get("namespaces", workload.namespace) is None:
            space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": workload.namespace}}
            person.create("namespaces", space)
        if workload.min_available is not None:
            person.create("poddisruptionbudgets", workload.budget())
        user = f"workload:{workload.namespace}/{workload.name}"
        client = self.client(user, "kube-controller-manager")
        self._enlist(WorkloadController(self.spec.name, client, workload), self.server, user)

    # ------------------------------------------------------------------------------------------------ modules

    def reachable(self, now: datetime) -> bool:
        return not self._faults.active(FaultId.GATEWAY_GONE, self.spec.name, now)

    def deploy(self, module: str, version: str, now: datetime) -> None:
        if module != MACHINE_CONFIG_MODULE or version == self._installed:
            return
        client = self._platform()
        self.server.install_machine_apis()
        components.deploy(client, version)
        upgraded, first = bool(self._installed), not self._installed
        self._installed = version
        rolls = self._faults.find(FaultId.UPGRADE_ROLLS_POOLS, self.spec.name, now)
        if upgraded and rolls:
            components.render_anew(client, rolls.text("path"))
        self._start_operator()
        if first:
            self._start_controllers()

    def release(self, module: str, version: str, state: ReleaseState, now: datetime) -> None:
        client = self._platform()
        body = app_release(module, version, state, stamp(now))
        if client.get("appreleases", module) is None:
            client.create("appreleases", body)
        else:
            client.merge("appreleases", module, {"spec": body["spec"]})
        client.merge_status("appreleases", module, body["status"])

    def _platform(self) -> ApiClient:
        return self.client("system:serviceaccount:cpaas-system:sentry", "helm")

    def remove(self, module: str) -> None:
        self._platform().delete("appreleases", module)
        if module != MACHINE_CONFIG_MODULE or not self._installed:
            return
        self._installed, self.operator = "", None
        components.undeploy(self._platform())
        for actor in (
            f"{self.spec.name}/{components.CONTROLLER}",
            f"{self.spec.name}/components",
            *(f"{self.spec.name}/node/{node}" for node in self.machines),
        ):
            self._dismiss(actor)

    def restart_operator(self) -> None:
        """The operator's process dies and a new one starts: what it only remembered is lost."""
        if self._installed:
            self._start_operator()

    def _start_operator(self) -> None:
        user = f"system:serviceaccount:{components.NAMESPACE}:{components.CONTROLLER}"
        client = self.client(user, components.CONTROLLER)
        self.operator = MachineConfigOperator(self.spec.name, client, self._faults, self.spec.operator)
        self._enlist(self.operator, self.server, user)

    def _controllers(self) -> ApiClient:
        return self.client(_CONTROLLERS, "kube-controller-manager")

    def _start_controllers(self) -> None:
        controller = components.ComponentController(self.spec.name, self._controllers())
        self._enlist(controller, self.server, _CONTROLLERS)
        for node in self.machines:
            self._start_daemon(node)


def _node_user(node: str) -> str:
    return f"system:node:{node}"


def _node(name: str, labels: Mapping[str, str]) -> JsonObject:
    standard = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {**standard, **labels}},
        "spec": {},
    }


def _node_status(machine: Machine, name: str, number: int) -> JsonObject:
    return {
        "addresses": [
            {"type": "InternalIP", "address": f"10.0.{number // 250}.{number % 250 + 1}"},
            {"type": "Hostname", "address": name},
        ],
        "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        "nodeInfo": {"bootID": machine.boot_id, "kubeletVersion": "v1.33.0", "osImage": "MicroOS"},
    }
