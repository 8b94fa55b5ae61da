"""Deliberate faults of the controller: of what it keeps, of who may act, of the poll, and of what people order.

Each is found by a seed of the controller's simulation or by a named scenario: tests/scenarios/test_controller_faults.py says which.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from gitops_mc.app.controller import fleet_loop, keeping, objects, orders, recalling
from gitops_mc.app.controller.asking import Asking
from gitops_mc.app.controller.fleet_loop import FleetLoop
from gitops_mc.app.controller.keeping import Keeping
from gitops_mc.app.controller.lease import LeaderOnly, Leadership, LeadershipLostError, Renewing, Terms
from gitops_mc.app.controller.objects import FleetObjects
from gitops_mc.app.controller.sources import Poller
from gitops_mc.app.ports import NotAccepted, Polled, Request, Response
from gitops_mc.core.custom.requests import Verb
from gitops_mc.core.desired import DesiredState
from gitops_mc.core.errors import MemoryStoreError
from gitops_mc.core.live import Barred
from gitops_mc.core.model import JsonObject
from gitops_mc.core.rollout.memory import ClusterMemory
from tests.simulation.mutants.listing import Mutant, mutant, put

CONTROLLER_MUTANTS: dict[str, Mutant] = {}


# -------------------------------------------------------------------------------------------------- what is kept


@mutant("a request is taken off before what came of it is kept", into=CONTROLLER_MUTANTS)
def requests_off_first(stack: ExitStack) -> None:
    def kept(self: FleetObjects, what: Any, body: JsonObject, wanted: Any) -> JsonObject:
        return self._status(what, self._spec(what, body, wanted), wanted)

    put(stack, FleetObjects, "_kept", kept)


@mutant("a cluster is written to before its memory is kept", into=CONTROLLER_MUTANTS)
def memory_after_the_move(stack: ExitStack) -> None:
    def keep_cluster(self: Keeping, name: str, page: Any) -> None:
        if name not in page.moving:
            kept(self, name, page)

    kept = put(stack, Keeping, "_keep_cluster", keep_cluster)


@mutant("only clocks are kept: what else changes is written when it is due", into=CONTROLLER_MUTANTS)
def only_clocks_are_kept(stack: ExitStack) -> None:
    def keep_cluster(self: Keeping, name: str, page: Any) -> None:
        kept(self, name, replace(page, moving=frozenset()))

    put(stack, keeping, "_steady", lambda _memory: None)
    kept = put(stack, Keeping, "_keep_cluster", keep_cluster)


@mutant("objects are written over whatever somebody else has written meanwhile", into=CONTROLLER_MUTANTS)
def written_over(stack: ExitStack) -> None:
    def untested(_body: JsonObject) -> JsonObject:
        return {"op": "test", "path": "/apiVersion", "value": "gitops-mc.io/v1alpha1"}

    put(stack, objects, "_test", untested)


@mutant("memory that cannot be understood is an empty one", into=CONTROLLER_MUTANTS)
def unreadable_is_empty(stack: ExitStack) -> None:
    def lenient(spec: Mapping[str, Any], status: Mapping[str, Any]) -> ClusterMemory:
        try:
            found: ClusterMemory = strict(spec, status)
        except MemoryStoreError:
            return ClusterMemory()
        return found

    strict = put(stack, recalling, "cluster_memory", lenient)


@mutant("what is held is lost with the status", into=CONTROLLER_MUTANTS)
def holds_in_status_alone(stack: ExitStack) -> None:
    def forgetful(spec: Mapping[str, Any], status: Mapping[str, Any]) -> ClusterMemory:
        found: ClusterMemory = read({} if not status.get("memory") else spec, status)
        return found

    read = put(stack, recalling, "cluster_memory", forgetful)


# ------------------------------------------------------------------------------------------------ who may act


@mutant("the lease is not asked before a write", into=CONTROLLER_MUTANTS)
def lease_not_asked(stack: ExitStack) -> None:
    def send(self: LeaderOnly | Renewing, cluster: str, request: Request, *, timeout: float) -> Response:
        return self.inner.send(cluster, request, timeout=timeout)

    put(stack, LeaderOnly, "send", send)
    put(stack, Renewing, "send", send)


@mutant("a leader goes on for longer than others wait", into=CONTROLLER_MUTANTS)
def deadline_beyond_duration(stack: ExitStack) -> None:
    put(stack, Terms, "deadline", property(lambda terms: terms.duration * 2))


@mutant("a renewal counts from its answer on", into=CONTROLLER_MUTANTS)
def renewed_from_the_answer(stack: ExitStack) -> None:
    def led(self: Leadership, _now: Any) -> None:
        counted(self, self.clock.now())

    counted = put(stack, Leadership, "_led", led)


@mutant("a leader that has lost the lease goes on", into=CONTROLLER_MUTANTS)
def lost_and_goes_on(stack: ExitStack) -> None:
    def tick(self: Leadership) -> None:
        try:
            ticked(self)
        except LeadershipLostError:
            self._until = self.clock.now() + self.terms.deadline

    def lost(self: Leadership, _fine: object, _why: str) -> None:
        """Nothing comes of it."""

    put(stack, Leadership, "_lost_unless", lost)
    ticked = put(stack, Leadership, "tick", tick)


@mutant("a process on standby acts", into=CONTROLLER_MUTANTS)
def standby_acts(stack: ExitStack) -> None:
    put(stack, Leadership, "leads", property(lambda _self: True))


@mutant("another installation acts, too", into=CONTROLLER_MUTANTS)
def identity_overlooked(stack: ExitStack) -> None:
    put(stack, FleetLoop, "_ours", lambda _self, _spec: True)


@mutant("a cluster that another Fleet has claimed is taken", into=CONTROLLER_MUTANTS)
def claim_ignored(stack: ExitStack) -> None:
    def claimed(_by: Mapping[str, str]) -> dict[str, Barred]:
        return {}

    put(stack, fleet_loop, "claimed", claimed)


# ------------------------------------------------------------------------------------------------ the repository


@mutant("a push that comes while the repository is read is missed", into=CONTROLLER_MUTANTS)
def wake_lost(stack: ExitStack) -> None:
    def look(self: Poller, wanted: frozenset[Any]) -> None:
        looked(self, wanted)
        self._woken = False

    looked = put(stack, Poller, "look", look)


@mutant("a fleet.yaml with problems is followed", into=CONTROLLER_MUTANTS)
def blocked_followed(stack: ExitStack) -> None:
    put(stack, DesiredState, "fleet_blocked", property(lambda _state: False))


@mutant("a commit that is not accepted is followed", into=CONTROLLER_MUTANTS)
def unsigned_followed(stack: ExitStack) -> None:
    def bring(self: Poller, wanted: frozenset[Any], before: Any) -> Any:
        source = self.source
        asked = source.poll

        def poll(commits: frozenset[Any] = frozenset()) -> Any:
            answer = asked(commits)
            if not isinstance(answer, NotAccepted):
                return answer
            source.here.add(answer.commit)  # type: ignore[attr-defined]  # the repository in memory
            return Polled(answer.commit, "", self.clock.now(), "")

        source.poll = poll  # type: ignore[method-assign,assignment]
        try:
            return brought(self, wanted, before)
        finally:
            source.poll = asked  # type: ignore[method-assign]

    brought = put(stack, Poller, "_bring", bring)


# ----------------------------------------------------------------------------------------------------- orders


@mutant("what people edit in spec is overlooked", into=CONTROLLER_MUTANTS)
def spec_overlooked(stack: ExitStack) -> None:
    put(stack, recalling, "with_cluster_spec", lambda memory, _spec, _base: memory)
    put(stack, recalling, "with_fleet_spec", lambda memory, _spec, _base: memory)


@mutant("a request stays where it is and is carried out with every pass", into=CONTROLLER_MUTANTS)
def request_stays(stack: ExitStack) -> None:
    def taken_off(_body: JsonObject, _done: Mapping[str, str]) -> Sequence[JsonObject]:
        return ()

    put(stack, objects, "_taken_off", taken_off)


@mutant("a suspension is seen by the next process alone", into=CONTROLLER_MUTANTS)
def suspension_seen_late(stack: ExitStack) -> None:
    seen: dict[int, str] = {}

    def acts(self: Asking, spec: Any, desk: Any) -> Any:
        first = seen.setdefault(id(self), spec.suspended)
        return asked(self, replace(spec, suspended=first), desk)

    asked = put(stack, Asking, "acts", acts)


@mutant("an approval outlives the contents that it was given for", into=CONTROLLER_MUTANTS)
def approval_outlives(stack: ExitStack) -> None:
    given: set[str] = set()

    def acts(self: Asking, spec: Any, desk: Any) -> Any:
        nonlocal given
        given |= desk.approved
        return asked(self, spec, replace(desk, approved=desk.approved | given))

    asked = put(stack, Asking, "acts", acts)


@mutant("a hold by hand holds nothing", into=CONTROLLER_MUTANTS)
def hold_overlooked(stack: ExitStack) -> None:
    def acts(self: Asking, spec: Any, desk: Any) -> Any:
        return replace(asked(self, spec, desk), held={})

    asked = put(stack, Asking, "acts", acts)


@mutant("resume lifts a suspension and leaves the abort", into=CONTROLLER_MUTANTS)
def resume_leaves_the_abort(stack: ExitStack) -> None:
    def resumed(desk: Any, cluster: str, asked: Any, by: Any) -> Any:
        after = resume(desk, cluster, asked, by)
        return replace(after, fleet_spec={k: v for k, v in after.fleet_spec.items() if k != "abort"})

    standing = dict(orders._STANDING)
    resume = standing[Verb.RESUME]
    put(stack, orders, "_STANDING", {**standing, Verb.RESUME: resumed})


__all__ = ["CONTROLLER_MUTANTS"]
