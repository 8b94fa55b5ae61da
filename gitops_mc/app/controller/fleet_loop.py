"""One Fleet, pass after pass: look at its objects, at Git, at the clusters; decide; keep; show; act.

A pass never raises for what a server does. What it could not do is told, and done by a later one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final

from gitops_mc.app.controller.asking import Asked, Asking, specs_to_keep
from gitops_mc.app.controller.forgetting import forgotten
from gitops_mc.app.controller.keeping import Keeping, Page
from gitops_mc.app.controller.lease import LeadershipLostError
from gitops_mc.app.controller.objects import FleetObjects
from gitops_mc.app.controller.past import Past, commits_in_use
from gitops_mc.app.controller.seams import Means, Watcher
from gitops_mc.app.controller.sources import Poller
from gitops_mc.app.controller.telling import Discretion
from gitops_mc.app.executor import Executor
from gitops_mc.app.looks import Look
from gitops_mc.app.ports import Clock
from gitops_mc.app.telemetry_ports import FleetMode
from gitops_mc.app.use_cases.repository import past_contents
from gitops_mc.core.custom.conditions import State, Summary
from gitops_mc.core.custom.fleet_spec import FleetSpec, FleetSpecError, fleet_spec
from gitops_mc.core.custom.kept import cluster_memory, fleet_memory, with_cluster_spec, with_fleet_spec
from gitops_mc.core.custom.shown import fleet_status, fleet_trouble, rollout_status
from gitops_mc.core.desired import DesiredState
from gitops_mc.core.errors import GitopsMcError, MemoryStoreError, NotFoundError, StaleError
from gitops_mc.core.model import Commit, JsonObject
from gitops_mc.core.policy import DEFAULT_FLEET
from gitops_mc.core.render.fleet_commands import FleetCommands
from gitops_mc.core.rollout.inputs import Fleet
from gitops_mc.core.rollout.memory import NO_COMMIT, FleetMemory
from gitops_mc.core.rollout.moves import ClusterView, Decision, Done, Halted, Hold

_LAST_CALLS: Final = 5.0
"""Seconds that calls on the former way to the clusters get to end in."""
_TENDED_EVERY: Final = timedelta(seconds=30)


@dataclass(slots=True)
class FleetLoop:
    """The loop of one Fleet. One thread at a time."""

    objects: FleetObjects
    means: Means
    clock: Clock
    watcher: Watcher
    poller: Poller | None = None
    executor: Executor | None = None
    memory: FleetMemory | None = None
    quiet: bool = True
    """Whether nothing is awaited: the next pass may come later."""
    _spec: FleetSpec | None = None
    _past: Past | None = None
    _keeping: Keeping = field(init=False)
    _discretion: Discretion = field(default_factory=Discretion)
    _shut: dict[str, str] = field(default_factory=dict)
    _asking: Asking = field(init=False)
    _answers: int = 0
    _tended: datetime | None = None

    def __post_init__(self) -> None:
        self._keeping = Keeping(self.objects)
        self._asking = Asking(self.objects, self.means.identity, self._commands)

    @property
    def title(self) -> str:
        """`<namespace>/<name>`."""
        return f"{self.objects.namespace}/{self.objects.name}"

    def step(self) -> bool:
        """One pass. False when the Fleet is gone: the loop is over, and nothing in any cluster is touched."""
        try:
            changed = self.objects.refresh()
        except NotFoundError:
            return False
        except GitopsMcError as error:
            self.watcher.troubled(self.title, f"the Fleet cannot be read: {error.message}")
            return True
        begun = self.clock.now()
        try:
            self._pass(changed)
        except LeadershipLostError:
            raise
        except StaleError as error:
            self.watcher.troubled(self.title, f"changed meanwhile, looking again: {error.message}")
        except GitopsMcError as error:
            self.watcher.troubled(self.title, self._told(error.message))
        self.watcher.stepped(self.title, (self.clock.now() - begun).total_seconds())
        return True

    def redact(self, text: str) -> str:
        """The text without what is sensitive in this fleet. Any thread."""
        return self._discretion.redact(text)

    def _told(self, text: str) -> str:
        """A text as it is shown: commands as they are typed for this Fleet, and nothing sensitive."""
        return self._discretion.redact(self._commands.said(text))

    @property
    def _commands(self) -> FleetCommands:
        return FleetCommands(self.objects.name, self.objects.namespace)

    def close(self, *, within: float = 0.0) -> None:
        """Its threads are wanted no more; calls that are under way get so many seconds to end in."""
        if self.poller is not None:
            self.poller.workers.close()
        if self.executor is not None:
            self.executor.workers.close(within=within)
        self.means.close()

    def wake(self) -> None:
        """Ask the repository soon."""
        if self.poller is not None:
            self.poller.wake()

    # ------------------------------------------------------------------------------------------------------- a pass

    def _pass(self, changed: Mapping[str, JsonObject]) -> None:
        try:
            spec = fleet_spec(self.objects.fleet)
        except FleetSpecError as error:
            self._show_trouble(Summary(State.STUCK, "Spec", f"{error.message}; {error.hint}"))
            return
        if not self._ours(spec):  # before anything is made or shown: who may not act only reads
            return
        try:
            self._prepare(spec)
        except GitopsMcError as error:  # a Secret that is not there, an address that cannot be
            hint = f"; {error.hint}" if error.hint else ""
            self._show_trouble(Summary(State.STUCK, "Access", f"{error.message}{hint}"))
            return
        assert self.poller is not None
        assert self.executor is not None
        memory = self.memory = self._remembered(changed)
        self.poller.look(commits_in_use(memory))
        if self.poller.answers != self._answers:
            self._answers = self.poller.answers
            self.watcher.polled(self.title, self.poller)
        desired = self.poller.desired
        if desired is None:
            problem = self.poller.pulled.problem
            state = State.STUCK if problem else State.MOVING
            self._show_trouble(
                Summary(state, "Repository", problem or "the repository has not been read yet")
            )
            return
        self._decide_and_act(spec, desired, memory)

    def _prepare(self, spec: FleetSpec) -> None:
        """Make the poller and the executor of this spec, where they are missing or what they are made from has changed."""
        before = self._spec
        if self.poller is None or before is None or before.source != spec.source:
            followed = ((self.objects.fleet.get("status") or {}).get("source") or {}).get(
                "commit"
            ) or NO_COMMIT
            kept = self.poller
            self.poller = self.means.poller(spec)
            self._past = Past(past_contents(self.poller.source))
            self.poller.before = followed
            if kept is not None:  # until the new source has been read, what was followed stays
                self.poller.desired, self.poller.pulled = kept.desired, kept.pulled
                kept.workers.close()
        if self.executor is None or before is None or before.clusters != spec.clusters:
            if self.executor is not None:  # of one cluster there is to be one job
                self.executor.workers.close(within=_LAST_CALLS)
            self.executor = self.means.executor(spec)
        elif self._tended is None or self.clock.now() - self._tended >= _TENDED_EVERY:
            self._tended = self.clock.now()
            self.means.tend(spec)
        assert self._past is not None
        self.executor.past = self._past.get
        self._spec = spec

    def _ours(self, spec: FleetSpec) -> bool:
        """Whether this installation may act. A Fleet that names none is claimed, and read again before anything else."""
        if spec.active_on == self.means.identity:
            self.watcher.moded(self.title, FleetMode.SUSPENDED if spec.suspended else FleetMode.ACTIVE)
            return True
        self.watcher.moded(self.title, FleetMode.ELSEWHERE)
        self.quiet = bool(spec.active_on)  # a claim is read again soon
        if not spec.active_on:
            self.objects.claim(self.means.identity)
        return False

    def _remembered(self, changed: Mapping[str, JsonObject]) -> FleetMemory:
        """The memory, with what has been changed by others since. `changed`: the objects as they were before that."""
        bodies = self.objects.rollouts
        before = self.memory
        names = set(bodies) if before is None else {n for n in changed if n in bodies}
        found = self.objects.found & bodies.keys()
        clusters = {} if before is None else {n: m for n, m in before.clusters.items() if n not in found}
        names |= found
        self.objects.found -= found
        for name in sorted(names):
            spec, status = _parts(bodies[name])
            try:
                known = clusters.get(name)
                clusters[name] = (
                    cluster_memory(spec, status)
                    if known is None
                    else with_cluster_spec(known, spec, _parts(changed.get(name, {}))[0])
                )
                self._shut.pop(name, None)
            except MemoryStoreError as error:
                self._shut[name] = f"its ClusterRollout cannot be understood: {error.message}"
        spec, status = _parts(self.objects.fleet)
        if before is None:
            return fleet_memory(spec, status, clusters)
        memory = replace(before, clusters=dict(sorted(clusters.items())))
        return with_fleet_spec(memory, spec, _parts(changed[""])[0]) if "" in changed else memory

    def _decide_and_act(self, spec: FleetSpec, desired: DesiredState, memory: FleetMemory) -> None:
        assert self.poller is not None
        assert self.executor is not None
        assert self._past is not None
        fleet = self._fleet(desired)
        self._past.learn(desired)
        self._past.keep(memory, self.poller.answers, {c.name: c.content for c in fleet.clusters})
        asked = self._forgetting(self._asking.asked(memory, fleet, self._shut_now, self.clock.now()), fleet)
        desk = asked.desk
        if not self.executor.begun:
            self.executor.begin(fleet)
        self.executor.shut = {**self._shut, **_claimed({**self.objects.claims, **self.objects.foreign})}
        look = self.executor.decide(fleet, desk.memory, self._asking.acts(spec, desk))
        self._discretion.learn(desired, self.poller.pulled.commit, look.live)
        self.memory = look.memory
        failed = self._keeping.keep(self._page(look, asked))
        self._asking.kept(desk, look.memory, failed.keys())
        look = _without(look, failed)
        for name, why in failed.items():
            self.watcher.troubled(
                self.title, f"{name}: its memory is not kept, so nothing is written for it: {why}"
            )
        if desk.said:
            self.watcher.ordered(self.title, tuple(map(self._told, desk.said)))
        if desk.sync:
            self.poller.wake()
        self.watcher.looked(self.title, look)
        self.quiet = isinstance(look.decision.outlook, Done | Hold | Halted)
        self.executor.go_on(look)

    def _forgetting(self, asked: Asked, fleet: Fleet) -> Asked:
        """Forget the clusters that are to be forgotten: at once, and for good."""
        assert self.executor is not None
        assert self.memory is not None
        if not asked.desk.forgotten:
            return asked
        desk = forgotten(asked.desk, self.objects, self.executor, fleet.policy.name)
        for cluster in desk.forgotten.keys() - desk.undone:
            self._keeping.forget(cluster)
            self.memory = self.memory.without_cluster(cluster)
        # the request went with the object; or it stays, to be carried out by a later pass
        return self._asking.without(Asked(desk, asked.done), desk.forgotten.keys())

    def _fleet(self, desired: DesiredState) -> Fleet:
        assert self.poller is not None
        policy = desired.policy
        if policy.name == DEFAULT_FLEET:
            policy = replace(policy, name=self.objects.name)
        return Fleet(policy, desired.clusters, self.poller.pulled.commit)

    # ------------------------------------------------------------------------------------------------------ showing

    def _page(self, look: Look, asked: Asked) -> Page:
        assert self.poller is not None
        told, now = self._told, look.at
        shown: dict[str, JsonObject] = {
            view.cluster: rollout_status(
                view,
                self._commit_of(view, look.memory),
                self.objects.rollouts.get(view.cluster, {}),
                now,
                told,
            )
            for view in look.decision.clusters
        }
        shown[""] = fleet_status(look.decision, self.poller.pulled, self.objects.fleet, now, told)
        return Page(
            at=now,
            memory=look.memory,
            shown=shown,
            moving=frozenset(move.cluster for move in look.decision.moves),
            attention=look.decision.attention,
            specs=specs_to_keep(asked),
            done=asked.done,
            shut=self._shut_now,
        )

    @property
    def _shut_now(self) -> frozenset[str]:
        """Clusters whose object is not ours to write."""
        return frozenset({*self._shut, *self.objects.claims, *self.objects.foreign})

    def _commit_of(self, view: ClusterView, memory: FleetMemory) -> Commit:
        assert self.poller is not None
        m = memory.cluster(view.cluster)
        return m.started_commit if m.started == view.content else self.poller.pulled.commit

    def _show_trouble(self, summary: Summary) -> None:
        """A Fleet that cannot be followed says why; what it remembers stays as it is."""
        pulled = self.poller.pulled if self.poller is not None else None
        now: datetime = self.clock.now()
        if summary.state is State.STUCK:  # a repository that is only still being read is no trouble
            self.watcher.troubled(self.title, self._told(summary.message))
        self.objects.show(fleet_trouble(summary, pulled, self.objects.fleet, now, self._told))


def _parts(body: JsonObject) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    return body.get("spec") or {}, body.get("status") or {}


def _claimed(foreign: Mapping[str, str]) -> dict[str, str]:
    return {
        name: f"Fleet {owner} has claimed it, and a cluster belongs to one Fleet; where that one is gone: kubectl delete its ClusterRollout"
        for name, owner in foreign.items()
    }


def _without(look: Look, clusters: Mapping[str, str]) -> Look:
    """The look without the moves for some clusters."""
    if not clusters:
        return look
    decision: Decision = replace(
        look.decision, moves=tuple(m for m in look.decision.moves if m.cluster not in clusters)
    )
    return replace(look, decision=decision)
