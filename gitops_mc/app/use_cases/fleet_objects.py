"""A Fleet and its ClusterRollouts, read for somebody at the command line; and which Fleet governs a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gitops_mc.app.api import RESOURCES, ClusterApi
from gitops_mc.app.ports import Clock
from gitops_mc.core.custom import FLEET_KIND, GROUP_VERSION, ROLLOUT_KIND
from gitops_mc.core.custom.fleet_spec import fleet_spec, hold_told
from gitops_mc.core.custom.kept import cluster_memory, fleet_memory
from gitops_mc.core.errors import GitopsMcError, MemoryStoreError, NotFoundError, UsageError
from gitops_mc.core.model import FLEET_LABEL, GLOBAL_CLUSTER, JsonObject, metadata, name_of
from gitops_mc.core.render.fleet_commands import FleetCommands
from gitops_mc.core.rollout.inputs import Acts
from gitops_mc.core.rollout.memory import ClusterMemory, FleetMemory, to_json

FLEET = RESOURCES[FLEET_KIND]
ROLLOUT = RESOURCES[ROLLOUT_KIND]
_INSTALL = "kubectl apply -k deploy/crds, then start the controller"


@dataclass(frozen=True, slots=True)
class FleetPlace:
    """Where a Fleet is."""

    api: ClusterApi
    clock: Clock
    namespace: str
    name: str

    @property
    def title(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def commands(self) -> FleetCommands:
        """How commands are typed for it."""
        return FleetCommands(self.name, self.namespace)

    def fleet(self) -> JsonObject:
        """Raises UsageError where there is none of this name, and what the API raises."""
        try:
            return self.api.get(GLOBAL_CLUSTER, FLEET, self.name, namespace=self.namespace)
        except NotFoundError as error:
            raise self._missing() from error

    def rollout(self, cluster: str) -> JsonObject:
        """Raises UsageError where this Fleet has no such cluster, and what the API raises."""
        try:
            found = self.api.get(GLOBAL_CLUSTER, ROLLOUT, cluster, namespace=self.namespace)
        except NotFoundError as error:
            raise self._no_cluster(cluster) from error
        if owner_of(found) != self.name:
            raise self._no_cluster(cluster)
        return found

    def rollouts(self) -> Mapping[str, JsonObject]:
        """By cluster."""
        label = f"{FLEET_LABEL}={self.name}"
        found = self.api.list(GLOBAL_CLUSTER, ROLLOUT, namespace=self.namespace, labels=label)
        return {name_of(body): body for body in found}

    def _no_cluster(self, cluster: str) -> UsageError:
        there = ", ".join(self.rollouts()) or "none yet"
        return UsageError(f"Fleet {self.title} has no cluster {cluster}", hint=f"there are: {there}")

    def _missing(self) -> GitopsMcError:
        if not self.api.serves(GLOBAL_CLUSTER, GROUP_VERSION):
            return GitopsMcError(f"global does not serve {GROUP_VERSION}: there are no Fleets", hint=_INSTALL)
        found = self.api.list_metadata(GLOBAL_CLUSTER, FLEET, namespace=self.namespace)
        there = ", ".join(sorted(name_of(head) for head in found)) or "none"
        return UsageError(
            f"there is no Fleet {self.name} in namespace {self.namespace}",
            hint=f"there are: {there}; --namespace names another place",
        )


def memory_of(fleet: JsonObject, rollouts: Mapping[str, JsonObject]) -> FleetMemory:
    """What the controller remembers, as it stands in the objects, to be looked at. Of a cluster whose object cannot be understood
    (its status says so) nothing. Raises MemoryStoreError for the Fleet.
    """
    clusters = {name: _remembered(body) for name, body in rollouts.items()}
    return fleet_memory(*_parts(fleet), clusters)


def orders_of(fleet: JsonObject, rollouts: Mapping[str, JsonObject]) -> Acts:
    """What humans have ordered and not taken back, as it stands in the objects. Raises FleetSpecError."""
    spec = fleet_spec(fleet)
    holds = {name: (body.get("spec") or {}).get("hold") for name, body in rollouts.items()}
    held = {name: hold_told(hold) for name, hold in holds.items() if hold is not None}
    return Acts(suspended=spec.suspended, held=held, aborted=spec.abort)


@dataclass(frozen=True, slots=True)
class SeenMemory:
    """What a controller remembers, for those who only look."""

    memory: FleetMemory

    def load(self) -> JsonObject | None:
        return to_json(self.memory)

    def save(self, state: JsonObject) -> None:  # noqa: ARG002 - the port's signature
        raise MemoryStoreError("the memory of a controller is kept by that controller")


def _remembered(body: JsonObject) -> ClusterMemory:
    try:
        return cluster_memory(*_parts(body))
    except MemoryStoreError:
        return ClusterMemory()


def owner_of(rollout: JsonObject) -> str:
    """The Fleet that a ClusterRollout belongs to."""
    return str((rollout.get("spec") or {}).get("fleet") or "")


@dataclass(frozen=True, slots=True)
class Governor:
    """A Fleet that clusters belong to."""

    namespace: str
    name: str
    suspended: bool

    @property
    def title(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def commands(self) -> FleetCommands:
        return FleetCommands(self.name, self.namespace)


def governors(api: ClusterApi, clusters: Iterable[str]) -> Mapping[str, Governor]:
    """By cluster: the Fleet whose ClusterRollout names it, in whatever namespace. One whose Fleet is gone is nobody's. Where
    global does not serve our API nobody governs anything. Raises what the API raises: not knowing is not absence.
    """
    wanted = frozenset(clusters)
    if not api.serves(GLOBAL_CLUSTER, GROUP_VERSION):
        return {}
    heads = [head for head in api.list_metadata(GLOBAL_CLUSTER, ROLLOUT) if name_of(head) in wanted]
    known: dict[tuple[str, str], Governor | None] = {}
    found: dict[str, Governor] = {}
    for head in sorted(heads, key=name_of):
        namespace = str(metadata(head).get("namespace") or "")
        fleet = _fleet_of(api, head, namespace)
        if (namespace, fleet) not in known:
            known[namespace, fleet] = _governor(api, namespace, fleet)
        governor = known[namespace, fleet]
        before = found.get(name_of(head))
        if governor is not None and (before is None or before.suspended):
            found[name_of(head)] = governor
    return found


def _fleet_of(api: ClusterApi, head: JsonObject, namespace: str) -> str:
    """Its label says it; where somebody took that off, its spec does."""
    label = str((metadata(head).get("labels") or {}).get(FLEET_LABEL) or "")
    if label:
        return label
    try:
        return owner_of(api.get(GLOBAL_CLUSTER, ROLLOUT, name_of(head), namespace=namespace))
    except NotFoundError:
        return ""


def _governor(api: ClusterApi, namespace: str, fleet: str) -> Governor | None:
    if not fleet:
        return None
    try:
        body = api.get(GLOBAL_CLUSTER, FLEET, fleet, namespace=namespace)
    except NotFoundError:
        return None
    return Governor(namespace, fleet, (body.get("spec") or {}).get("suspend") is True)


def _parts(body: JsonObject) -> tuple[JsonObject, JsonObject]:
    return body.get("spec") or {}, body.get("status") or {}
