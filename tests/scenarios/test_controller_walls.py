"""What one request, one object, or one slow server can do to the rest of a Fleet: nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from gitops_mc.app.controller import orders
from gitops_mc.app.controller.lease import LeadershipLostError
from gitops_mc.app.ports import MERGE_PATCH, Request, Response, Transport
from gitops_mc.core.custom.requests import Verb
from gitops_mc.core.errors import UnreachableError
from gitops_mc.core.model import GLOBAL_CLUSTER
from gitops_mc.sandbox.fleet import simple_fleet
from gitops_mc.sandbox.virtual import VirtualClock
from tests.scenarios.controller_world import FLEETS, LEASES, ROLLOUTS, ControllerWorld
from tests.scenarios.rollout_world import FLEET, RolloutWorld
from tests.scenarios.test_controller import CONFIG, GOOD, NAMES, done, pushed, three, wrote
from tests.scenarios.test_controller_allowed import Refusing

LONG = "9" * 24


@pytest.mark.parametrize(
    ("verb", "value"),
    [
        ("excuse", f"{{node: n1, for: {LONG}d, reason: x}}"),
        ("excuse", f"{{node: n1, for: {LONG}, reason: x}}"),
        ("hold", "{" * 3000),
        ("hold", "{reason: [" + "[" * 2000),
        ("hold", r'{reason: "\uD800"}'),
        ("hold", r'{"\uD800": x, reason: y}'),
        ("hold", "{reason: &a [x, *a]}"),
        ("hold", "{? {a: b} : c}"),
        ("retry", "{reason: !!python/object:os.system x}"),
        ("accept", r'{id: "\0", reason: "\x07"}'),
    ],
)
def test_whatever_a_request_says_it_is_taken_off_and_others_are_heard(verb: str, value: str) -> None:
    world = pushed()
    replica = world.run(until=done)
    world.annotate("edge-3", verb, value)
    world.annotate("", "abort", "{by: mei, reason: alarms}")
    world.run(replica, hours=0.1)
    assert world.fleet()["spec"]["abort"]["by"] == "mei"
    assert f"gitops-mc.io/{verb}" not in world.of("edge-3")["metadata"].get("annotations", {})
    assert any(f"not carried out: gitops-mc.io/{verb} on edge-3" in said for said in replica.heard.said)


def test_a_request_that_meets_a_fault_of_ours_is_taken_off_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> object:
        raise ZeroDivisionError("a bug")

    world = pushed()
    replica = world.run(until=done)
    monkeypatch.setitem(orders._STANDING, Verb.HOLD, broken)
    world.annotate("edge-3", "hold", "{by: mei, reason: an audit}")
    world.annotate("edge-2", "retry", "x")
    for _ in range(40):
        replica.controller.tick()
        replica.controller.clock.wait(replica.controller.next_turn())
    assert [type(e) for e in replica.heard.errors] == [ZeroDivisionError]
    assert any("on edge-3: a fault of gitops-mc" in said for said in replica.heard.said)
    assert any("on edge-2" in said for said in replica.heard.said)
    assert "gitops-mc.io/hold" not in world.of("edge-3")["metadata"].get("annotations", {})


@dataclass
class Slow:
    """Every call about our own objects takes so many seconds."""

    inner: Transport
    clock: VirtualClock
    seconds: float

    def send(self, cluster: str, request: Request, *, timeout: float) -> Response:
        if cluster == GLOBAL_CLUSTER and "/gitops-mc.io/" in request.path:
            self.clock.wait_for(self.seconds)
        return self.inner.send(cluster, request, timeout=timeout)


def test_a_pass_that_takes_longer_than_the_lease_lasts_does_not_end_the_leader() -> None:
    world = ControllerWorld(RolloutWorld())
    world.rollout.wrap = lambda inner: Slow(inner, world.rollout.clock, 6.0)
    world.push({**three(CONFIG), "fleet.yaml": FLEET})
    assert world.live(hours=6, until=done) == 0, "no process has ended"


@dataclass
class Hanging:
    """One cluster takes every call and never answers."""

    inner: Transport
    clock: VirtualClock
    cluster: str = ""

    def send(self, cluster: str, request: Request, *, timeout: float) -> Response:
        if cluster == self.cluster:
            self.clock.wait_for(timeout)
            raise UnreachableError(f"{cluster}: no answer within {timeout:.0f} s")
        return self.inner.send(cluster, request, timeout=timeout)


def test_a_cluster_that_hangs_is_forgotten_without_anybody_waiting_for_it() -> None:
    world = ControllerWorld(RolloutWorld())
    hanging = Hanging(
        Slow(world.rollout.fleet.transport(world.rollout.clock), world.rollout.clock, 0), world.rollout.clock
    )

    def wrap(inner: Transport) -> Transport:
        hanging.inner = inner
        return hanging

    world.rollout.wrap = wrap
    world.push({**three(CONFIG), "fleet.yaml": FLEET})
    world.live(hours=6, until=done)
    world.push({"fleet.yaml": FLEET, "clusters/edge-1/app.yaml": CONFIG, "clusters/edge-2/app.yaml": CONFIG})
    world.live(hours=0.2)
    world.end()
    hanging.cluster = "edge-3"
    world.live(hours=0.1)
    world.annotate("edge-3", "forget", "{by: mei, reason: it is scrap}")
    assert world.live(hours=1) == 0, "no process has ended"
    assert [item["metadata"]["name"] for item in world.kubectl("GET", ROLLOUTS)["items"]] == [
        "edge-1",
        "edge-2",
    ]


# --------------------------------------------------------------------------------------------- passes that break


def meddled(world: ControllerWorld, path: str, left: list[int]) -> None:
    """Somebody annotates an object right before so many of the next writes of it, so that they are refused as stale."""

    def meddle(request: Request) -> None:
        if left[0] and request.method in {"PATCH", "DELETE"} and request.path.startswith(path):
            left[0] -= 1
            world.kubectl("PATCH", path, {"metadata": {"annotations": {"x": str(left)}}}, MERGE_PATCH)

    world.rollout.wrap = lambda inner: Before(inner, meddle)


@dataclass
class Before:
    """Something is done before each call."""

    inner: Transport
    first: Callable[[Request], None]

    def send(self, cluster: str, request: Request, *, timeout: float) -> Response:
        if cluster == GLOBAL_CLUSTER:
            self.first(request)
        return self.inner.send(cluster, request, timeout=timeout)


def test_a_pass_that_breaks_over_one_request_loses_none() -> None:
    world = pushed()
    world.run(until=done)
    world.push({"fleet.yaml": FLEET, "clusters/edge-1/app.yaml": GOOD, "clusters/edge-2/app.yaml": GOOD})
    meddled(world, f"{ROLLOUTS}/edge-3", [4])
    replica = world.process()
    world.annotate("edge-3", "forget", "{by: mei, reason: it is scrap}")
    world.annotate("edge-2", "skip", "{by: mei, reason: it is being moved}")
    world.annotate("edge-1", "hold", "{by: mei, reason: an audit}")
    world.run(replica, hours=0.5)
    names = [item["metadata"]["name"] for item in world.kubectl("GET", ROLLOUTS)["items"]]
    assert names == ["edge-1", "edge-2"]
    assert world.of("edge-1")["spec"]["hold"]["by"] == "mei"
    history = {act["what"] for act in world.fleet()["status"]["history"]}
    assert {"forget edge-3", "skip edge-2", "hold edge-1"} <= history


def test_a_wish_to_sync_is_heard_although_the_page_cannot_be_kept() -> None:
    world = pushed()
    world.edit("", {"source": {"interval": "60m"}})
    left = [0]
    meddled(world, f"{FLEETS}/prod", left)
    replica = world.run(until=done)
    commit = world.push(three(GOOD))
    left[0] = 2
    world.annotate("", "sync", "now")
    world.run(replica, hours=0.5, until=lambda w: w.fleet()["status"]["source"].get("commit") == commit)
    assert not left[0]


def test_a_hold_that_somebody_lifts_while_another_request_cannot_be_kept_does_not_come_back() -> None:
    world = pushed()
    world.run(until=done)
    world.annotate("edge-2", "hold", "{by: mei, reason: an audit}")
    world.run(hours=0.1)
    assert "hold" in world.of("edge-2")["spec"]
    lifted = False

    def lift(request: Request) -> None:
        nonlocal lifted
        if not lifted and request.method == "PATCH" and request.path.startswith(f"{ROLLOUTS}/edge-2"):
            lifted = True
            world.edit("edge-2", {"hold": None})

    world.rollout.wrap = lambda inner: Before(inner, lift)
    replica = world.process()
    world.annotate("edge-2", "excuse", "{node: edge-2-w1, for: 1h, reason: its disk}")
    world.run(replica, hours=0.3)
    assert lifted
    assert "hold" not in world.of("edge-2")["spec"]


def test_what_is_asked_again_is_heard_again_although_another_object_cannot_be_written() -> None:
    world = pushed()
    world.run(until=done)
    world.push(three(GOOD))
    world.rollout.wrap = lambda inner: Refusing(inner, f"{ROLLOUTS}/edge-3")
    replica = world.process()
    for _ in range(2):
        world.annotate("", "release", "{by: mei, reason: mended}")
        world.run(replica, hours=0.2)
        assert not world.fleet()["metadata"].get("annotations")
    told = [act for act in world.fleet()["status"]["history"] if act["what"].endswith("gitops-mc.io/release")]
    assert len(told) == 2, "there was nothing to release, and that was said each time"


def test_a_lease_that_is_lost_stays_lost_whoever_catches_it() -> None:
    world = pushed()
    replica = world.run(until=done)
    lease = replica.controller.leadership
    item = world.lease()
    taken = {"spec": {**item["spec"], "holderIdentity": "somebody else"}}
    world.kubectl("PATCH", f"{LEASES}/{item['metadata']['name']}", taken, MERGE_PATCH)
    for _ in range(3):
        world.rollout.clock.wait_for(10)
        with pytest.raises(LeadershipLostError):
            lease.tick()


# ---------------------------------------------------------------------------------------------------------- objects


def test_a_cluster_with_problems_in_git_keeps_the_fleet_from_ready_and_is_named() -> None:
    world = pushed()
    replica = world.run(until=done)
    assert world.ready() == "Done"
    world.push(three(CONFIG, **{"clusters/edge-2/new.yaml": "kind: MachineConfg\n"}))
    world.run(replica, hours=0.5)
    ready = next(c for c in world.fleet()["status"]["conditions"] if c["type"] == "Ready")
    assert (ready["status"], ready["reason"]) == ("False", "ProblemsInGit")
    assert "edge-2 has problems in Git: clusters/edge-2/new.yaml:1" in ready["message"]


def test_a_memory_that_names_no_commit_shuts_its_cluster_alone() -> None:
    world = pushed()
    world.run(until=done)
    memory = {"started_commit": "\u202e" * 40}
    world.kubectl("PATCH", f"{ROLLOUTS}/edge-2/status", {"status": {"memory": memory}}, MERGE_PATCH)
    world.push(three(GOOD))
    world.run(hours=1)
    assert wrote(world, "edge-1", "three")
    assert not wrote(world, "edge-2", "three")
    assert "problem" not in world.fleet()["status"]["source"]


def test_where_nothing_moves_no_rollout_object_is_written_over_and_over() -> None:
    world = pushed()
    sent: list[str] = []

    def listen(request: Request) -> None:
        if request.method != "GET":
            sent.append(request.path)

    world.rollout.wrap = lambda inner: Before(inner, listen)
    replica = world.run(until=done)
    world.run(replica, hours=0.2)
    sent.clear()
    world.annotate("edge-1", "anything", "a change of the object that is none of ours")
    world.run(replica, hours=1)
    ours = [path for path in sent if path.startswith(ROLLOUTS)]
    assert ours in ([], [f"{ROLLOUTS}/edge-1/status"]), "clocks, once, and no spec that says the same"


def test_a_hand_in_what_a_running_leader_remembers_is_put_right_before_a_restart_believes_it() -> None:
    world = pushed()
    replica = world.run(until=done)
    kept = {name: world.of(name)["status"]["memory"] for name in NAMES}
    nonsense = {"passed_at": "2020-01-01T00:00:00Z", "begun": False}
    world.kubectl("PATCH", f"{ROLLOUTS}/edge-2/status", {"status": {"memory": nonsense}}, MERGE_PATCH)
    world.run(replica, hours=0.1)
    for member in nonsense:
        assert world.of("edge-2")["status"]["memory"].get(member) == kept["edge-2"].get(member)


def test_an_abort_holds_though_a_resume_from_before_it_was_still_waiting() -> None:
    world = pushed()
    world.live(hours=12, until=done)
    world.annotate("", "suspend", "{by: mei, reason: lunch}")
    world.live(hours=0.02)
    world.end()  # nobody leads
    world.annotate("", "resume", "{by: mei, reason: back from lunch}")
    world.annotate("", "abort", "{by: joe, reason: alarms}")
    world.live(hours=0.1)
    assert world.fleet()["spec"]["abort"]["by"] == "joe"


@dataclass
class HangingMany:
    """Clusters that take a connection and never answer."""

    clock: VirtualClock
    inner: Transport | None = None
    clusters: frozenset[str] = frozenset()

    def send(self, cluster: str, request: Request, *, timeout: float) -> Response:
        assert self.inner is not None
        if cluster in self.clusters:
            self.clock.wait_for(timeout)
            raise UnreachableError(f"{cluster}: no answer within {timeout:.0f} s")
        return self.inner.send(cluster, request, timeout=timeout)


@pytest.mark.slow
def test_a_region_that_hangs_is_forgotten_cluster_by_cluster_and_the_leader_stays() -> None:
    names = [f"edge-{n}" for n in range(1, 34)]
    world = ControllerWorld(RolloutWorld(spec=simple_fleet(*names)))
    hanging = HangingMany(world.rollout.clock)

    def wrap(inner: Transport) -> Transport:
        hanging.inner = inner
        return hanging

    world.rollout.wrap = wrap
    fleet = FLEET.replace("    waves:", "    maxUnreachable: 90%\n    waves:")
    left, gone = names[:3], names[3:]
    world.push({**{f"clusters/{name}/app.yaml": CONFIG for name in names}, "fleet.yaml": fleet})
    world.live(hours=12, until=done)
    world.push({**{f"clusters/{name}/app.yaml": CONFIG for name in left}, "fleet.yaml": fleet})
    world.live(hours=0.2)
    hanging.clusters = frozenset(gone)
    before = world.kubectl("GET", f"{LEASES}/gitops-mc")["spec"]["leaseTransitions"]
    for name in gone:
        world.annotate(name, "forget", "{by: mei, reason: the region burnt down}")
    world.live(hours=2, until=lambda w: len(w.kubectl("GET", ROLLOUTS)["items"]) == len(left))
    assert sorted(i["metadata"]["name"] for i in world.kubectl("GET", ROLLOUTS)["items"]) == left
    assert world.kubectl("GET", f"{LEASES}/gitops-mc")["spec"]["leaseTransitions"] == before


@pytest.mark.parametrize("path", [f"{FLEETS}/prod", f"{ROLLOUTS}/edge-2"])
def test_an_object_whose_memory_means_nothing_says_so_and_is_not_written_over(path: str) -> None:
    world = pushed()
    world.live(hours=12, until=done)
    world.end()
    kept = {"version": 99, "by": "a later version"}
    world.kubectl("PATCH", f"{path}/status", {"status": {"memory": None}}, MERGE_PATCH)
    world.kubectl("PATCH", f"{path}/status", {"status": {"memory": kept}}, MERGE_PATCH)
    world.live(hours=0.2)
    found = world.kubectl("GET", path)
    stalled = next(c for c in found["status"]["conditions"] if c["type"] == "Stalled")
    assert (stalled["status"], stalled["reason"]) == ("True", "Memory")
    assert "version 99" in stalled["message"]
    assert found["status"]["memory"] == kept


def test_an_object_that_means_nothing_and_cannot_be_written_either_stops_no_other() -> None:
    world = pushed()
    world.live(hours=12, until=done)
    world.end()
    path = f"{ROLLOUTS}/edge-2"
    world.kubectl("PATCH", f"{path}/status", {"status": {"memory": {"version": 99}}}, MERGE_PATCH)
    world.rollout.wrap = lambda inner: Refusing(inner, path)
    world.push(three(GOOD))
    replica = world.run(hours=0.5)
    assert wrote(world, "edge-1", "three")
    assert any("edge-2 cannot say that" in told for told in replica.heard.troubles)
