"""A whole rollout, commit after commit, by processes that may die at any call and at any step of a save.

What a process leaves behind is the clusters, the state file and the time; so those decide everything that comes after it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum
from pathlib import Path

from gitops_mc.app.looks import Pace
from gitops_mc.app.ports import Request, Response, Transport
from gitops_mc.core.model import GLOBAL_CLUSTER, JsonObject
from gitops_mc.core.rollout.inputs import NO_ACTS, Acts
from gitops_mc.core.rollout.memory import to_json
from gitops_mc.core.rollout.moves import Done, Halted, Hold, Outlook
from gitops_mc.sandbox.fleet import FleetSpec
from tests.scenarios.commits import Push
from tests.scenarios.crash_memory import DiskMemory, Saving
from tests.scenarios.crashes import Killed, is_dry_run
from tests.scenarios.drawn import Script
from tests.scenarios.rollout_world import RolloutWorld
from tests.scenarios.simulation import FAST, Recorder, Simulation

KINDS = ("machineconfigs", "machineconfigpools", "machineconfigurations", "moduleinfoes")
PATIENCE = timedelta(hours=2)
"""After which a command is given up: undisturbed none of them takes half an hour."""
BETWEEN = 60.0
"""Seconds from one command to the next."""


class Calling(StrEnum):
    """Where in a call a process ends."""

    BEFORE = "before"
    LATE = "late"
    """Sent, and delivered only when the next process has decided and is about to write."""
    DURING = "during"
    """The call has taken effect, and the answer is read by nobody; the next process comes at once."""
    AFTER = "after"
    """Answered, and the next process comes a minute later, when operators and nodes have gone on by themselves."""


Moment = Calling | Saving
AWAY: Mapping[Moment, float] = {Calling.AFTER: 60.0, Saving.SAVED: 60.0}
"""Seconds until the next process starts; one second where nothing stands here."""


class Sort(StrEnum):
    """What is numbered."""

    READ = "read"
    DRY_RUN = "dry run"
    WRITE = "write"
    SAVE = "save"


@dataclass(frozen=True, slots=True)
class Step:
    """One thing a process does to the outside."""

    number: int
    sort: Sort
    what: str


@dataclass(frozen=True, slots=True)
class Stage:
    """One command, typed again after each death until it ends as it should."""

    note: str
    files: Mapping[str, str]
    ends: type[Outlook] = Done
    approved: tuple[str, ...] = ()
    """What is approved on the command line."""
    acts: Acts = NO_ACTS
    """What stands while it runs."""
    until: Callable[[RolloutWorld], bool] = lambda _world: False
    """When the process is left before its end; as true after a death as it was before it."""
    counted: bool = True
    """Whether processes die in it."""
    overtaken: bool = False
    """Whether, after a death in it, the next commit has arrived, and its command is typed instead."""


@dataclass(frozen=True)
class Case:
    """A named world, and the commands that are typed in it."""

    name: str
    spec: FleetSpec
    stages: tuple[Stage, ...]
    prepare: Callable[[Simulation], None] = lambda _: None
    """What is set up, and goes wrong, before the first command."""


@dataclass(frozen=True)
class Ending:
    """How it all stands in the end."""

    state: Mapping[str, JsonObject]
    reboots: Mapping[str, int]
    actions: Mapping[str, tuple[str, ...]]
    memory: JsonObject
    modules: int = 0
    """How many ModuleInfos we have made: a second one of a module may live for an instant, and be seen by nobody after."""


class Fate:
    """Told of every step and every moment in it; this one lets everything live."""

    def step(self, sort: Sort, what: str) -> None:
        """The process is about to do this."""

    def at(self, moment: Moment, late: tuple[str, Request] | None = None) -> None:
        """The step is at this moment. Where the process dies here, this does not return."""


class Rollout(Simulation):
    """Plays a case."""

    def __init__(self, case: Case, folder: Path, fate: Fate) -> None:
        super().__init__(Script(0, case.spec, (), (Push(0, case.stages[0].files, case.stages[0].note),)))
        pushes = tuple(Push(float(n), stage.files, stage.note) for n, stage in enumerate(case.stages))
        self.script = replace(
            self.script, pushes=pushes
        )  # for the invariants; they come one command after the other
        self.case = case
        self.fate = fate
        folder.mkdir(parents=True, exist_ok=True)
        self.disk = DiskMemory(folder, self._saving)
        self.world.store = self.disk
        self.world.pace = Pace(every=FAST.every)
        self.stage = case.stages[0]
        self.late: tuple[str, Request] | None = None
        self.away = 1.0
        self.dead = ""
        """The death that was died, in words."""
        case.prepare(self)
        self.start = self.world.clock.now()

    def play(self) -> Rollout:
        """Every command to its end. AssertionError where one ends as it should not."""
        for number, stage in enumerate(self.case.stages):
            self.stage = stage
            self.world.files = dict(stage.files)
            self.head = self.world.git(str(number))
            if stage.approved:
                self.approvals.append((self.world.clock.now(), self.head))
            ended = self._until_it_ends()
            if ended is None:
                continue
            self.outlook = ended
            assert isinstance(ended, stage.ends), f"{stage.note}: {ended}\n{self.story()}"
            self.world.clock.wait_for(BETWEEN)
        return self

    def _until_it_ends(self) -> Outlook | None:
        """How the command ended; None when another one is typed instead."""
        while True:
            try:
                return self._one_process()
            except Killed:
                self.world.clock.wait_for(self.away)
                if self.stage.overtaken:
                    return None

    def _one_process(self) -> Outlook:
        self.world.wrap = lambda transport: Recorder(_Mortal(transport, self), self)
        self.disk.begin()
        deadline = self.world.clock.now() + PATIENCE
        try:
            executor = self.world.executor()
            self.given = replace(self.stage.acts, approved=frozenset(self.stage.approved))
            for look in executor.rollout(self.head, self.given):
                self._note_look(look, self.head)
                outlook = look.decision.outlook
                over = look.at >= deadline or self.stage.until(self.world)
                if isinstance(outlook, Done | Hold | Halted) or over:
                    return outlook
        finally:
            self.disk.end()
        raise AssertionError("a rollout ends by its caller")

    def _saving(self, at: Saving) -> None:
        if at is Saving.NOT_BEGUN:
            self.fate.step(Sort.SAVE, "save")
        self.fate.at(at)

    def stands(self) -> tuple[object, ...]:
        """All that a death leaves behind: two that leave the same are followed by the same."""
        logs = tuple((name, len(s.writes)) for name, s in sorted(self.world.fleet.servers.items()))
        return self.stage.note, self.world.clock.now(), logs, self.disk.stands()

    def ending(self) -> Ending:
        fleet = self.world.fleet
        nodes = [(c, n) for c in fleet.servers for n in fleet.nodes(c)]
        actions = {f"{c}/{n}": tuple(sorted(fleet.node_log(c, n).actions)) for c, n in nodes}
        reboots = {f"{c}/{n}": times for (c, n), times in fleet.reboots().items()}
        made = [
            w for w in fleet.writes(GLOBAL_CLUSTER) if w.resource.startswith("moduleinfoes") and not w.before
        ]
        return Ending(self._state_with_modules(), reboots, actions, self._remembered(), len(made))

    def _remembered(self) -> JsonObject:
        """The memory, each time a mere mark, and each uid the name of the live object that has it."""
        text = _TIME.sub("<time>", json.dumps(to_json(self.world.memory()), sort_keys=True))
        for cluster in self.world.fleet.servers:
            person = self.world.fleet.person(cluster)
            for meta in (body["metadata"] for resource in KINDS for body in person.list_all(resource)):
                text = text.replace(meta["uid"], f"<uid of {cluster}/{meta['name']}>")
        plain: JsonObject = json.loads(text)
        return plain

    def _state_with_modules(self) -> dict[str, JsonObject]:
        """What stands in all clusters and on every disk, without what changes at each write."""
        found: dict[str, JsonObject] = {}
        for cluster in sorted(self.world.fleet.servers):
            person = self.world.fleet.person(cluster)
            for resource in KINDS:
                for body in person.list_all(resource):
                    if body["metadata"]["name"].startswith("rendered-"):
                        continue  # those in use stand in the pools; others are history
                    meta = {k: body["metadata"].get(k) for k in ("labels", "annotations")}
                    found[f"{cluster}/{resource}/{body['metadata']['name']}"] = {
                        "spec": body["spec"],
                        **meta,
                    }
            for name in self.world.fleet.nodes(cluster):
                machine = self.world.fleet.machine(cluster, name)
                found[f"{cluster}/disk/{name}"] = {
                    "files": {p: t.decode() for p, t in machine.files.items()},
                    "units": machine.units,
                    "arguments": list(machine.kernel_arguments),
                }
        return found

    def story(self) -> str:
        return f"{self.case.name}: {self.dead or 'undisturbed'}\n{super().story()}"


_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")


@dataclass
class _Mortal:
    """Numbers every call, and says where in it the process stands."""

    inner: Transport
    rollout: Rollout

    def send(self, cluster: str, request: Request, *, timeout: float) -> Response:
        sort = _sort(request)
        fate, rollout = self.rollout.fate, self.rollout
        if sort is Sort.WRITE and rollout.late is not None:
            (where, held), rollout.late = rollout.late, None
            self.inner.send(where, held, timeout=timeout)
            rollout.note_late(where)  # else it is told with the next write there, as decided by that pass
        fate.step(sort, f"{request.method} {cluster}{request.path}")
        fate.at(Calling.BEFORE)
        if sort is Sort.WRITE:
            fate.at(Calling.LATE, (cluster, request))
        answer = self.inner.send(cluster, request, timeout=timeout)
        fate.at(Calling.DURING)
        fate.at(Calling.AFTER)
        return answer


def _sort(request: Request) -> Sort:
    if request.method == "GET":
        return Sort.READ
    return Sort.DRY_RUN if is_dry_run(request) else Sort.WRITE
