"""A node's kubelet and machine-config daemon: brings the node from its currentConfig to its desiredConfig.

An update is a generator that yields the time at which it goes on; `step` resumes it when that time has come.
"""

from __future__ import annotations

import random
from collections.abc import Generator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias

from gitops_mc.core.errors import ApiError
from gitops_mc.core.model import GLOBAL_CLUSTER, JsonObject, annotations_of, labels_of, metadata
from gitops_mc.sandbox.client import ApiClient, Touch
from gitops_mc.sandbox.faults import FOREVER, FaultBoard, FaultId
from gitops_mc.sandbox.nodes.disruption import NONE, REBOOT, Disruption, disruption
from gitops_mc.sandbox.nodes.machine import Machine, NodeEvent, What
from gitops_mc.sandbox.operator.pools import CURRENT, DESIRED, REASON, STATE, NodeState, stamp
from gitops_mc.sandbox.payload import PayloadError, marked_entry
from gitops_mc.sandbox.pods.eviction import evict_all

CONTROL_PLANE_LABEL = "node-role.kubernetes.io/control-plane"

Waits: TypeAlias = Generator[datetime, datetime, datetime]
"""Yields when to go on, is sent the time at which it did, and returns the last of these."""


@dataclass(frozen=True, slots=True)
class NodeOptions:
    """How long things take on a node."""

    drain: timedelta = timedelta(seconds=20)
    write: timedelta = timedelta(seconds=5)
    action: timedelta = timedelta(seconds=3)
    reboot: timedelta = timedelta(seconds=90)
    policy_wait: timedelta = timedelta(minutes=2)
    """How long the daemon waits for the policy's observedGeneration before it is Degraded."""
    drain_limit: timedelta = timedelta(hours=1)
    """After this a drain that is still blocked is reported as Degraded."""
    jitter: float = 0.0
    """Fraction by which drain, write, action and reboot may take longer, drawn by the fleet's seed."""
    poll: timedelta = timedelta(seconds=5)
    retry: timedelta = timedelta(minutes=1)


class _UpdateFailedError(Exception):
    """The update cannot go on: the node is Degraded for this reason and tries again."""


