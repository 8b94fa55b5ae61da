"""machine-config and other modules: installed, upgraded, waited for, through everything the platform does to them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime, timedelta

import pytest

from gitops_mc.app.looks import Pace
from gitops_mc.app.ports import Transport
from gitops_mc.core.model import JsonObject, Open
from gitops_mc.core.rollout.inputs import Acts
from gitops_mc.core.rollout.moves import Done, Halted, Hold, Standing
from gitops_mc.sandbox.apiserver import AcceptedWrite
from gitops_mc.sandbox.faults import FaultId, parse_fault
from gitops_mc.sandbox.fleet import FleetSpec, module_info, simple_fleet
from gitops_mc.sandbox.moduleinfo import Publication
from tests.scenarios.crashes import Counted, Killed, Moment
from tests.scenarios.rollout_world import UNIT, RolloutWorld, machine_config, manifest, module, policy

POOL = manifest(
    "MachineConfigPool",
    "gpu",
    {
        "machineConfigSelector": {
            "matchExpressions": [
                {
                    "key": "machineconfiguration.alauda.io/role",
                    "operator": "In",
                    "values": ["worker", "gpu"],
                }
            ]
        },
        "nodeSelector": {"matchLabels": {"node-role.kubernetes.io/gpu": ""}},
    },
)
CHRONY = machine_config("50-worker-chrony", files={"/etc/chrony.conf": "server one\n"})
APP = machine_config("60-worker-app", files={"/etc/app.conf": "one\n"}, app_service=UNIT)
MET = Acts(approved=frozenset({"edge-1"}))
"""A module that somebody else has installed is taken over, which asks a human first."""
RESTART = policy({"/etc/chrony.conf": "chronyd.service"})


def fresh(**files: str) -> RolloutWorld:
    """One cluster without machine-config; Git installs it, with pools, policy and configs in the same content."""
    made = RolloutWorld(spec=simple_fleet("edge-1", workers=2, machine_config=None))
    made.files["clusters/edge-1/module.yaml"] = module("edge-1")
    made.files |= {f"clusters/edge-1/{name}.yaml": text for name, text in files.items()}
    return made


def installed(*publications: Publication, workers: int = 1) -> RolloutWorld:
    spec = simple_fleet("edge-1", workers=workers)
    made = RolloutWorld(spec=FleetSpec(spec.clusters, (*spec.publications, *publications)))
    made.files["clusters/edge-1/module.yaml"] = module("edge-1")
    made.files["clusters/edge-1/app.yaml"] = APP
    return made


def module_infos(world: RolloutWorld, name: str = "machine-config") -> list[JsonObject]:
    return [
        body
        for body in world.fleet.person("global").list_all("moduleinfoes")
        if body["metadata"]["labels"].get("cpaas.io/module-name") == name
        and body["metadata"]["labels"].get("cpaas.io/cluster-name") == "edge-1"
    ]


def live_at_once(world: RolloutWorld) -> int:
    """The largest number of ModuleInfos machine-config of edge-1 that lived at one moment."""
    most, alive = 0, set()
    for write in world.fleet.servers["global"].writes:
        body = write.after or write.before
        assert body is not None
        if (
            not write.resource.startswith("moduleinfoes")
            or body["metadata"]["labels"].get("cpaas.io/cluster-name") != "edge-1"
        ):
            continue
        if write.after is None or "deletionTimestamp" in write.after["metadata"]:
            alive.discard(write.name)
        else:
            alive.add(write.name)
        most = max(most, len(alive))
    return most


def creations(world: RolloutWorld) -> list[AcceptedWrite]:
    return [w for w in world.writes("global") if w.resource.startswith("moduleinfoes") and w.before is None]


def machine_writes(world: RolloutWorld, plural: str) -> list[AcceptedWrite]:
    return [w for w in world.writes("edge-1") if w.resource.startswith(f"{plural}.")]


FAULTS: Mapping[str, tuple[str, ...]] = {
    "labels kept": (),
    "labels lost": ("module-recreated-without-labels",),
    "defaults filled in, phase ahead of the truth": ("module-defaults", "phase-lag:seconds=15"),
}


@pytest.mark.parametrize("faults", list(FAULTS.values()), ids=list(FAULTS))
def test_machine_config_comes_first_and_pools_policy_and_configs_follow_in_the_same_content(
    faults: tuple[str, ...],
) -> None:
    world = fresh(pool=POOL, policy=RESTART, chrony=CHRONY, app=APP)
    for fault in faults:
        parse_fault(world.faults, fault, world.start)
    outlook = world.run()
    assert isinstance(outlook, Done), outlook
    assert world.standing("edge-1") is Standing.PASSED
    assert len(creations(world)) == 1
    assert len(module_infos(world)) == 1
    assert live_at_once(world) == 1
    written = [w for w in world.writes("edge-1") if w.resource.startswith("machineconfig")]
    ready = running_since(world)
    assert min(w.time for w in written) > ready
    assert world.reboots("edge-1") == {"edge-1-w1": 1, "edge-1-w2": 1}
    before = len(world.writes("global")), len(world.writes("edge-1"))
    assert isinstance(world.run(), Done)
    assert (len(world.writes("global")), len(world.writes("edge-1"))) == before


def running_since(world: RolloutWorld, name: str = "machine-config") -> datetime:
    """When the platform first said that the module is ready."""
    for write in world.fleet.servers["global"].writes:
        if write.resource.startswith("moduleinfoes") and write.after is not None:
            status = write.after.get("status") or {}
            mine = write.after["metadata"]["labels"].get("cpaas.io/module-name") == name
            if mine and any(r.get("ready") for r in status.get("appReleases") or ()):
                return write.time
    raise AssertionError("never ready")


@pytest.mark.parametrize("moment", list(Moment))
def test_killed_between_create_and_read_back_there_is_exactly_one_module_info(moment: Moment) -> None:
    world = fresh(app=APP)
    counted: list[Counted] = []

    def wrap(transport: Transport) -> Transport:
        counted.append(Counted(transport))
        return counted[-1]

    world.wrap = wrap

    def created(look: object) -> bool:
        return any(m == "POST" and "dry" not in p and "moduleinfoes" in p for m, p in counted[-1].calls)

    world.run(until=created)
    post = next(
        n
        for n, (m, p) in enumerate(counted[0].calls, 1)
        if m == "POST" and p == "global/apis/cluster.alauda.io/v1alpha1/moduleinfoes"
    )
    for lost in (False, True):  # the platform is quicker, or slower, than the next process
        world = fresh(app=APP)
        world.wrap = lambda transport: Counted(transport, post, moment)
        with pytest.raises(Killed):
            world.run()
        if lost:
            world.clock.wait_for(30)
        world.wrap = lambda transport: transport
        assert isinstance(world.run(), Done)
        assert len(module_infos(world)) == 1
        assert live_at_once(world) == 1
        assert len(creations(world)) == 1


def test_a_display_name_of_its_own_makes_no_second_module_info() -> None:
    """The platform's final name then is another one than can be computed beforehand."""
    world = fresh(app=APP)
    text = module("edge-1").replace(
        '"labels"', '"annotations": {"cpaas.io/display-name": "Machine Configuration"}, "labels"'
    )
    world.files["clusters/edge-1/module.yaml"] = text
    assert isinstance(world.run(), Done)
    assert len(module_infos(world)) == 1
    assert len(creations(world)) == 1


