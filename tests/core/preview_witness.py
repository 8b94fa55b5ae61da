"""A pull request carried out on an embedded API server in the order in which the engine writes, and what a daemon of the sandbox does
on a node of each pool: rendered, published and decided by the sandbox's own code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gitops_mc.core.desired import DesiredState
from gitops_mc.core.diff import Change, Create, Ownership, Update
from gitops_mc.core.ignition import MergeOrder
from gitops_mc.core.model import (
    ADOPT_ANNOTATION,
    POLICY_NAME,
    ROLE_LABEL,
    JsonObject,
    Kind,
    ResourceKey,
    name_of,
    resource_version,
)
from gitops_mc.core.plan import Circumstances, StepKind, make_plan
from gitops_mc.core.policy import FleetPolicy, Prune
from gitops_mc.core.preview.changed import PoolChange
from gitops_mc.core.preview.changes import pull_changes
from gitops_mc.sandbox.nodes.disruption import Disruption, disruption
from gitops_mc.sandbox.operator.components import CONTROLLER, initial_objects
from gitops_mc.sandbox.operator.merging import MergeOrder as OperatorOrder
from gitops_mc.sandbox.operator.merging import merge_specs, ordered
from gitops_mc.sandbox.operator.policy import policy_status
from gitops_mc.sandbox.operator.rendering import selected
from tests.core.diff_world import CLUSTER, FLEET, World, desired
from tests.core.machine_configs import machine_config

POLICY = FleetPolicy(name=FLEET, prune=Prune(enabled=True, max_deletes=1000))
POLICY_KEY = ResourceKey(CLUSTER, Kind.MACHINE_CONFIGURATION, POLICY_NAME)
"""What the operator has set in it was accepted for Git by a human."""
ALWAYS = machine_config("90-none-always", "none")
"""No pool selects it; a cluster of which Git says nothing is never deleted from."""
INFRA: JsonObject = {
    "apiVersion": Kind.MACHINE_CONFIG_POOL.api_version,
    "kind": "MachineConfigPool",
    "metadata": {"name": "infra"},
    "spec": {
        "machineConfigSelector": {
            "matchExpressions": [{"key": ROLE_LABEL, "operator": "In", "values": ["worker", "infra"]}]
        },
        "nodeSelector": {"matchLabels": {"node-role.kubernetes.io/infra": ""}},
    },
}


def policy_manifest(spec: JsonObject) -> JsonObject:
    """MachineConfiguration `cluster`; what the operator has set there is taken over."""
    return {
        "apiVersion": Kind.MACHINE_CONFIGURATION.api_version,
        "kind": "MachineConfiguration",
        "metadata": {"name": POLICY_NAME, "annotations": {ADOPT_ANNOTATION: CONTROLLER}},
        "spec": spec,
    }


@dataclass(frozen=True, slots=True)
class Done:
    """What a node of a pool did; the pool's nodes went once."""

    pool: str
    work: Disruption


class Carried:
    """The cluster, from its operator's first start on."""

    def __init__(self, order: MergeOrder) -> None:
        self.world = World()
        self.order = order
        for _, body in initial_objects():
            self.world.create(body, manager=CONTROLLER)
        self._publish()

    def rendered(self, pool: str) -> JsonObject | None:
        """What the operator renders for a pool now; of one that is not there None."""
        live = self._all(Kind.MACHINE_CONFIG_POOL)
        found = next((p for p in live if name_of(p) == pool), None)
        if found is None:
            return None
        sources = ordered(selected(found, self._all(Kind.MACHINE_CONFIG)), OperatorOrder(self.order.value))
        return merge_specs(config.get("spec") or {} for config in sources)

    def carry_out(self, *bodies: JsonObject, created: frozenset[ResourceKey] = frozenset()) -> list[Done]:
        """Git says this now. `created`: what was made by content that has not passed, and goes with its revert."""
        past = Circumstances(
            dict(self.world.inventory),
            created=created,
            order=self.order,
            prune=POLICY.prune,
            git_wins=frozenset({POLICY_KEY}),
        )
        plan = make_plan(desired(*bodies), self.world.live(), POLICY, past)
        assert not [refusal for refusal in plan.refusals if refusal.key is not None], plan.refusals
        done = []
        for step in plan.steps:
            before = {pool: self.rendered(pool) or self.rendered("worker") for pool in step.pools}
            for write in step.writes:
                self._write(write, step.kind)
            if step.kind in (StepKind.POLICY, StepKind.POLICY_FINAL):
                self._publish()
            elif step.kind is StepKind.POOLS:
                policy = self.world.get(Kind.MACHINE_CONFIGURATION, POLICY_NAME)
                for pool in step.pools:
                    was, will = before[pool], self.rendered(pool)
                    assert was is not None
                    assert will is not None
                    done.append(Done(pool, disruption(was, will, policy)))
        return done

    def _write(self, write: Change, step: StepKind) -> None:
        if step not in (StepKind.POLICY, StepKind.POLICY_FINAL):
            self.world.write(write)
            return
        assert isinstance(write, Update)
        live = self.world.get(Kind.MACHINE_CONFIGURATION, POLICY_NAME)
        force = "true" if write.ownership is Ownership.TAKE else "false"
        meta = {**write.body["metadata"], "resourceVersion": resource_version(live)}
        self.world.apply({**write.body, "metadata": meta}, force=force)

    def _publish(self) -> None:
        live = self.world.get(Kind.MACHINE_CONFIGURATION, POLICY_NAME)
        status = {"status": policy_status(live)}
        self.world.merge_patch(
            Kind.MACHINE_CONFIGURATION, f"{POLICY_NAME}/status", status, manager=CONTROLLER
        )

    def _all(self, kind: Kind) -> list[JsonObject]:
        found: list[JsonObject] = self.world.call("GET", kind)["items"]
        return found

    def created_by(self, bodies: Sequence[JsonObject]) -> frozenset[ResourceKey]:
        """What of these is not there yet."""
        plan = make_plan(desired(*bodies), self.world.live(), POLICY, Circumstances(order=self.order))
        return frozenset(write.key for write in plan.writes if isinstance(write, Create))


def forecast(
    before: Sequence[JsonObject], after: Sequence[JsonObject], order: MergeOrder
) -> dict[str, PoolChange]:
    """What the preview says of the pools."""
    was, will = (DesiredState(POLICY, (desired(*bodies),), ()) for bodies in (before, after))
    found = pull_changes(was, will, order).clusters
    return {pool.pool: pool for cluster in found for pool in cluster.pools}