class NodeDaemon:
    """The actor of one node."""

    def __init__(
        self,
        cluster: str,
        node: str,
        client: ApiClient,
        machine: Machine,
        *,
        faults: FaultBoard,
        options: NodeOptions,
        seed: int = 0,
    ) -> None:
        self.name = f"{cluster}/node/{node}"
        self.interests = frozenset({("nodes", node)})
        self._cluster = cluster
        self._node = node
        self._client = client
        self._machine = machine
        self._faults = faults
        self._options = options
        self._random = random.Random(f"{seed}/{self.name}")  # noqa: S311 - durations, not a secret
        self._work: Waits | None = None
        self._resume_at = FOREVER
        self._failed = ""
        """The config that could not be reached; it is tried again at `_retry_at`, another one at once."""
        self._retry_at = FOREVER
        self._cordoned = False
        self._from = self._to = ""

    def notice(self, touch: Touch) -> None:
        """A write to the node: `step` reads the node anyway."""

    def step(self, now: datetime) -> datetime:
        if self._work is not None and now < self._resume_at:
            return self._resume_at
        try:
            return self._resume(now) if self._work is not None else self._idle(now)
        except _UpdateFailedError as failure:
            self._work = None
            self._degrade(now, str(failure))
            self._failed, self._retry_at = self._to, now + self._options.retry
            return self._retry_at
        except ApiError:
            self._work = None
            raise

    # ------------------------------------------------------------------------------------------------ at rest

    def _idle(self, now: datetime) -> datetime:
        node = self._client.get("nodes", self._node)
        if node is None:
            return FOREVER
        notes = annotations_of(node)
        self._from, self._to = notes.get(CURRENT, ""), notes.get(DESIRED, "")
        if not self._to:
            return FOREVER  # in no pool: nobody has asked anything of this node
        if not self._from:
            self._provision(now)
        elif self._from != self._to:
            return self._begin(now, notes.get(STATE, ""))
        else:
            self._at_rest(now, notes.get(STATE, ""))
        return FOREVER

    def _provision(self, now: datetime) -> None:
        """A node that joins boots with the config it is given."""
        self._write(self._rendered(self._to))
        self._annotate({CURRENT: self._to, STATE: NodeState.DONE.value, REASON: ""})
        self._record(now, What.PROVISIONED)

    def _at_rest(self, now: datetime, state: str) -> None:
        """Look for drift, and recover when what made the node Degraded is gone."""
        drifted = self._drifted(now)
        if drifted:
            if state != NodeState.DEGRADED:
                self._degrade(now, drifted)
        elif state != NodeState.DONE:
            self._uncordon(now)
            self._annotate({STATE: NodeState.DONE.value, REASON: ""})
            self._record(now, What.RECOVERED)

    def _drifted(self, now: datetime) -> str:
        fault = self._faults.find(FaultId.DRIFT, self._cluster, now, node=self._node)
        path = self._machine.owned_file(fault.text("path")) if fault else None
        return "" if path is None else f'content mismatch for file "{path}"'

    # ---------------------------------------------------------------------------------------------- an update

    def _begin(self, now: datetime, state: str) -> datetime:
        if self._to == self._failed and now < self._retry_at:
            return self._retry_at
        self._work = self._update(now, state)
        self._resume_at = next(self._work)
        return self._resume_at

    def _resume(self, now: datetime) -> datetime:
        assert self._work is not None
        try:
            self._resume_at = self._work.send(now)
        except StopIteration:
            self._work, self._failed = None, ""
            return self._idle(now)
        return self._resume_at

    def _update(self, now: datetime, state: str) -> Waits:
        options = self._options
        if state != NodeState.DEGRADED:  # a Degraded node stays so until it is done
            self._annotate({STATE: NodeState.WORKING.value, REASON: ""})
        self._record(now, What.STARTED)
        now = yield now + options.poll / 5
        if drifted := self._drifted(now):
            raise _UpdateFailedError(f"unexpected on-disk state validating against {self._from}: {drifted}")
        now = yield from self._flap(now)
        policy, now = yield from self._await_policy(now)
        current, desired = self._rendered(self._from), self._rendered(self._to)
        work = disruption(current, desired, policy)
        self._refuse_marked(now, desired, "before-drain")
        if work.drains:
            now = yield from self._drain(now)
        self._refuse_marked(now, desired, "after-drain")
        now = yield self._after(now, options.write)
        self._write(desired)
        self._record(now, What.WROTE, "; ".join(work.reasons))
        now = yield from self._act(now, work)
        self._uncordon(now)
        self._annotate({CURRENT: self._to, STATE: NodeState.DONE.value, REASON: ""})
        self._record(now, What.DONE)
        return now

    def _write(self, rendered: JsonObject) -> None:
        """Each config may be sound and the merge of them not: a compression over a source that has none."""
        try:
            self._machine.write(rendered)
        except PayloadError as error:
            raise _UpdateFailedError(f"failed to write files: {error}") from error

    def _flap(self, now: datetime) -> Waits:
        fault = self._faults.find(FaultId.DEGRADED_FLAP, self._cluster, now, node=self._node)
        for _ in range(fault.number("times") if fault else 0):
            assert fault is not None
            self._degrade(now, "transient failure while updating")
            now = yield now + fault.delay()
            self._annotate({STATE: NodeState.WORKING.value, REASON: ""})
            self._record(now, What.RECOVERED)
            now = yield now + fault.delay()
        return now

    def _await_policy(self, now: datetime) -> Generator[datetime, datetime, tuple[JsonObject, datetime]]:
        """The MachineConfiguration once its status speaks of its generation."""
        deadline = now + self._options.policy_wait
        while True:
            policy = self._client.get("machineconfigurations", "cluster") or {}
            observed = (policy.get("status") or {}).get("observedGeneration")
            if policy and observed == metadata(policy).get("generation"):
                return policy, now
            if now >= deadline:
                raise _UpdateFailedError(
                    f"timed out waiting for MachineConfiguration cluster: observedGeneration {observed}, "
                    f"generation {metadata(policy).get('generation')}"
                )
            now = yield now + self._options.poll

    def _drain(self, now: datetime) -> Waits:
        self._client.merge("nodes", self._node, {"spec": {"unschedulable": True}})
        if not self._cordoned:
            self._record(now, What.CORDONED)
        self._cordoned = True
        limit = now + self._options.drain_limit
        now = yield self._after(now, self._options.drain)
        reported = False
        while refusal := self._refusal(now):
            if now >= limit and not reported:
                self._degrade(now, f"failed to drain node: {refusal}")
                reported = True
            now = yield now + self._options.poll * 6
        self._record(now, What.DRAINED)
        return now

    def _refusal(self, now: datetime) -> str:
        """Evict what may go. Why something stays; empty when the node is drained."""
        if self._faults.find(FaultId.DRAIN_STUCK, self._cluster, now, node=self._node):
            return "cannot evict pod: disruption budget violated"
        return evict_all(self._client, self._node)

    def _act(self, now: datetime, work: Disruption) -> Waits:
        for action in work.actions:
            if action.kind == REBOOT:
                now = yield from self._reboot(now)
            elif action.kind != NONE:
                now = yield self._after(now, self._options.action)
                self._record(now, What.ACTED, str(action))
        return now

    def _reboot(self, now: datetime) -> Waits:
        back = self._after(now, self._options.reboot)
        node = self._client.get("nodes", self._node) or {}
        drops = self._faults.find(FaultId.GATEWAY_DROPS_ON_REBOOT, self._cluster, now)
        if drops and CONTROL_PLANE_LABEL in labels_of(node):
            # the gateway itself stands on the global cluster: when that reboots, every path is dark
            dark = "*" if self._cluster == GLOBAL_CLUSTER else self._cluster
            self._faults.set(FaultId.GATEWAY_GONE, cluster=dark, start=now, end=back, how=drops.text("how"))
        self._report_ready(now, "False")
        self._machine.boot()
        self._record(now, What.REBOOTED)
        now = yield back
        while self._faults.find(FaultId.NODE_NEVER_RETURNS, self._cluster, now, node=self._node):
            now = yield now + self._options.poll * 6
        self._report_ready(now, "True")
        return now

    def _after(self, now: datetime, duration: timedelta) -> datetime:
        return now + duration * (1 + self._options.jitter * self._random.random())

    def _refuse_marked(self, now: datetime, desired: JsonObject, when: str) -> None:
        for fault in self._faults.active(FaultId.NODE_DEGRADED, self._cluster, now):
            entry = marked_entry(desired, fault.text("marker"))
            if entry and fault.text("when") == when and fault.matches("node", self._node):
                raise _UpdateFailedError(f"failed to write {entry}: {fault.text('marker')}")

    # -------------------------------------------------------------------------------------------------- calls

    def _rendered(self, name: str) -> JsonObject:
        config = self._client.get("machineconfigs", name)
        if config is None:
            raise _UpdateFailedError(f'machineconfig "{name}" not found')
        spec: JsonObject = config.get("spec") or {}
        return spec

    def _report_ready(self, now: datetime, status: str) -> None:
        reason = "KubeletReady" if status == "True" else "KubeletNotReady"
        condition = {"type": "Ready", "status": status, "reason": reason, "lastTransitionTime": stamp(now)}
        info = {"bootID": self._machine.boot_id}
        self._client.merge_status("nodes", self._node, {"conditions": [condition], "nodeInfo": info})

    def _uncordon(self, now: datetime) -> None:
        if self._cordoned:
            self._client.merge("nodes", self._node, {"spec": {"unschedulable": None}})
            self._cordoned = False
            self._record(now, What.UNCORDONED)

    def _degrade(self, now: datetime, reason: str) -> None:
        self._annotate({STATE: NodeState.DEGRADED.value, REASON: reason})
        self._record(now, What.DEGRADED, reason)

    def _annotate(self, notes: dict[str, str]) -> None:
        self._client.merge("nodes", self._node, {"metadata": {"annotations": notes}})

    def _record(self, now: datetime, what: What, detail: str = "") -> None:
        self._machine.record(NodeEvent(now, what, self._from, self._to, detail))