@pytest.mark.parametrize("path", ["", "/etc/operator-made.conf"], ids=["same files", "a file more"])
def test_an_upgrade_that_rolls_every_pool_is_waited_for_pools_included(path: str) -> None:
    world = installed(Publication("machine-config", "v4.4.0"))
    world.faults.set(FaultId.UPGRADE_ROLLS_POOLS, path=path)
    world.faults.set(FaultId.PHASE_LAG, seconds=10.0)
    if path:
        world.files["fleet.yaml"] += f"  gates: {{pool: {{operatorFiles: [{path}]}}}}\n"
    assert isinstance(world.run(MET), Done)
    before = len(machine_writes(world, "machineconfigs"))
    world.files["clusters/edge-1/module.yaml"] = module("edge-1", "v4.4.0")
    world.files["clusters/edge-1/more.yaml"] = CHRONY
    assert isinstance(world.run(), Done)
    info = module_infos(world)[0]
    assert info["status"]["version"] == "v4.4.0"
    first = machine_writes(world, "machineconfigs")[before]
    upgraded = next(w for w in world.writes("global") if w.verb == "patch")
    assert first.name == "50-worker-chrony"
    rolled = [
        e.at
        for node in world.fleet.nodes("edge-1")
        for e in world.fleet.node_log("edge-1", node).events
        if upgraded.time < e.at < first.time
    ]
    assert rolled, "the upgrade rolled the pools before anything else was written"
    assert first.time > max(rolled)


