"""The machine-config operator of one cluster: renders pools, moves nodes, and reports on both.

What it must not forget stands in API objects. Timers (a render that is queued, a status that is held back) are its
own and are lost with it, as in the real one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from gitops_mc.core.model import JsonObject, annotations_of, metadata, name_of
from gitops_mc.sandbox.client import ApiClient, Cache, Touch
from gitops_mc.sandbox.faults import FOREVER, FaultBoard, FaultId
from gitops_mc.sandbox.operator import pools as rules
from gitops_mc.sandbox.operator.components import CONTROLLER, RENDER_ANNOTATION, initial_objects, own_spec
from gitops_mc.sandbox.operator.merging import MergeOrder
from gitops_mc.sandbox.operator.policy import policy_status
from gitops_mc.sandbox.operator.pools import NodeState, NodeView
from gitops_mc.sandbox.operator.rendering import (
    RenderError,
    configuration_of,
    input_of,
    render,
    selected,
)

_RESOURCES = ("nodes", "machineconfigs", "machineconfigpools", "machineconfigurations", "deployments")


@dataclass(frozen=True, slots=True)
class OperatorOptions:
    """How this cluster's operator behaves when nothing is wrong."""

    render_delay: timedelta = timedelta(seconds=5)
    """From the first change to the render; later changes do not prolong it."""
    policy_delay: timedelta = timedelta(seconds=3)
    merge_order: MergeOrder = MergeOrder.ALPHABETICAL
    retarget: frozenset[NodeState] = frozenset({NodeState.DONE, NodeState.DEGRADED})
    """States of a node that may be given a newer config."""


