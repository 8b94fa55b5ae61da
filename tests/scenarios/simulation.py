"""Plays a script: the whole engine and a whole fleet on virtual time, and what was read and written, call by call."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial

from gitops_mc.app.executor import Executor
from gitops_mc.app.looks import Look, Pace
from gitops_mc.app.ports import Request, Response, Transport
from gitops_mc.core.errors import UnreachableError
from gitops_mc.core.model import CLUSTER_LABEL, GLOBAL_CLUSTER, JsonObject, labels_of
from gitops_mc.core.rollout.inputs import NO_ACTS, Acts, Fleet
from gitops_mc.core.rollout.moves import Done, Halted, Hold, Outlook
from gitops_mc.sandbox.apiserver import AcceptedWrite
from gitops_mc.sandbox.faults import FaultBoard, FaultId
from tests.scenarios.commits import Push
from tests.scenarios.crashes import Counted, Killed
from tests.scenarios.deeds import CUSTOM_LABEL, carry_out
from tests.scenarios.desk import Loss, Said, Unmarked, sit_down
from tests.scenarios.drawn import TROUBLED, Approval, Aside, Event, HandAct, Kill, Script
from tests.scenarios.drawn_orders import STANDING, Ordered, standing
from tests.scenarios.recording import OurWrite, Read
from tests.scenarios.repository import MARKER
from tests.scenarios.rollout_world import RolloutWorld
from tests.scenarios.telling import begins, happenings

POOLS = "/machineconfigpools"
FAST, SLOW = Pace(every=timedelta(seconds=15)), Pace(every=timedelta(seconds=60))
PATIENCE = 8
"""Passes without a write after which the simulation looks only once a minute."""
LIMIT = timedelta(hours=24)
"""After the last fault: how long it may take until the rollout is at an end."""
IN_WINDOWS = timedelta(hours=60)
"""The same where it goes on only in windows."""


@dataclass
class Recorder:
    """A transport that notes looks and accepted writes."""

    inner: Transport
    simulation: Simulation

    def send(self, cluster: str, request: Request, *, timeout: float) -> Response:
        self.simulation.calls += 1
        try:
            response = self.inner.send(cluster, request, timeout=timeout)
        except UnreachableError:
            self._note(cluster, request, answered=False)
            raise
        finally:
            if request.method != "GET":
                self.simulation.note_writes(cluster)
        self._note(cluster, request, answered=response.status in {200, 404})
        return response

    def _note(self, cluster: str, request: Request, *, answered: bool) -> None:
        if request.method == "GET" and request.path.endswith(POOLS):
            seq = len(self.simulation.world.fleet.servers[cluster].writes)
            self.simulation.reads[cluster].append(Read(self.simulation.world.clock.now(), seq, answered))


@dataclass
class Simulation:
    """One seed, played to its end."""

    script: Script
    reads: dict[str, list[Read]] = field(default_factory=lambda: defaultdict(list))
    ours: list[OurWrite] = field(default_factory=list)
    looks: list[Look] = field(default_factory=list)
    times: list[datetime] = field(default_factory=list)
    """When each pass was, on the clock of the world; `Look.at` is the one of the machine we run on."""
    acts: list[Acts] = field(default_factory=list)
    """What humans had said at each pass."""
    given: Acts = NO_ACTS
    """What they had said at the last one."""
    heads: list[Fleet] = field(default_factory=list)
    """What Git said at each pass."""
    known: list[dict[str, int]] = field(default_factory=list)
    """At each pass, the index of the last look at each cluster; -1: none."""
    approvals: list[tuple[datetime, Fleet]] = field(default_factory=list)
    """When everything was approved, and what Git said then."""
    pardons: list[datetime] = field(default_factory=list)
    """When a human let content that had failed in again, or everybody forgot that it had."""
    losses: list[Loss] = field(default_factory=list)
    said: list[Said] = field(default_factory=list)
    forgetting: set[str] = field(default_factory=set)
    """Clusters that somebody has forgotten with a connection, or has tried to."""
    unmarked: list[Unmarked] = field(default_factory=list)
    excused: list[tuple[str, str, datetime, datetime]] = field(default_factory=list)
    """Cluster, node, from when and until when."""
    calls: int = 0
    """Requests that we have sent."""
    outlook: Outlook | None = None
    settled: bool = True
    """Whether it came to an end by itself within the limit."""

    def __post_init__(self) -> None:
        script = self.script
        world = RolloutWorld(
            spec=script.spec,
            files=dict(script.pushes[0].files),
            faults=FaultBoard(),
            seed=script.seed,
            order=script.order,
        )
        self.world = world
        self._seen = {name: len(s.writes) for name, s in world.fleet.servers.items()}
        self._known: dict[str, str] = {}
        world.faults.set(FaultId.NODE_DEGRADED, marker=MARKER)
        self.head = world.git("0")
        for cluster, node in script.labelled:
            world.fleet.person(cluster).label_node(node, **{CUSTOM_LABEL: ""})
        world.clock.wait_for(120)
        self.start = world.clock.now()
        self._plan_events()
        self.names = frozenset(c.name for c in script.spec.clusters)
        self.approved = self.names if script.approval is Approval.GIVEN else frozenset()
        self._desk: list[Event | Ordered] = []
        self._kills = list(script.kills)
        self._quiet = 0

    # ------------------------------------------------------------------------------------------------------- planning

    def _plan_events(self) -> None:
        world, script = self.world, self.script
        for number, push in enumerate(script.pushes[1:], 1):
            self._at(push.at, partial(self._push, number, dict(push.files)))
        for act in script.hands:
            self._at(act.at, partial(carry_out, act, world.fleet.person(act.cluster)))
        for event in script.events:
            self._at(event.at, partial(self._aside, event))
        for order in script.orders:
            if order.what not in STANDING:
                self._at(order.at, partial(self._bring, order))
        for t in script.troubles:
            world.faults.set(
                t.kind, cluster=t.cluster, start=self._time(t.at), end=self._time(t.end), **dict(t.parameters)
            )
        happenings: list[Push | HandAct | Event | Ordered] = [*script.pushes, *script.hands, *script.events]
        times = [x.at for x in (*happenings, *script.orders)]
        times += [o.end for o in script.orders if o.end is not None]
        times += [x for t in script.troubles for x in (t.at, t.end)]
        self._events = sorted(self._time(x) for x in times)
        self.calm = max(self._time(TROUBLED.total_seconds()), self._events[-1])

    def _time(self, seconds: float) -> datetime:
        return self.start + timedelta(seconds=seconds)

    def _at(self, seconds: float, act: Callable[[], object]) -> None:
        self.world.fleet.at(self._time(seconds), act)

    def _push(self, number: int, files: dict[str, str]) -> None:
        self.world.files = files
        self.head = self.world.git(str(number))
        if self.script.approval is Approval.ASKED:
            self.approved = frozenset()

    def _aside(self, event: Event) -> None:
        match event.what:
            case Aside.FORCE_PUSH:
                self.world.past = {(c.name, c.content): c for c in self.head.clusters}
            case Aside.CLOCK:
                jump = timedelta(seconds=event.seconds)
                self.world.shift += jump
                self.excused = [(c, node, since, until - jump) for c, node, since, until in self.excused]
            case _:  # what is done to the state file, or asked for on the command line: between two processes
                self._bring(event)

    def _bring(self, what: Event | Ordered) -> None:
        self._desk.append(what)

    # -------------------------------------------------------------------------------------------------------- playing

    def play(self) -> Simulation:
        """From the first commit to the end: done, halted, held, or the time is over."""
        deadline = self.calm + (IN_WINDOWS if self.script.windows else LIMIT)
        again = 2
        while True:
            kill = self._kills.pop(0) if self._kills else None
            self.world.wrap = partial(self._counted, kill)
            try:
                self.outlook = self._process(self.world.executor(), deadline)
            except Killed:
                assert kill is not None
                self.world.clock.wait_for(kill.away)
                continue
            if self._desk:
                desk, self._desk = self._desk, []
                sit_down(self, desk)
                continue
            now = self.world.clock.now()
            if now >= deadline:
                self.settled = isinstance(self.outlook, Done | Hold | Halted)
                return self
            later = [e for e in self._events if e > now]
            if later:
                self.world.clock.wait(later[0] + timedelta(seconds=3))
            elif isinstance(self.outlook, Done) or not again:
                return self
            else:  # somebody comes back later: what needed only time has had it
                again -= 1
                self.world.clock.wait_for(900)

    def _counted(self, kill: Kill | None, transport: Transport) -> Transport:
        counted = Counted(transport) if kill is None else Counted(transport, kill.calls, kill.moment)
        return Recorder(counted, self)

    def _process(self, executor: Executor, deadline: datetime) -> Outlook:
        """One process, over as many commits as come while it runs, until somebody sits down at the desk."""
        while True:
            head, self.given = self.head, self._orders()
            executor.pace = FAST
            self._quiet = 0
            for look in executor.rollout(head, self.given):
                self._note_look(look, head)
                outlook, over = look.decision.outlook, self.times[-1] >= deadline
                news = self.head is not head or self._orders() != self.given
                if news and not over and not self._desk:
                    break
                if isinstance(outlook, Done | Hold | Halted) or over or self._desk:
                    return outlook
                self._quiet = 0 if look.decision.moves else self._quiet + 1
                executor.pace = FAST if self._quiet < PATIENCE else SLOW

    def _orders(self) -> Acts:
        """What humans say at this time."""
        at = (self.world.clock.now() - self.start).total_seconds()
        return replace(standing(self.script.orders, at), approved=self.approved)

    def rest(self, passes: int) -> None:
        """A fresh process looks at the same world for a while, and is left."""
        self.world.wrap = lambda transport: Recorder(transport, self)
        executor = self.world.executor()
        self.given = self._orders()
        for number, look in enumerate(executor.rollout(self.head, self.given)):
            self._note_look(look, self.head)
            if number == passes:
                return

    def _note_look(self, look: Look, head: Fleet) -> None:
        self.looks.append(look)
        self.times.append(self.world.clock.now())
        self.heads.append(head)
        self.acts.append(self.given)
        self.known.append({name: len(self.reads[name]) - 1 for name in self.names})

    def state(self) -> dict[str, JsonObject]:
        """What stands in the clusters, without what servers and operators make."""
        found: dict[str, JsonObject] = {}
        for cluster in sorted(c.name for c in self.script.spec.clusters):
            person = self.world.fleet.person(cluster)
            for resource in ("machineconfigs", "machineconfigpools", "machineconfigurations"):
                for body in person.list_all(resource):
                    if body["metadata"]["name"].startswith("rendered-"):
                        continue
                    spec = {k: v for k, v in body["spec"].items() if k != "configuration"}
                    marks = {k: body["metadata"].get(k) for k in ("labels", "annotations")}
                    found[f"{cluster}/{resource}/{body['metadata']['name']}"] = {"spec": spec, **marks}
        return found

    # ---------------------------------------------------------------------------------------------------------- noting

    def note_writes(self, server: str) -> None:
        """What has come in since; of several writes the last is the one that was just sent."""
        fresh = self.fresh(server)
        for write in fresh:
            self._note(server, write, stray=write is not fresh[-1])

    def note_late(self, server: str) -> None:
        """The same where a process that is dead by now had sent it."""
        for write in self.fresh(server):
            self._note(server, write, stray=True)

    def fresh(self, server: str) -> list[AcceptedWrite]:
        fresh = self.world.fleet.servers[server].writes_after(self._seen[server])
        self._seen[server] += len(fresh)
        return [write for write in fresh if write.user == "gitops-mc"]

    def _note(self, server: str, write: AcceptedWrite, *, stray: bool) -> None:
        cluster = server
        if server == GLOBAL_CLUSTER and write.resource.startswith("moduleinfoes"):
            body = write.after or write.before or {}
            cluster = labels_of(body).get(CLUSTER_LABEL, self._known.get(write.name, server))
            self._known[write.name] = cluster
        read, look = len(self.reads[cluster]) - 1, len(self.looks) - 1
        self.ours.append(OurWrite(cluster, server, write, read, look, stray=stray))

    # --------------------------------------------------------------------------------------------------------- telling

    def story(self) -> str:
        """Everything the seed decided and what was written, for a failure's message."""
        happened = sorted(happenings(self.script, self.start, self.ours), key=lambda x: x[0])
        lines = [f"{(at - self.start).total_seconds():8.0f} {what}" for at, what in happened]
        return "\n".join([*begins(self.script), *lines, f"outlook: {self.outlook}"])