def test_an_unpublished_version_waits_named_and_goes_on_when_it_is_published() -> None:
    world = installed()
    assert isinstance(world.run(MET), Done)
    before = len(world.writes("global")), len(world.writes("edge-1"))
    world.files["clusters/edge-1/module.yaml"] = module("edge-1", "v4.4.0")
    world.files["clusters/edge-1/app.yaml"] = CHRONY
    at = world.clock.now() + timedelta(minutes=10)
    world.fleet.at(at, lambda: world.fleet.publish(Publication("machine-config", "v4.4.0")))
    world.run(until=lambda look: look.at >= at - timedelta(seconds=30))
    assert world.standing("edge-1") is Standing.UNPUBLISHED
    assert "v4.4.0" in world.view("edge-1").reason
    assert "machine-config" in world.view("edge-1").reason
    assert (len(world.writes("global")), len(world.writes("edge-1"))) == before
    assert isinstance(world.run(), Done)
    assert module_infos(world)[0]["status"]["version"] == "v4.4.0"


def test_a_version_that_is_never_published_fails_after_its_time_with_its_name() -> None:
    world = installed()
    assert isinstance(world.run(MET), Done)
    before = len(world.writes("global")), len(world.writes("edge-1"))
    began = world.seconds()
    world.files["clusters/edge-1/module.yaml"] = module("edge-1", "v9.9.9")
    world.pace = type(world.pace)(every=timedelta(seconds=30))
    outlook = world.run()
    assert isinstance(outlook, Halted), outlook
    assert "v9.9.9" in outlook.reason
    assert "machine-config" in outlook.reason
    assert "edge-1" in outlook.reason
    assert 1800 <= world.seconds() - began <= 1900
    assert world.standing("edge-1") is Standing.FAILED
    assert (len(world.writes("global")), len(world.writes("edge-1"))) == before
    world.files["clusters/edge-1/module.yaml"] = module("edge-1")
    assert isinstance(world.run(), Done), "the revert repairs it"


def logcenter(world: RolloutWorld, replicas: int = 1, version: str = "v1.0.0") -> None:
    world.files["clusters/edge-1/logcenter.yaml"] = module(
        "edge-1", version, "logcenter", {"replicas": replicas}
    )


def test_a_change_of_config_alone_waits_until_the_platform_has_taken_it_up() -> None:
    world = installed(Publication("logcenter", "v1.0.0"))
    logcenter(world)
    assert isinstance(world.run(MET), Done)
    logcenter(world, replicas=3)
    assert isinstance(world.run(), Done)
    info = module_infos(world, "logcenter")[0]
    assert info["spec"]["config"]["replicas"] == 3
    hashes = [
        (w.time, (w.after or {}).get("status", {}).get("specHash"))
        for w in world.fleet.servers["global"].writes
        if w.name == info["metadata"]["name"] and w.after is not None
    ]
    taken_up = next(t for t, h in hashes if h == info["status"]["specHash"])
    passed = world.cluster_memory("edge-1").passed_at
    assert passed is not None
    assert passed > taken_up