class MachineConfigOperator:
    """The actor that is machine-config-controller on one cluster."""

    def __init__(self, cluster: str, client: ApiClient, faults: FaultBoard, options: OperatorOptions) -> None:
        self.name = f"{cluster}/machine-config-controller"
        self.interests = frozenset((resource, "*") for resource in _RESOURCES)
        self._cluster = cluster
        self._client = client
        self._faults = faults
        self._options = options
        self._caches = {resource: Cache(client, resource) for resource in _RESOURCES}
        self._started = False
        self._rendered: dict[str, tuple[object, ...]] = {}
        """Per pool, what the last render read."""
        self._queued: dict[str, datetime] = {}
        """Per pool, when something to render was first seen."""
        self._changed: dict[str, datetime] = {}
        """Per pool, when the last thing that was queued was first seen."""
        self._errors: dict[str, str] = {}
        self._policy_seen: datetime | None = None
        self._views: dict[str, tuple[JsonObject, NodeView]] = {}
        self.skipped: Mapping[str, tuple[str, ...]] = {}
        """Nodes in more than one custom pool, with those pools: the real operator says so in its log."""

    def notice(self, touch: Touch) -> None:
        self._caches[touch.resource].touch(touch.name)

    def step(self, now: datetime) -> datetime:
        if not self._started:
            self._create_missing()
            self._started = True
        due = [self._publish_policy(now)]
        due.extend(self._render_pool(pool, now) for pool in self._objects("machineconfigpools"))
        homes = self._homes()
        moved = [
            self._move_nodes(pool, homes[name_of(pool)], now) for pool in self._objects("machineconfigpools")
        ]
        homes = self._homes() if any(moved) else homes
        due.extend(
            self._report(pool, homes[name_of(pool)], now) for pool in self._objects("machineconfigpools")
        )
        return min(due)

    # -------------------------------------------------------------------------------------------------- start

    def _create_missing(self) -> None:
        """The first start creates what is absent; later starts, upgrades among them, touch nothing that is there."""
        for resource, body in initial_objects():
            if self._cache(resource).get(name_of(body)) is None:
                self._cache(resource).keep(self._client.create(resource, body))

    # ------------------------------------------------------------------------------------------------- policy

    def _publish_policy(self, now: datetime) -> datetime:
        policy = self._cache("machineconfigurations").get("cluster")
        observed = ((policy or {}).get("status") or {}).get("observedGeneration")
        if policy is None or observed == metadata(policy).get("generation"):
            self._policy_seen = None
            return FOREVER
        self._policy_seen = self._policy_seen or now
        late = self._faults.find(FaultId.POLICY_LATE, self._cluster, now)
        due = self._policy_seen + (late.delay() if late else self._options.policy_delay)
        if now < due:
            return due
        written = self._client.merge_status("machineconfigurations", "cluster", policy_status(policy))
        self._cache("machineconfigurations").keep(written)
        self._policy_seen = None
        return FOREVER

    # ------------------------------------------------------------------------------------------------- render

    def _render_pool(self, pool: JsonObject, now: datetime) -> datetime:
        name = name_of(pool)
        wanted = self._input(pool, now)
        if wanted == self._rendered.get(name):
            self._queued.pop(name, None)
            return FOREVER
        since = self._queued.setdefault(name, now)
        self._changed[name] = since
        if pool["spec"].get("paused") and self._faults.find(
            FaultId.PAUSED_DOES_NOT_RENDER, self._cluster, now
        ):
            del self._queued[name]  # it is queued when the pool is unpaused
            return FOREVER
        late = self._faults.find(FaultId.LATE_RENDER, self._cluster, now)
        due = since + (late.delay() if late else self._options.render_delay)
        if now < due:
            return due
        self._write_rendered(pool, now)
        self._rendered[name] = wanted
        del self._queued[name]
        return FOREVER

    def _write_rendered(self, pool: JsonObject, now: datetime) -> None:
        configs = self._objects("machineconfigs")
        sources = selected(pool, configs)
        try:
            rendered = render(pool, sources, self._order(now), self._own_specs())
        except RenderError as error:
            self._errors[name_of(pool)] = str(error)
            return
        self._errors.pop(name_of(pool), None)
        if self._cache("machineconfigs").get(name_of(rendered)) is None:
            self._cache("machineconfigs").keep(self._client.create("machineconfigs", rendered))
        configuration = configuration_of(rendered, sources)
        if pool["spec"].get("configuration") != configuration:
            patch = {"spec": {"configuration": configuration}}
            written = self._client.merge("machineconfigpools", name_of(pool), patch)
            self._cache("machineconfigpools").keep(written)

    def _input(self, pool: JsonObject, now: datetime) -> tuple[object, ...]:
        sources = selected(pool, self._objects("machineconfigs"))
        return (self._order(now), repr(self._own_specs()), *input_of(pool, sources))

    def _order(self, now: datetime) -> MergeOrder:
        role_first = self._faults.find(FaultId.MERGE_ROLE_FIRST, self._cluster, now)
        return MergeOrder.ROLE_FIRST if role_first else self._options.merge_order

    def _own_specs(self) -> tuple[JsonObject, ...]:
        """What this version of the operator itself puts into every rendered config; its Deployment says it."""
        deployment = self._cache("deployments").get(CONTROLLER)
        added = annotations_of(deployment or {}).get(RENDER_ANNOTATION)
        return (own_spec(added),) if added else ()

    # -------------------------------------------------------------------------------------------------- nodes

    def _homes(self) -> Mapping[str, list[NodeView]]:
        assignment = rules.assign(
            [self._view(n) for n in self._objects("nodes")], self._objects("machineconfigpools")
        )
        self.skipped = assignment.clashes
        return assignment.by_pool

    def _view(self, node: JsonObject) -> NodeView:
        known = self._views.get(name_of(node))
        if known is None or known[0] is not node:
            known = self._views[name_of(node)] = (node, rules.view(node))
        return known[1]

    def _move_nodes(self, pool: JsonObject, nodes: list[NodeView], now: datetime) -> bool:
        """Give nodes their next config; whether any got one."""
        target = (pool["spec"].get("configuration") or {}).get("name", "")
        settled = ((pool.get("status") or {}).get("configuration") or {}).get("name", "")
        newcomers = [n for n in nodes if not n.desired]
        known = [n for n in nodes if n.desired]
        chosen = rules.candidates(pool, known, self._retargetable(now))
        if target:  # a new node boots with what the pool has finished rolling out
            self._retarget(newcomers, settled or target)
        self._retarget(chosen, target)
        return bool(chosen or newcomers)

    def _retargetable(self, now: datetime) -> frozenset[NodeState]:
        stuck = self._faults.find(FaultId.DEGRADED_NOT_RETARGETED, self._cluster, now)
        return self._options.retarget - {NodeState.DEGRADED} if stuck else self._options.retarget

    def _retarget(self, nodes: Iterable[NodeView], target: str) -> None:
        for node in nodes:
            patch = {"metadata": {"annotations": {rules.DESIRED: target}}}
            self._cache("nodes").keep(self._client.merge("nodes", node.name, patch))

    # ------------------------------------------------------------------------------------------------- status

    def _report(self, pool: JsonObject, nodes: list[NodeView], now: datetime) -> datetime:
        name = name_of(pool)
        stale = self._stale_until(pool, now)
        if now < stale:
            return stale
        status = rules.status_of(pool, nodes, self._errors.get(name, ""), now)
        if status != pool.get("status"):
            self._cache("machineconfigpools").keep(
                self._client.merge_status("machineconfigpools", name, status)
            )
        return FOREVER

    def _stale_until(self, pool: JsonObject, now: datetime) -> datetime:
        """Until when the status is held back; a pool that never had one gets it."""
        stale = self._faults.find(FaultId.STALE_TRUE, self._cluster, now)
        changed = self._changed.get(name_of(pool))
        return changed + stale.delay() if stale and changed and pool.get("status") else now

    # -------------------------------------------------------------------------------------------------- calls

    def _cache(self, resource: str) -> Cache:
        return self._caches[resource]

    def _objects(self, resource: str) -> list[JsonObject]:
        return self._cache(resource).objects()
