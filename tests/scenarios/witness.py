"""What an API server's own log says: the objects as they stood at any write, and whether a pool was settled then.

Written apart from the product's gates: from the nodes and the rendered config up, with the sandbox's own merge.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from gitops_mc.core.model import JsonObject, annotations_of, labels_of, matches_selector, name_of
from gitops_mc.sandbox.apiserver import AcceptedWrite
from gitops_mc.sandbox.operator.components import CONTROLLER, RENDER_ANNOTATION, own_spec
from gitops_mc.sandbox.operator.merging import MergeOrder, merge_specs, ordered
from gitops_mc.sandbox.operator.pools import NodeView, assign, view
from gitops_mc.sandbox.operator.rendering import selected

BRACKET = "gitops-mc.io/bracket"
DESIRED = "machineconfiguration.alauda.io/desiredConfig"
Objects = Mapping[str, JsonObject]
REPORTED = timedelta(seconds=10)
"""From what is done to a node by hand until the operator counts it."""


class Standing:
    """The objects of one server, moved forward write by write."""

    def __init__(self, writes: tuple[AcceptedWrite, ...], order: MergeOrder) -> None:
        self._writes = writes
        self._order = order
        self._seq = 0
        self._objects: dict[str, dict[str, JsonObject]] = {}
        self._merged: dict[tuple[str, ...], JsonObject] = {}
        self._by_hand: dict[str, datetime] = {}
        self._added_so_far = [""]

    def forward(self, seq: int) -> None:
        """To just after the write `seq`. Never backwards."""
        assert seq >= self._seq
        for write in self._writes[self._seq : seq]:
            kind = self._objects.setdefault(write.resource.partition(".")[0], {})
            if write.after is None:
                kind.pop(write.name, None)
            else:
                kind[write.name] = write.after
            if write.resource.startswith("nodes") and write.manager.startswith("kubectl"):
                self._by_hand[write.name] = write.time
        self._seq = seq

    def of(self, resource: str) -> Objects:
        return self._objects.get(resource, {})

    def configs(self) -> Iterator[JsonObject]:
        return (c for name, c in self.of("machineconfigs").items() if not name.startswith("rendered-"))

    def nodes(self) -> list[NodeView]:
        return [view(n) for n in self.of("nodes").values()]

    def unsettled(self, pool: str, at: datetime, excused: frozenset[str] = frozenset()) -> str:
        """Why a pool is not settled, or empty. Where a human has excused a node of it, its counts and conditions say
        nothing, and the others are looked at one by one. A cordon of this moment is in no pool's status yet.
        """
        body = self.of("machineconfigpools")[pool]
        spec, status = body["spec"], body.get("status") or {}
        name = (spec.get("configuration") or {}).get("name", "")
        rendered = self.of("machineconfigs").get(name)
        if rendered is None:
            return "nothing is rendered"
        if spec.get("paused"):
            return "paused"
        if all(self._merge(body, added) != rendered["spec"] for added in self._added()):
            return f"{name} is not the merge of the live configs"
        if status.get("observedGeneration", 0) < body["metadata"]["generation"]:
            return "the operator has not seen it"
        members = assign(self.nodes(), self.of("machineconfigpools").values()).by_pool[pool]
        conditions = {c["type"]: c["status"] for c in status.get("conditions") or ()}
        if excused & {n.name for n in members}:
            conditions = {"Updated": "True", "RenderDegraded": conditions.get("RenderDegraded", "False")}
        if conditions.get("Updated") != "True" or "True" in {
            v for k, v in conditions.items() if k.endswith("Degraded")
        }:
            return f"conditions {conditions}"
        others = [n for n in members if n.name not in excused and not self._fresh(n.name, at)]
        late = [n.name for n in others if not (n.updated_to(name) and n.available)]
        return f"nodes {', '.join(late)}" if late else ""

    def members(self, pool: str) -> set[str]:
        """Names of the nodes that are in a pool."""
        found = assign(self.nodes(), self.of("machineconfigpools").values()).by_pool.get(pool, ())
        return {node.name for node in found}

    def _fresh(self, node: str, at: datetime) -> bool:
        return node in self._by_hand and at - self._by_hand[node] <= REPORTED

    def _added(self) -> list[str]:
        """What the operator itself puts into every rendered config, its newest version first. What a version adds that has just
        come up, and has not rendered anything yet, shows nowhere in the API: nobody can hold a write against it.
        """
        now = annotations_of(self.of("deployments").get(CONTROLLER, {})).get(RENDER_ANNOTATION, "")
        if now not in self._added_so_far:
            self._added_so_far.insert(0, now)
        return self._added_so_far

    def _merge(self, pool: JsonObject, added: str) -> JsonObject:
        sources = selected(pool, self.configs())
        key = (
            name_of(pool),
            added,
            *(f"{name_of(c)}@{c['metadata']['resourceVersion']}" for c in sources),
        )
        if key not in self._merged:
            specs = [own_spec(added)] if added else []
            specs += [c.get("spec") or {} for c in ordered(sources, self._order)]
            self._merged[key] = merge_specs(specs)
        return self._merged[key]

    def touched(self, write: AcceptedWrite) -> set[str]:
        """The pools, of those that stand now, that a write for this cluster may set in motion."""
        pools = self.of("machineconfigpools")
        kind = write.resource.partition(".")[0]
        bodies = [b for b in (write.before, write.after) if b is not None]
        if kind == "machineconfigs":
            return {
                name
                for name, p in pools.items()
                if any(matches_selector(p["spec"].get("machineConfigSelector"), labels_of(b)) for b in bodies)
            }
        if kind == "machineconfigpools":
            return {write.name} & pools.keys()
        if kind == "machineconfigurations":
            return set(pools)
        return set(pools) if any("machine-config" in labels_of(b).values() for b in bodies) else set()

    def marked(self, pool: str) -> bool:
        """Whether a step of ours is open on it."""
        return BRACKET in annotations_of(self.of("machineconfigpools")[pool])

    def outstanding(self, pool: str) -> bool:
        """Whether a step of ours is open on it, or a node of it is still to get what the live configs say."""
        body = self.of("machineconfigpools")[pool]
        name = (body["spec"].get("configuration") or {}).get("name", "")
        rendered = self.of("machineconfigs").get(name)
        if self.marked(pool) or rendered is None or self._merge(body, self._added()[0]) != rendered["spec"]:
            return True
        members = self.members(pool)
        return any(n.name in members and {n.current, n.desired} != {name} for n in self.nodes())

    def disrupted(self) -> bool:
        """Whether a node is down on its way from one config to another."""
        return any(n.current != n.desired and not n.available for n in self.nodes())