def test_another_module_gates_neither_pools_nor_policy_but_the_cluster() -> None:
    world = installed(Publication("logcenter", "v1.0.0"), Publication("storage", "v1.0.0"))
    world.faults.set(FaultId.MODULE_STUCK, module="logcenter")
    logcenter(world)
    world.files["clusters/edge-1/storage.yaml"] = module("edge-1", "v1.0.0", "storage")
    outlook = world.run(MET, until=lambda look: look.at >= world.start + timedelta(minutes=20))
    assert world.reboots("edge-1") == {"edge-1-w1": 1}, "the pools did not wait for it"
    assert module_infos(world, "storage") == [], "but the next module did"
    assert world.standing("edge-1") is Standing.IN_FLIGHT
    assert all(
        isinstance(g.verdict, Open) for g in world.view("edge-1").gates if g.subject.startswith("pool")
    )
    world.pace = type(world.pace)(every=timedelta(seconds=30))
    outlook = world.run()
    assert isinstance(outlook, Halted)
    assert "logcenter" in outlook.reason


def test_a_live_module_newer_than_git_is_told_and_blocks_nothing() -> None:
    world = installed(Publication("machine-config", "v4.4.0"))
    assert isinstance(world.run(MET), Done)
    name = module_infos(world)[0]["metadata"]["name"]
    world.fleet.person("global").edit("moduleinfoes", name, {"spec": {"version": "v4.4.0"}})
    world.clock.wait_for(120)
    world.files["clusters/edge-1/more.yaml"] = CHRONY
    outlook = world.run()
    assert isinstance(outlook, Done), outlook
    assert module_infos(world)[0]["spec"]["version"] == "v4.4.0"
    plan = world.view("edge-1").plan
    assert plan is not None
    assert [(n.live_version, n.desired_version) for n in plan.newer] == [("v4.4.0", "v4.3.0")]


def test_a_module_that_is_sick_before_us_blocks_its_cluster_and_is_named() -> None:
    world = installed(Publication("logcenter", "v1.0.0"))
    stuck = world.faults.set(FaultId.MODULE_STUCK, module="logcenter")
    world.fleet.person("global").apply("moduleinfoes", module_info("edge-1", "v1.0.0", "logcenter"))
    world.clock.wait_for(600)
    logcenter(world)
    manifest_only = json.loads(world.files["clusters/edge-1/logcenter.yaml"])
    manifest_only["spec"]["config"] = {}
    world.files["clusters/edge-1/logcenter.yaml"] = json.dumps(manifest_only)
    outlook = world.run(MET, hours=2)
    assert isinstance(outlook, Hold), outlook
    assert world.standing("edge-1") is Standing.BLOCKED
    assert "logcenter" in world.view("edge-1").reason
    assert world.writes("edge-1") == ()
    assert world.writes("global") == ()
    world.faults.clear(stuck)
    world.clock.wait_for(120)
    assert isinstance(world.run(MET), Done)


def _install(kill_at: int | None = None, moment: Moment = Moment.BEFORE) -> tuple[RolloutWorld, Counted]:
    """One process that installs everything, or dies at a call."""
    world = fresh(pool=POOL, policy=RESTART, chrony=CHRONY, app=APP)
    world.faults.set(FaultId.MODULE_RECREATED_WITHOUT_LABELS)
    counted: list[Counted] = []

    def wrap(transport: Transport) -> Transport:
        counted.append(Counted(transport, kill_at, moment))
        return counted[-1]

    world.wrap = wrap
    if kill_at is None:
        assert isinstance(world.run(), Done)
    else:
        with pytest.raises(Killed):
            world.run()
        world.wrap = lambda transport: transport
    return world, counted[0]


