"""Plays a plot: two processes of the controller, a whole fleet and the people around them, on virtual time.

What the invariants of rollouts are judged on is noted as for the engine alone; beside it, what only a controller can break: who sent a
write, and what stood in the objects on global by then.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

from gitops_mc.app.controller.lease import LeadershipLostError
from gitops_mc.app.controller.running import Tempo
from gitops_mc.app.looks import Look, Pace
from gitops_mc.app.ports import MERGE_PATCH, Request, Response, Transport
from gitops_mc.core.custom.kept import cluster_memory
from gitops_mc.core.errors import UnreachableError
from gitops_mc.core.model import GLOBAL_CLUSTER, JsonObject
from gitops_mc.core.rollout.inputs import Abort, Acts
from gitops_mc.core.rollout.memory import ClusterMemory, FleetMemory, without_clocks
from gitops_mc.core.rollout.moves import Done, Halted, Hold, Standing
from gitops_mc.sandbox.apiserver import AcceptedWrite
from tests.scenarios.controller_simulation_drawn import Ask, Deed, Freeze, Plot
from tests.scenarios.controller_world import (
    FLEETS,
    HERE,
    ROLLOUTS,
    ControllerWorld,
    Heard,
    ProcessEnded,
    Replica,
)
from tests.scenarios.crashes import Killed, Moment
from tests.scenarios.desk import Loss, Said, Unmarked
from tests.scenarios.drawn import Approval, Aside, Event, Kill
from tests.scenarios.drawn_orders import Order
from tests.scenarios.recording import unmarks
from tests.scenarios.shifted_clock import MachineClock
from tests.scenarios.simulation import IN_WINDOWS, LIMIT, Recorder, Simulation

PEOPLE_LOOK_EVERY = timedelta(seconds=60)
AT_REST = timedelta(minutes=30)
"""How long an outlook is to stand until nothing more is awaited."""
SEEN = timedelta(minutes=5)
"""By when the last thing that happened has been seen by everybody."""
A_PASS = timedelta(seconds=90)
"""By when a pass that began before another installation acts is over."""
OWN = (".gitops-mc.io", "leases.", "customresourcedefinitions", "namespaces")
"""Resources of which writes are no writes for a cluster."""
LEASE_PATH = "/leases"
TEMPO = Tempo(busy=timedelta(seconds=15), quiet=timedelta(seconds=60), fleets=timedelta(seconds=120))


@dataclass
class Process:
    """One replica, and what is to become of it."""

    identity: str
    seat: int
    replica: Replica | None = None
    frozen: bool = False
    replaced: bool = False
    """Another process may have taken its place while it stood still: what it reads counts for nobody."""
    kill: Kill | None = None
    freeze: Freeze | None = None
    calls: int = 0


@dataclass
class Wire(Recorder):
    """What one process sends: noted, judged by who may send it, cut, frozen, or its last."""

    simulation: ControllerSimulation
    process: Process

    def send(self, cluster: str, request: Request, *, timeout: float) -> Response:
        s, process = self.simulation, self.process
        process.calls += 1
        if s.is_cut(process.seat, cluster):
            s.pass_time(process, 5.0)
            raise UnreachableError(f"{cluster}: no route to host")
        if request.method != "GET" and LEASE_PATH not in request.path:
            s.must_lead(process.identity, cluster, request)
        if self._now(process.kill, Moment.BEFORE):
            raise Killed
        if self._now(process.freeze, Moment.BEFORE):
            s.freeze(process)
        answer = self._sent(cluster, request, timeout)
        if self._now(process.kill, Moment.AFTER):
            raise Killed
        if self._now(process.freeze, Moment.AFTER):
            s.freeze(process)
        return answer

    def _now(self, what: Kill | Freeze | None, moment: Moment) -> bool:
        return what is not None and what.calls == self.process.calls and what.moment is moment

    def _sent(self, cluster: str, request: Request, timeout: float) -> Response:
        if not self.process.replaced:
            return Recorder.send(self, cluster, request, timeout=timeout)
        try:
            return self.inner.send(cluster, request, timeout=timeout)
        finally:
            if request.method != "GET":
                self.simulation.note_late(cluster)


@dataclass
class Watching(Heard):
    """Hands every look on to the simulation."""

    simulation: ControllerSimulation | None = None
    process: Process | None = None

    def looked(self, fleet: str, look: Look) -> None:
        assert self.simulation is not None
        assert self.process is not None
        if not self.process.replaced:
            self.simulation.note(look)

    def ordered(self, fleet: str, said: tuple[str, ...]) -> None:
        super().ordered(fleet, said)
        assert self.simulation is not None
        self.simulation.carried += said

    def failed(self, fleet: str, error: BaseException) -> None:
        raise error


@dataclass
class ControllerSimulation(Simulation):
    """One seed, played to its end. The `script` is the plot's."""

    plot: Plot = None  # type: ignore[assignment]  # a dataclass that inherits fields with defaults
    carried: list[str] = field(default_factory=list)
    wrongs: list[str] = field(default_factory=list)
    """What only a controller can break: `1: edge-1 ...`."""
    told: list[tuple[datetime, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.approved = frozenset()
        self.world.pace = Pace(timedelta(seconds=15), timedelta(seconds=60), timedelta(seconds=30))
        self.kube = ControllerWorld(rollout=self.world, tempo=TEMPO)
        self.kube.push(dict(self.script.pushes[0].files))
        self._kills = list(self.script.kills)
        self._freezes = list(self.plot.freezes)
        self._seats: list[Process | None] = [None, None]
        self._due = [self.start, self.start + timedelta(seconds=2)]
        self._born = 0
        self._people_due = self.start
        self._waves_to_approve: list[str] = []
        self._final_since: datetime | None = None
        self._remembered: set[str] = set()
        self._elsewhere_since: datetime | None = None
        for ask in self.plot.asks:
            self._at(ask.at, partial(self._ask, ask))
        self._last_event = max(
            [self.calm, *(self._time(a.at + a.seconds) for a in self.plot.asks)]
            + [self._time(s.end) for s in (*self.plot.cuts, *self.plot.dumb)]
        )

    # -------------------------------------------------------------------------------------------------------- playing

    def play(self) -> ControllerSimulation:
        deadline = self._last_event + (IN_WINDOWS if self.script.windows else LIMIT)
        while True:
            self._turn()
            now = self.world.clock.now()
            if now >= self._last_event + SEEN and self._over(now):
                return self
            if now >= deadline:
                self.settled = isinstance(self.outlook, Done | Hold | Halted)
                return self
            self.world.clock.wait(self._next())

    def rest(self, passes: int) -> None:
        """Every process ends, and a fresh one goes over the same world so often."""
        for process in self._seats:
            if process is not None:
                self._leave(process, 1.0)
        wanted = len(self.looks) + passes
        end = self.world.clock.now() + timedelta(hours=1)
        while len(self.looks) < wanted and self.world.clock.now() < end:
            self._turn()
            self.world.clock.wait(self._next())

    def _over(self, now: datetime) -> bool:
        if self._desk or self._final_since is None or not self.looks:
            return False
        if self.looks[-1].fleet.commit != self.kube.git.head and not self.blocked_head:
            return False
        rest = timedelta(minutes=3) if isinstance(self.outlook, Done) else AT_REST
        return now - self._final_since >= rest

    @property
    def blocked_head(self) -> bool:
        """Whether Git's newest commit may not be followed."""
        return bool(((self.kube.fleet().get("status") or {}).get("source") or {}).get("problem"))

    def _turn(self) -> None:
        self._be_people()
        self._fill_seats()
        for process in list(self._seats):
            if process is not None and not process.frozen:
                self._tick(process)

    def _tick(self, process: Process) -> None:
        assert process.replica is not None
        try:
            process.replica.controller.tick()
        except Killed:
            away = process.kill.away if process.kill is not None else 5.0
            self._leave(process, away)
        except (ProcessEnded, LeadershipLostError):
            self._leave(process, 3.0)

    def _leave(self, process: Process, away: float) -> None:
        process.replaced = True
        self._tell(f"process {process.identity} ends")
        if self._seats[process.seat] is process:
            self._seats[process.seat] = None
            self._due[process.seat] = self.world.clock.now() + timedelta(seconds=away)

    def _fill_seats(self) -> None:
        now = self.world.clock.now()
        for seat, process in enumerate(self._seats):
            if process is None and now >= self._due[seat]:
                self._seats[seat] = self._begin(seat)

    def _begin(self, seat: int) -> Process:
        self._born += 1
        process = Process(f"p{self._born}", seat)
        if self._kills:
            process.kill = self._kills.pop(0)
        elif self._freezes:
            process.freeze = self._freezes.pop(0)
        self.world.wrap = partial(self._wire, process)
        self.kube.machine = MachineClock(self.world.clock, lambda: self.world.shift)
        self.kube.listens = lambda: Watching(simulation=self, process=process)
        process.replica = self.kube.process(process.identity)
        self._tell(f"process {process.identity} begins")
        return process

    def _wire(self, process: Process, transport: Transport) -> Transport:
        return Wire(transport, self, process)

    def _next(self) -> datetime:
        clock = self.world.clock
        times = [self._people_due, clock.now() + timedelta(seconds=60)]
        for seat, process in enumerate(self._seats):
            if process is None:
                times.append(self._due[seat])
            elif not process.frozen:
                assert process.replica is not None
                controller = process.replica.controller
                times.append(clock.now() + (controller.next_turn() - controller.clock.now()))
        return max(min(times), clock.now() + timedelta(milliseconds=500))

    def freeze(self, process: Process) -> None:
        """The process stands still in the middle of a call while the others go on."""
        assert process.freeze is not None
        self._tell(f"process {process.identity} freezes")
        seconds, process.freeze = process.freeze.seconds, None
        led = self.holds_lease(process.identity)
        self.pass_time(process, seconds)
        process.replaced |= led and not self.holds_lease(process.identity)
        self._tell(f"process {process.identity} wakes")

    def pass_time(self, process: Process, seconds: float) -> None:
        """Everybody but this process goes on for so long; what its job has used of its own time stands still."""
        clock = self.world.clock
        account, clock._account = clock._account, None
        before, process.frozen = process.frozen, True
        end = clock.now() + timedelta(seconds=seconds)
        while clock.now() < end:
            self._turn()
            clock.wait(min(end, self._next()))
        process.frozen = before
        clock._account = account

    def is_cut(self, seat: int, cluster: str) -> bool:
        now = self.world.clock.now()
        return any(
            x.replica == seat
            and (x.everything or cluster == GLOBAL_CLUSTER)
            and self._time(x.at) <= now < self._time(x.end)
            for x in self.plot.cuts
        )

    # --------------------------------------------------------------------------------------------------------- people

    def _push(self, number: int, files: dict[str, str]) -> None:
        super()._push(number, files)
        self.kube.push(files)

    def _aside(self, event: Event) -> None:
        if event.what is Aside.FORCE_PUSH:
            self.kube.git.lost |= set(self.kube.git.commits) - {self.kube.git.head}
            return
        super()._aside(event)

    def _be_people(self) -> None:
        now = self.world.clock.now()
        dumb = any(self._time(x.at) <= now < self._time(x.end) for x in self.plot.dumb)
        self.kube.git.down = "the Git server does not answer" if dumb else ""
        desk, self._desk = self._desk, []
        for event in desk:
            assert isinstance(event, Event)  # orders are asks here
            self._tell(f"{event.what.value} {event.cluster} {event.subject}")
            self._asked(event, now)
        if now < self._people_due:
            return
        self._people_due = now + PEOPLE_LOOK_EVERY
        if self.script.approval is Approval.GIVEN:
            self._approve_clusters()
        if self._waves_to_approve and self._annotate("", "approve", f"{{wave: {self._waves_to_approve[0]}}}"):
            self._waves_to_approve.pop(0)

    def _asked(self, event: Event, now: datetime) -> None:
        match event.what:
            case Aside.APPROVE:
                self._approve_clusters()
                self._waves_to_approve = [w.name for w in self.head.policy.rollout.waves or ()]
            case Aside.MEMORY_LOST:
                self._lose_memory(now)
            case Aside.RELEASE:
                self.pardons.append(now)
                self._annotate("", "release", "drawn")
            case Aside.SKIP:
                self._annotate(event.cluster, "skip", "drawn")
            case _:
                text = f"{{node: {event.subject}, for: {int(event.seconds)}s, reason: drawn}}"
                self._annotate(event.cluster, "excuse", text)

    def _approve_clusters(self) -> None:
        for body in self.bodies():
            if (body.get("status") or {}).get("standing") == Standing.APPROVAL.value:
                self._annotate(body["metadata"]["name"], "approve", "drawn")

    def _lose_memory(self, now: datetime) -> None:
        """Between two processes: nothing but what a human wrote into the Fleet is left."""
        for process in self._seats:
            if process is not None:
                self._leave(process, 20.0)
        for body in self.bodies():
            self.kube.kubectl("DELETE", f"{ROLLOUTS}/{body['metadata']['name']}")
        self.kube.kubectl("PATCH", f"{FLEETS}/prod/status", {"status": None}, MERGE_PATCH)
        self.kube.edit("", {"halt": None, "approvals": None})
        self.losses.append(Loss(now, len(self.looks), len(self.approvals)))
        self.pardons.append(now)

    def _ask(self, ask: Ask) -> None:
        self._tell(
            f"{ask.deed.value} {ask.cluster or 'the Fleet'} {ask.verb} {ask.value} {dict(ask.spec) or ''}"
        )
        path = f"{ROLLOUTS}/{ask.cluster}" if ask.cluster else f"{FLEETS}/prod"
        if not self._there(ask.cluster):
            return
        match ask.deed:
            case Deed.ANNOTATE:
                if ask.verb in {"release", "retry", "approve"}:
                    self.pardons.append(self.world.clock.now())
                if ask.verb in {Order.ROLLBACK, Order.RETRY}:
                    self.said.append(Said(self.world.clock.now(), Order(ask.verb), ask.cluster))
                if ask.verb == Order.FORGET:
                    self.forgetting.add(ask.cluster)
                self._annotate(ask.cluster, ask.verb, ask.value)
            case Deed.EDIT:
                self.kube.edit(ask.cluster, dict(ask.spec))
                if not ask.cluster and "activeOn" in dict(ask.spec):
                    here = dict(ask.spec)["activeOn"] in {None, HERE}
                    self._elsewhere_since = None if here else self.world.clock.now()
            case Deed.DELETE:
                self.kube.kubectl("DELETE", path)
            case Deed.UNLABEL:
                self.kube.kubectl("PATCH", path, {"metadata": {"labels": None}}, MERGE_PATCH)
            case Deed.WIPE:
                self.kube.kubectl("PATCH", f"{path}/status", {"status": None}, MERGE_PATCH)
            case Deed.SCRIBBLE:
                self._scribble(ask.cluster, self.world.clock.now() + timedelta(seconds=ask.seconds))

    def _scribble(self, cluster: str, until: datetime) -> None:
        now = self.world.clock.now()
        if now >= until or not self._there(cluster):
            return
        path = f"{ROLLOUTS}/{cluster}" if cluster else f"{FLEETS}/prod"
        notes = {"metadata": {"annotations": {"example.com/seen": now.isoformat()}}}
        self.kube.kubectl("PATCH", path, notes, MERGE_PATCH)
        self.world.fleet.at(now + timedelta(seconds=3), partial(self._scribble, cluster, until))

    def _annotate(self, cluster: str, verb: str, value: str) -> bool:
        if not self._there(cluster):
            return False
        self.kube.annotate(cluster, verb, value)
        return True

    def _there(self, cluster: str) -> bool:
        return not cluster or any(b["metadata"]["name"] == cluster for b in self.bodies())

    def bodies(self) -> list[JsonObject]:
        """The ClusterRollouts as they stand."""
        found: list[JsonObject] = self.kube.kubectl("GET", ROLLOUTS)["items"]
        return found

    # --------------------------------------------------------------------------------------------------------- noting

    def note(self, look: Look) -> None:
        """A look of the process that leads, kept and about to be acted on."""
        now = self.world.clock.now()
        if any("approved" in said for said in self.carried if not said.startswith("not carried out")):
            self.approvals.append((now, look.fleet))
            self.pardons.append(now)
        if any(said.startswith(("release", "retry")) or "tried again" in said for said in self.carried):
            self.pardons.append(now)
        self.carried.clear()
        self._note_forgotten(look, now)
        self.given = self._standing_orders()
        self._note_look(look, look.fleet)
        self.outlook = look.decision.outlook
        final = isinstance(self.outlook, Done | Hold | Halted) and not look.decision.moves
        self._final_since = (self._final_since or now) if final else None
        for name, m in look.memory.clusters.items():
            for e in m.excused:
                entry = (name, e.node, now, e.until - self.world.shift)
                if not any(x[:2] == entry[:2] and x[3] == entry[3] for x in self.excused):
                    self.excused.append(entry)

    def _note_forgotten(self, look: Look, now: datetime) -> None:
        """Clusters that somebody has forgotten, and of which nothing is remembered since the look before."""
        for name in sorted(self.forgetting & self._remembered):
            if look.memory.cluster(name).admitted_at is None:
                self.said.append(Said(now, Order.FORGET, name))
                self.losses.append(Loss(now, len(self.looks), len(self.approvals), name))
        known = look.memory.clusters.items()
        self._remembered = {name for name, m in known if m.admitted_at is not None}

    def _standing_orders(self) -> Acts:
        """As they stand on the server: what was decided before somebody changed them is refused by it."""
        spec = self.kube.fleet()["spec"]
        abort = spec.get("abort")
        held = {b["metadata"]["name"]: "held" for b in self.bodies() if (b.get("spec") or {}).get("hold")}
        return Acts(
            suspended=self._why_not(spec),
            held=held,
            aborted=None
            if abort is None
            else Abort(abort["reason"], let_finish=bool(abort.get("letFinish"))),
        )

    def _why_not(self, spec: JsonObject) -> str:
        """Why this installation writes nothing, or empty."""
        if spec.get("activeOn") not in {None, HERE}:
            return "another installation acts"
        return "suspended" if spec.get("suspend") else ""

    def fresh(self, server: str) -> list[AcceptedWrite]:
        return [w for w in super().fresh(server) if not any(own in w.resource for own in OWN)]

    def _note(self, server: str, write: AcceptedWrite, *, stray: bool) -> None:
        if server in self.forgetting and unmarks(write):
            self.unmarked.append(Unmarked(server, write))
            return
        super()._note(server, write, stray=stray)
        if not stray:
            self._must_be_kept(self.ours[-1].cluster, f"{write.verb} of {write.resource} {write.name}")

    def _must_be_kept(self, cluster: str, told: str) -> None:
        """What a write was decided with stands in the objects before it is sent."""
        if not self.looks:
            self.wrongs.append(f"6: {told} for {cluster} before any decision")
            return
        body = next((b for b in self.bodies() if b["metadata"]["name"] == cluster), None)
        kept = ClusterMemory() if body is None else cluster_memory(body["spec"], body.get("status") or {})
        decided = self.looks[-1].memory.cluster(cluster)
        if steady(kept) != steady(decided) and body is not None:
            self.wrongs.append(
                f"6: {told} for {cluster} was sent before its memory was kept: {_differs(kept, decided)}"
            )

    def must_lead(self, identity: str, cluster: str, request: Request) -> None:
        """Every write is the leader's."""
        if not self.holds_lease(identity):
            self.wrongs.append(
                f"1: {request.method} {request.path} of {cluster} is sent by {identity}, which does not lead"
            )
        if self._elsewhere_since is not None and self.world.clock.now() - self._elsewhere_since > A_PASS:
            self.wrongs.append(
                f"1: {request.method} {request.path} of {cluster}, and another installation acts"
            )

    def holds_lease(self, identity: str) -> bool:
        lease = self.kube.lease()
        return bool(lease) and lease["spec"].get("holderIdentity") == identity

    def _tell(self, what: str) -> None:
        self.told.append((self.world.clock.now(), what))

    def story(self) -> str:
        return "\n".join([super().story(), *self.own_story()])

    def own_story(self) -> list[str]:
        """What happened to the controller, line by line."""
        own = [f"{(at - self.start).total_seconds():8.0f} {what}" for at, what in self.told]
        return [f"{self.plot.freezes} {self.plot.cuts} {self.plot.dumb}", *own]


def steady(memory: ClusterMemory) -> ClusterMemory:
    """Without what runs by itself."""
    return without_clocks(FleetMemory(clusters={"x": memory})).cluster("x")


def _differs(kept: ClusterMemory, decided: ClusterMemory) -> str:
    a, b = steady(kept), steady(decided)
    return ", ".join(
        f"{name} {getattr(a, name)!r} != {getattr(b, name)!r}"[:160]
        for name in a.__dataclass_fields__
        if getattr(a, name) != getattr(b, name)
    )


def simulate(plot: Plot) -> ControllerSimulation:
    """A simulation, not played yet."""
    return ControllerSimulation(plot.script, plot=plot)


__all__ = ["ControllerSimulation", "simulate"]
