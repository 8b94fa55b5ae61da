"""One Fleet, pass after pass: look at its objects, at Git, at the clusters; decide; keep; show; act.

A pass never raises for what a server does. What it could not do is told, and done by a later one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from gitops_mc.app.controller.asking import Asked, Asking
from gitops_mc.app.controller.barring import claimed, not_understood
from gitops_mc.app.controller.equipping import Equipment
from gitops_mc.app.controller.forgetting import forgotten
from gitops_mc.app.controller.keeping import Keeping, Page
from gitops_mc.app.controller.lease import LeadershipLostError
from gitops_mc.app.controller.objects import FleetObjects
from gitops_mc.app.controller.pages import Pages
from gitops_mc.app.controller.past import commits_in_use
from gitops_mc.app.controller.previews_shown import Awaited, nothing_shown
from gitops_mc.app.controller.recalling import Recall
from gitops_mc.app.controller.seams import Means, Watcher
from gitops_mc.app.controller.sources import Poller
from gitops_mc.app.controller.telling import Discretion
from gitops_mc.app.executor import Executor
from gitops_mc.app.looks import Look
from gitops_mc.app.ports import Clock
from gitops_mc.app.telemetry_ports import FleetMode
from gitops_mc.core.custom.conditions import Reason, State, Summary
from gitops_mc.core.custom.fleet_spec import FleetSpec, FleetSpecError, fleet_spec
from gitops_mc.core.custom.shown import fleet_trouble, rollout_trouble
from gitops_mc.core.desired import DesiredState
from gitops_mc.core.errors import GitopsMcError, MemoryStoreError, NotFoundError, StaleError
from gitops_mc.core.live import Barred
from gitops_mc.core.model import JsonObject
from gitops_mc.core.policy import DEFAULT_FLEET
from gitops_mc.core.render.fleet_commands import FleetCommands
from gitops_mc.core.rollout.inputs import Acts, Fleet
from gitops_mc.core.rollout.memory import NO_COMMIT, FleetMemory
from gitops_mc.core.rollout.moves import Decision, Done, Halted, Hold

_UNREAD: Final = "until then nothing is written, no request is heard, and an abort pauses nothing: pools are paused by hand"


@dataclass(slots=True)
class FleetLoop:
    """The loop of one Fleet. One thread at a time."""

    objects: FleetObjects
    means: Means
    clock: Clock
    watcher: Watcher
    memory: FleetMemory | None = None
    quiet: bool = True
    """Whether nothing is awaited: the next pass may come later."""
    previewed: Awaited = nothing_shown
    """What previews have shown, and is to be remembered."""
    _equipment: Equipment = field(init=False)
    _recall: Recall = field(init=False)
    _keeping: Keeping = field(init=False)
    _asking: Asking = field(init=False)
    _discretion: Discretion = field(default_factory=Discretion)
    _heard: tuple[int, int] = (0, 0)
    """Of which poller how many answers have been told of."""
    _stood: tuple[object, ...] = ("", None, frozenset())
    """What of the orders that stop writes stood in the last pass."""

    def __post_init__(self) -> None:
        self._equipment = Equipment(self.means, self.clock)
        self._begin_anew()

    def _begin_anew(self) -> None:
        """Know nothing but what the objects say."""
        self.memory = None
        self._recall = Recall(self.objects)
        self._keeping = Keeping(self.objects)
        self._asking = Asking(self.objects, self.means.identity, self._commands)

    @property
    def poller(self) -> Poller | None:
        """None as long as there is none."""
        return self._equipment.poller

    @property
    def executor(self) -> Executor | None:
        """None as long as there is none."""
        return self._equipment.executor

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
        except LeadershipLostError:
            raise
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

    def broke(self, error: Exception) -> None:
        """A fault of this program has ended the loop: the Fleet is to say so, where that can be written. Raises LeadershipLostError."""
        told = (
            f"a fault of gitops-mc ({type(error).__name__}) ended the last pass, and nothing is written; its log tells where. It is "
            "tried again every minute"
        )
        try:
            self._show_trouble(Summary(State.STUCK, Reason.FAULT, told))
        except LeadershipLostError:
            raise
        except Exception:  # noqa: BLE001, S110 - the log has the fault itself
            pass

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
        self._equipment.close(within=within)

    def wake(self) -> None:
        """Ask the repository soon."""
        self._equipment.wake()

    # ------------------------------------------------------------------------------------------------------- a pass

    def _pass(self, changed: Mapping[str, JsonObject]) -> None:
        self._recall.hear(changed)
        self._keeping.doubt(changed)
        try:
            spec = fleet_spec(self.objects.fleet)
        except FleetSpecError as error:
            self._show_trouble(Summary(State.STUCK, Reason.SPEC, f"{error.message}; {error.hint}"))
            return
        if not self._ours(spec):  # before anything is made or shown: who may not act only reads
            self._equipment.stop_writing()
            self._begin_anew()  # whoever acts writes the objects meanwhile
            return
        source = (self.objects.fleet.get("status") or {}).get("source") or {}
        trouble = self._equipment.prepare(spec, source.get("commit") or NO_COMMIT)
        try:
            memory = self.memory = self._recall.memory(self.memory)
        except MemoryStoreError as error:
            self._show_trouble(
                Summary(State.STUCK, Reason.MEMORY, f"{error.message}; {error.hint}; {_UNREAD}")
            )
            return
        self._show_what_is_not_understood()
        desired = None if trouble else self._polled(memory)
        if desired is not None:
            self._decide_and_act(spec, desired, memory)
        else:
            self._only_stop(spec, memory, trouble or self._unread())

    def _polled(self, memory: FleetMemory) -> DesiredState | None:
        """What Git said last, of what may be followed; None: nothing yet."""
        assert self.poller is not None
        if (poller := self._equipment.following()) is not None:
            poller.look(commits_in_use(memory))
            while poller.faults:
                self.watcher.stumbled(self.title, poller.faults.pop())
        heard = (id(self.poller), self.poller.answers)
        if self.poller.answers and heard != self._heard:
            self._heard = heard
            self.watcher.polled(self.title, self.poller)
        return self.poller.desired

    def _unread(self) -> Summary:
        assert self.poller is not None
        problem = self.poller.pulled.problem
        state = State.STUCK if problem else State.MOVING
        return Summary(state, Reason.REPOSITORY, problem or "the repository has not been read yet")

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

    def _decide_and_act(self, spec: FleetSpec, desired: DesiredState, memory: FleetMemory) -> None:
        assert self.poller is not None
        assert self.executor is not None
        past = self._equipment.past
        assert past is not None
        fleet = self._fleet(desired)
        past.learn(desired)
        past.keep(memory, self.poller.answers, {c.name: c.content for c in fleet.clusters})
        asked = self._forgetting(self._asked(memory, fleet), fleet)
        desk = asked.desk
        self.executor.past = past.get
        if not self.executor.begun:
            self.executor.begin(fleet)
        self.executor.shut = self._shut_out
        shown = self.previewed(self.title, desk.memory, {c.name for c in fleet.clusters})
        acts = replace(self._asking.acts(spec, desk), shown=shown)
        look = self.executor.decide(fleet, desk.memory, self._heeded(acts))
        self._discretion.learn(desired, self.poller.pulled.commit, look.live)
        self.quiet = isinstance(look.decision.outlook, Done | Hold | Halted)
        self._carry_out(look, asked, self._pages.decided(look, asked, self.poller.pulled))

    def _only_stop(self, spec: FleetSpec, memory: FleetMemory, trouble: Summary) -> None:
        """There is nothing that could be followed. What humans order is kept all the same, where it needs no content, and an abort
        stops what rolls.
        """
        asked = self._asked(memory, None)
        acts = self._heeded(self._asking.acts(spec, asked.desk))
        status = self._troubled(trouble)
        if acts.aborted is None and not asked.done:
            self.objects.show(status)
            return
        if self.executor is None:
            self._keep(
                self._pages.standing(asked.desk.memory, asked, status, self.clock.now(), frozenset()), asked
            )
            return
        self.executor.shut = self._shut_out
        look = self.executor.decide_without_git(asked.desk.memory, acts)
        self.quiet = acts.aborted is None
        moving = frozenset(move.cluster for move in look.decision.moves)
        self._carry_out(look, asked, self._pages.standing(look.memory, asked, status, look.at, moving))

    def _carry_out(self, look: Look, asked: Asked, page: Page) -> None:
        """Keep, tell, act; in this order."""
        assert self.executor is not None
        look = _without(look, self._keep(page, asked))
        self.watcher.looked(self.title, look)
        self.executor.go_on(look)

    def _keep(self, page: Page, asked: Asked) -> Mapping[str, str]:
        """Make a page durable, and tell what was ordered; clusters whose memory is not kept, and why."""
        desk = asked.desk
        if desk.sync and self.poller is not None:  # before what may fail: it is heard once
            self.poller.wake()
        self.memory = page.memory
        failed = self._keeping.keep(page)
        self._asking.kept(failed.keys())
        for name, why in failed.items():
            self.watcher.troubled(
                self.title, f"{name}: its memory is not kept, so nothing is written for it: {why}"
            )
        if desk.said:
            self.watcher.ordered(self.title, tuple(map(self._told, desk.said)))
        return failed

    def _asked(self, memory: FleetMemory, fleet: Fleet | None) -> Asked:
        asked = self._asking.asked(memory, fleet, self._shut_now, self.clock.now())
        self.memory = asked.desk.memory  # a request is heard once, whatever becomes of this pass
        for error in asked.faults:
            self.watcher.stumbled(self.title, error)
        return asked

    def _heeded(self, acts: Acts) -> Acts:
        """What stands; where that is another thing than before, jobs that began under it stop before their next write: an order is not
        told as carried out while something still goes on writing.
        """
        stands = (acts.suspended, acts.aborted, frozenset(self._shut_now))
        if stands != self._stood:
            self._stood = stands
            self._equipment.stop_writing()
        return acts

    def _forgetting(self, asked: Asked, fleet: Fleet) -> Asked:
        """Forget the clusters that are to be forgotten: at once, and for good."""
        assert self.executor is not None
        assert self.memory is not None
        if not asked.desk.forgotten:
            self.executor.asides({})  # what is asked for no more
            return asked
        desk = forgotten(asked.desk, self.objects, self.executor, fleet.policy.name)
        for cluster, why in desk.undone.items():
            self.watcher.troubled(self.title, f"{cluster} is not forgotten yet: {why}")
        for cluster in desk.forgotten.keys() - desk.undone.keys():
            self._keeping.forget(cluster)
            self.memory = self.memory.without_cluster(cluster)
        # the request went with the object; or it stays, to be carried out by a later pass
        return self._asking.without(replace(asked, desk=desk), desk.forgotten.keys())

    def _fleet(self, desired: DesiredState) -> Fleet:
        assert self.poller is not None
        policy = desired.policy
        if policy.name == DEFAULT_FLEET:
            policy = replace(policy, name=self.objects.name)
        return Fleet(policy, desired.clusters, self.poller.pulled.commit)

    # ------------------------------------------------------------------------------------------------------ showing

    @property
    def _pages(self) -> Pages:
        return Pages(self.objects, self._told, self._shut_now, self.watcher.beside(self.title))

    @property
    def _shut_out(self) -> dict[str, Barred]:
        """`_shut_now`, with why."""
        unread = not_understood(self._recall.shut, self.objects.namespace)
        return {**unread, **claimed({**self.objects.claims, **self.objects.foreign})}

    @property
    def _shut_now(self) -> frozenset[str]:
        """Clusters whose object is not ours to write."""
        return frozenset({*self._recall.shut, *self.objects.claims, *self.objects.foreign})

    def _show_trouble(self, summary: Summary) -> None:
        """A Fleet that cannot be followed says why; what it remembers stays as it is."""
        self.objects.show(self._troubled(summary))

    def _show_what_is_not_understood(self) -> None:
        """On the objects of clusters; what they remember stays as it is."""
        for name, why in self._recall.shut.items():
            body = self.objects.rollouts[name]
            lift = self._shut_out[name].lift
            summary = Summary(State.STUCK, Reason.MEMORY, f"{why}; {lift}")
            status = rollout_trouble(summary, body, self.clock.now(), self._told)
            try:
                self.objects.show_rollout(name, status)
            except LeadershipLostError:
                raise
            except GitopsMcError as error:  # an object that cannot be written either stops no other
                self.watcher.troubled(self.title, f"{name} cannot say that: {self._told(error.message)}")

    def _troubled(self, summary: Summary) -> JsonObject:
        """Tell of a trouble, and what the Fleet is to show then."""
        pulled = self.poller.pulled if self.poller is not None else None
        if summary.state is State.STUCK:  # a repository that is only still being read is no trouble
            self.watcher.troubled(self.title, self._told(summary.message))
        found = fleet_trouble(summary, pulled, self.objects.fleet, self.clock.now(), self._told)
        return {**found, **self.watcher.beside(self.title)}


def _without(look: Look, clusters: Mapping[str, str]) -> Look:
    """The look without the moves for some clusters."""
    if not clusters:
        return look
    decision: Decision = replace(
        look.decision, moves=tuple(m for m in look.decision.moves if m.cluster not in clusters)
    )
    return replace(look, decision=decision)