def test_killed_at_writes_of_an_installation_it_ends_the_same() -> None:
    undisturbed, counted = _install()
    writes = [n for n, (m, p) in enumerate(counted.calls, 1) if m != "GET" and "?dry" not in p]
    assert len(writes) >= 7
    for turn, point in enumerate(writes[1::3]):
        world, _ = _install(point, (Moment.BEFORE, Moment.AFTER)[turn % 2])
        what = f"killed at {counted.calls[point - 1]}"
        assert isinstance(world.run(), Done), what
        assert live_at_once(world) == 1, what
        assert world.reboots("edge-1") == undisturbed.reboots("edge-1"), what
        assert len(creations(world)) == 1, what
        assert in_the_cluster(world) == in_the_cluster(undisturbed), what


def in_the_cluster(world: RolloutWorld) -> dict[str, JsonObject]:
    person = world.fleet.person("edge-1")
    return {
        f"{plural}/{body['metadata']['name']}": {
            k: v for k, v in body["spec"].items() if k != "configuration"
        }
        for plural in ("machineconfigs", "machineconfigpools", "machineconfigurations")
        for body in person.list_all(plural)
        if not body["metadata"]["name"].startswith("rendered-")
    }


def test_a_node_that_stays_away_is_the_pools_trouble_not_the_components_and_the_repair_gets_in() -> None:
    """The daemon is not ready on a node that is down: that must neither fail first nor keep the repair out."""
    world = fresh(app=APP)
    world.pace = Pace(every=timedelta(seconds=30))
    assert isinstance(world.run(), Done)
    world.faults.set(FaultId.NODE_NEVER_RETURNS, node="edge-1-w1")
    world.files["clusters/edge-1/app.yaml"] = machine_config(
        "60-worker-app", files={"/etc/app.conf": "two\n"}, app_service=f"{UNIT}# two\n"
    )
    began = world.clock.now()
    outlook = world.run()
    assert isinstance(outlook, Halted), outlook
    assert "edge-1-w1" in outlook.reason
    assert world.clock.now() - began >= timedelta(minutes=75)
    assert [*world.cluster_memory("edge-1").failure.subjects] == ["pool:worker"]  # type: ignore[union-attr]
    written = len(machine_writes(world, "machineconfigs"))
    world.files["clusters/edge-1/app.yaml"] = APP
    world.run(hours=1)
    assert len(machine_writes(world, "machineconfigs")) == written + 1
    assert "edge-1-w1" in world.view("edge-1").reason


def test_what_waits_for_its_turn_behind_a_long_upgrade_is_not_late() -> None:
    """Policy, a new pool and another module come after the pools that the upgrade rolls, however long that takes."""
    world = installed(Publication("machine-config", "v4.4.0"), Publication("logcenter", "v1.0.0"))
    world.pace = Pace(every=timedelta(seconds=30))
    assert isinstance(world.run(MET), Done)
    world.files["fleet.yaml"] += "  gates: {pool: {operatorFiles: [/etc/operator-made.conf]}}\n"
    world.faults.set(FaultId.UPGRADE_ROLLS_POOLS, path="/etc/operator-made.conf")
    person = world.fleet.person("edge-1")
    world.fleet.at(world.clock.now() + timedelta(seconds=80), lambda: person.cordon("edge-1-w1"))
    world.fleet.at(world.clock.now() + timedelta(minutes=50), lambda: person.uncordon("edge-1-w1"))
    world.files["clusters/edge-1/module.yaml"] = module("edge-1", "v4.4.0")
    added = {"policy": RESTART, "pool": POOL, "chrony": CHRONY}
    world.files |= {f"clusters/edge-1/{name}.yaml": text for name, text in added.items()}
    logcenter(world)
    began = world.clock.now()
    outlook = world.run()
    assert isinstance(outlook, Done), outlook
    policy_written = machine_writes(world, "machineconfigurations")[0].time
    assert policy_written - began > timedelta(minutes=40)
