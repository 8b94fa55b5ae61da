"""onFailure: rollback. Where content fails, the cluster goes back to what it passed, and the failed content is held."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from gitops_mc.app.looks import Pace
from gitops_mc.core.model import JsonObject, labels_of
from gitops_mc.core.rollout import acts
from gitops_mc.core.rollout.inputs import Abort, Acts
from gitops_mc.core.rollout.memory import FailureCause, FleetMemory
from gitops_mc.core.rollout.moves import Done, Halted, Hold, Standing, WaveState
from gitops_mc.sandbox.apiserver import AcceptedWrite
from gitops_mc.sandbox.faults import FaultId
from gitops_mc.sandbox.fleet import MACHINE_CONFIG_VERSION, FleetSpec, simple_fleet
from gitops_mc.sandbox.moduleinfo import Publication
from tests.scenarios import test_groups as groups
from tests.scenarios.rollout_world import UNIT, RolloutWorld, machine_config, module

NEWER = "v4.4.0"


def fleet(on_failure: str = "rollback", soak: str = "0s", failures: int = 0) -> str:
    return f"""\
apiVersion: gitops-mc.io/v1alpha1
kind: FleetConfig
metadata: {{name: test}}
spec:
  rollout:
    onFailure: {on_failure}
    maxFailures: {failures}
    waves:
      - {{name: canary, clusters: {{names: [edge-1]}}, soak: {soak}}}
      - {{name: rest, clusters: {{}}, maxConcurrent: 10}}
"""


def app(text: str, name: str = "50-worker-app") -> str:
    return machine_config(name, files={"/etc/app.conf": f"{text}\n"}, app_service=f"{UNIT}# {text}\n")


def repository(text: str, fleet_file: str, **more: str) -> dict[str, str]:
    files = {f"clusters/edge-{n}/app.yaml": app(text) for n in (1, 2, 3)}
    extra = {f"clusters/edge-{n}/{name}.yaml": text for n in (1, 2, 3) for name, text in more.items()}
    return {"fleet.yaml": fleet_file, **files, **extra}


NEW = machine_config("70-worker-new", files={"/etc/new.conf": "1\n"})


def good(fleet_file: str | None = None, spec: FleetSpec | None = None, **more: str) -> RolloutWorld:
    """A world whose clusters have passed content that is good."""
    world = RolloutWorld(
        spec=spec or simple_fleet("edge-1", "edge-2", "edge-3", workers=2),
        files=repository("one", fleet_file or fleet(), **more),
    )
    world.faults.set(FaultId.NODE_DEGRADED)
    assert isinstance(world.run(), Done)
    return world


def config(world: RolloutWorld, cluster: str, name: str = "50-worker-app") -> JsonObject | None:
    found = world.fleet.person(cluster).get("machineconfigs", name)
    return None if found is None else dict(found["spec"])


def healthy(world: RolloutWorld, cluster: str) -> bool:
    pool = world.fleet.person(cluster).get("machineconfigpools", "worker")
    assert pool is not None
    conditions = {c["type"]: c["status"] for c in pool["status"]["conditions"]}
    return conditions["Updated"] == "True" and "True" not in {
        v for k, v in conditions.items() if k.endswith("Degraded")
    }


def since(world: RolloutWorld, cluster: str, at: datetime) -> list[AcceptedWrite]:
    return [w for w in world.writes(cluster) if w.time > at]


def rolled_back(fleet_file: str | None = None, **more: str) -> tuple[RolloutWorld, JsonObject]:
    """Bad content was pushed, and the canary stands at the good one again."""
    world = good(fleet_file)
    before = config(world, "edge-1")
    assert before is not None
    world.files.update(repository("BROKEN", fleet_file or fleet(), **more))
    outlook = world.run()
    assert isinstance(outlook, Halted), outlook
    return world, before


def test_bad_content_is_rolled_back_the_cluster_is_healthy_and_nobody_else_gets_it() -> None:
    world, before = rolled_back(new=NEW)
    assert config(world, "edge-1") == before
    assert config(world, "edge-1", "70-worker-new") is None, (
        "what the failed content made is removed without prune"
    )
    assert healthy(world, "edge-1")
    m = world.cluster_memory("edge-1")
    assert m.rolled_back
    assert m.out
    assert m.failure is None
    assert world.memory().halt is not None
    view = world.view("edge-1")
    assert view.standing is Standing.FAILED
    assert "rolled back to" in view.reason
    assert "is held until newer content changes pool worker" in view.reason
    for name in ("edge-2", "edge-3"):
        assert config(world, name, "70-worker-new") is None


def test_the_held_content_is_not_retried_and_a_readme_or_another_part_lifts_nothing() -> None:
    world, before = rolled_back()
    written = {n: len(world.writes(n)) for n in world.fleet.servers}
    assert isinstance(world.run(hours=3), Halted)
    world.files["README.md"] = "about"
    assert isinstance(world.run(hours=3), Halted)
    for n in (1, 2, 3):
        world.files[f"clusters/edge-{n}/master.yaml"] = machine_config(
            "50-master-x", "master", files={"/etc/x": "1\n"}
        )
    assert isinstance(world.run(hours=3), Halted)
    assert {n: len(world.writes(n)) for n in world.fleet.servers} == written
    assert config(world, "edge-1") == before


def test_where_a_failure_is_tolerated_the_held_content_is_not_retried_either() -> None:
    tolerant = fleet(failures=1)
    world = good(tolerant)
    before = config(world, "edge-1")
    world.files.update(repository("BROKEN", tolerant))
    outlook = world.run()
    assert isinstance(outlook, Hold), outlook
    assert world.memory().halt is None
    assert world.cluster_memory("edge-1").rolled_back
    written = len(world.writes("edge-1"))
    world.files["README.md"] = "about"
    assert isinstance(world.run(hours=3), Hold)
    assert len(world.writes("edge-1")) == written
    assert config(world, "edge-1") == before
    world.files.update(repository("two", tolerant))
    assert isinstance(world.run(), Done)


def test_what_a_pool_selected_may_be_taken_back_too_and_the_failed_content_is_held_all_the_same() -> None:
    def files(text: str, roles: list[str]) -> dict[str, str]:
        expression = {"key": groups.ROLE, "operator": "In", "values": roles}
        gpu = groups.pool("gpu", machineConfigSelector={"matchExpressions": [expression]})
        return {
            "fleet.yaml": fleet(failures=1),
            "clusters/edge-1/gpu.yaml": gpu,
            "clusters/edge-1/app.yaml": app("one"),
            "clusters/edge-1/new.yaml": machine_config(
                "70-new-x", "new", files={"/etc/new.conf": f"{text}\n"}
            ),
            "clusters/edge-1/old.yaml": machine_config("60-old-x", "old", files={"/etc/old.conf": "1\n"}),
            "clusters/edge-1/infra.yaml": groups.pool("infra"),
        }

    world = RolloutWorld(spec=simple_fleet("edge-1", workers=3), files=files("one", ["worker", "gpu", "old"]))
    world.fleet.person("edge-1").label_node("edge-1-w1", **{"node-role.kubernetes.io/gpu": ""})
    world.fleet.person("edge-1").label_node("edge-1-w2", **{"node-role.kubernetes.io/infra": ""})
    world.clock.wait_for(120)
    world.faults.set(FaultId.NODE_DEGRADED)
    assert isinstance(world.run(), Done)
    world.files = files("BROKEN", ["worker", "gpu", "new"])
    assert not isinstance(world.run(), Done)
    assert world.cluster_memory("edge-1").rolled_back
    written = len(world.writes("edge-1"))
    world.files["clusters/edge-1/master.yaml"] = machine_config(
        "50-master-x", "master", files={"/etc/x": "1\n"}
    )
    world.run(hours=2)
    assert len(world.writes("edge-1")) == written


def test_the_commit_that_repairs_goes_through_the_halt_and_then_everywhere() -> None:
    world, _ = rolled_back()
    world.files.update(repository("two", fleet()))
    outlook = world.run()
    assert isinstance(outlook, Done), outlook
    assert world.memory().halt is None
    assert world.cluster_memory("edge-1").rollback is None
    assert {world.standing(f"edge-{n}") for n in (1, 2, 3)} == {Standing.PASSED}


def test_taking_the_commit_back_in_git_ends_the_halt() -> None:
    world, before = rolled_back(new=NEW)
    for n in (1, 2, 3):
        del world.files[f"clusters/edge-{n}/new.yaml"]
    world.files.update(repository("one", fleet()))
    at = world.clock.now()
    assert isinstance(world.run(), Done)
    assert world.memory().halt is None
    assert config(world, "edge-1") == before
    assert not since(world, "edge-1", at), "there was nothing left to write"


def test_a_repair_that_fails_is_rolled_back_too() -> None:
    world, before = rolled_back()
    world.files.update(repository("BROKEN again", fleet()))
    assert isinstance(world.run(), Halted)
    assert config(world, "edge-1") == before
    assert healthy(world, "edge-1")
    world.files.update(repository("two", fleet()))
    assert isinstance(world.run(), Done)


def test_where_the_passed_tree_is_gone_it_is_halted_and_says_so() -> None:
    world = good()
    world.files.update(repository("BROKEN", fleet()))
    world.desired()
    gone = world.cluster_memory("edge-1").passed
    world.past = {key: found for key, found in world.past.items() if key[1] != gone}
    outlook = world.run()
    assert isinstance(outlook, Halted)
    assert "cannot be rolled back: content" in outlook.reason
    assert "cannot be had any more" in world.view("edge-1").reason
    assert world.standing("edge-1") is Standing.FAILED
    assert not healthy(world, "edge-1")
    world.files.update(repository("two", fleet()))
    assert isinstance(world.run(), Done)


def test_where_nothing_has_passed_before_it_is_halted() -> None:
    world = RolloutWorld(files=repository("BROKEN", fleet(failures=1)))
    world.faults.set(FaultId.NODE_DEGRADED)
    outlook = world.run()
    assert isinstance(outlook, Halted), "though one failure is tolerated"
    assert "it has passed no other content" in outlook.reason


def test_a_rollback_touches_no_module() -> None:
    spec = simple_fleet("edge-1", machine_config=None)
    modules = (Publication("machine-config", MACHINE_CONFIG_VERSION), Publication("machine-config", NEWER))
    logs = (Publication("logcenter", "v1.0.0"), Publication("logcenter", "v1.1.0"))
    spec = FleetSpec(spec.clusters, (*modules, *logs))

    def files(version: str, text: str, **more: str) -> dict[str, str]:
        return {
            "fleet.yaml": fleet(),
            "clusters/edge-1/module.yaml": module("edge-1", version),
            "clusters/edge-1/app.yaml": app(text),
            **{f"clusters/edge-1/{n}.yaml": t for n, t in more.items()},
        }

    world = RolloutWorld(spec=spec, files=files(MACHINE_CONFIG_VERSION, "one"))
    world.faults.set(FaultId.NODE_DEGRADED)
    assert isinstance(world.run(), Done)
    before = config(world, "edge-1")
    world.files.update(files(NEWER, "BROKEN", log=module("edge-1", "v1.1.0", "logcenter")))
    world.run(until=lambda look: look.memory.cluster("edge-1").rollback is not None)
    at, written = world.clock.now(), _modules(world)
    assert isinstance(world.run(), Halted)
    assert config(world, "edge-1") == before
    assert healthy(world, "edge-1")
    assert _modules(world) == written
    assert world.cluster_memory("edge-1").rolled_back
    assert [w for w in world.writes("edge-1") if w.time > at]
    live = {
        labels_of(m)["cpaas.io/module-name"]: m["spec"]["version"]
        for m in world.fleet.person("global").list_all("moduleinfoes")
    }
    assert live["machine-config"] == NEWER
    world.files.update(files(NEWER, "two", log=module("edge-1", "v1.1.0", "logcenter")))
    assert isinstance(world.run(), Done)


def _modules(world: RolloutWorld) -> int:
    return sum(w.resource.startswith("moduleinfoes") for w in world.writes("global"))


def test_after_a_rollback_to_content_that_git_has_again_its_modules_are_written() -> None:
    spec = simple_fleet("edge-1")
    spec = FleetSpec(spec.clusters, (*spec.publications, Publication("logcenter", "v1.0.0")))

    def files(replicas: int, text: str) -> dict[str, str]:
        log = module("edge-1", "v1.0.0", "logcenter", {"replicas": replicas})
        return {
            "fleet.yaml": fleet(),
            "clusters/edge-1/log.yaml": log,
            "clusters/edge-1/app.yaml": app(text),
        }

    world = RolloutWorld(spec=spec, files=files(1, "one"))
    world.faults.set(FaultId.NODE_DEGRADED)
    assert isinstance(world.run(), Done)
    world.files.update(files(3, "BROKEN"))
    assert isinstance(world.run(), Halted)
    assert _replicas(world) == 3
    world.files.update(files(1, "one"))
    assert isinstance(world.run(), Done)
    assert _replicas(world) == 1


def _replicas(world: RolloutWorld) -> int:
    found = world.fleet.person("global").list_all("moduleinfoes")
    return int(
        next(m["spec"]["config"]["replicas"] for m in found if "replicas" in m["spec"].get("config", {}))
    )


def test_a_rollback_that_fails_is_halted_and_needs_a_human() -> None:
    world = good(fleet(failures=1))
    world.files.update(repository("BROKEN", fleet(failures=1)))
    world.run(until=lambda look: look.memory.cluster("edge-1").failure is not None)
    world.faults.set(FaultId.DEGRADED_NOT_RETARGETED)
    outlook = world.run(hours=8)
    assert isinstance(outlook, Halted), outlook
    m = world.cluster_memory("edge-1")
    assert m.failure is not None
    assert "the rollback to" in m.failure.reason
    assert "its rollback has failed" in outlook.reason
    written = len(world.writes("edge-1"))
    assert isinstance(world.run(hours=3), Halted)
    assert len(world.writes("edge-1")) == written


def soaking() -> tuple[RolloutWorld, JsonObject | None]:
    """The canary has passed its second content, and soaks."""
    world = good(fleet(soak="100m"))
    before = config(world, "edge-1")
    world.pace = Pace(every=timedelta(seconds=60))
    world.files.update(repository("two", fleet(soak="100m"), new=NEW))
    world.run(
        until=lambda look: look.decision.waves[0].state is WaveState.SOAKING and _passed_two(look.memory)
    )
    assert config(world, "edge-1") != before
    return world, before


def test_what_fails_in_its_soak_goes_back_to_what_passed_before_it() -> None:
    world, before = soaking()
    world.fleet.person("edge-1").cordon("edge-1-w1")
    world.run(until=lambda look: look.memory.cluster("edge-1").rollback is not None)
    world.fleet.person("edge-1").uncordon("edge-1-w1")
    assert isinstance(world.run(), Halted)
    assert config(world, "edge-1") == before
    assert config(world, "edge-1", "70-worker-new") is None
    assert config(world, "edge-2", "70-worker-new") is None
    assert world.cluster_memory("edge-1").rolled_back


def test_what_somebody_breaks_on_a_node_in_the_soak_is_no_reason_to_go_back() -> None:
    world, before = soaking()
    world.faults.set(FaultId.DRIFT, cluster="edge-1", node="edge-1-w1")
    assert isinstance(world.run(), Halted)
    failure = world.cluster_memory("edge-1").failure
    assert failure is not None
    assert failure.cause is FailureCause.FOREIGN
    assert config(world, "edge-1") != before


def _passed_two(memory: FleetMemory) -> bool:
    m = memory.cluster("edge-1")
    return m.out and m.before is not None


def test_halt_stays_halt() -> None:
    world = good(fleet("halt"))
    world.files.update(repository("BROKEN", fleet("halt")))
    assert isinstance(world.run(), Halted)
    assert world.cluster_memory("edge-1").rollback is None
    assert not healthy(world, "edge-1")
    m = world.cluster_memory("edge-1")
    assert m.failure is not None
    assert m.failure.cause is FailureCause.CONFIG


# ------------------------------------------------------------------------------------------------------- by a human


def said(world: RolloutWorld, act: Callable[[FleetMemory, acts.By], acts.ActResult]) -> None:
    def changed(memory: FleetMemory) -> FleetMemory:
        result = act(memory, acts.By("mei", acts.moment(memory, world.clock.now())))
        assert isinstance(result, acts.Changed), result
        return result.memory

    world.remember(changed)


def test_a_human_rolls_a_halted_cluster_back() -> None:
    world = good(fleet("halt"))
    before = config(world, "edge-1")
    world.files.update(repository("BROKEN", fleet("halt")))
    assert isinstance(world.run(), Halted)
    said(world, lambda memory, by: acts.rollback(memory, "edge-1", by))
    assert isinstance(world.run(), Halted)
    assert config(world, "edge-1") == before
    assert healthy(world, "edge-1")
    assert "rolled back by mei to" in world.view("edge-1").reason


def test_a_retry_after_a_rollback_tries_the_content_again_and_goes_back_again() -> None:
    world, before = rolled_back()
    said(world, lambda memory, by: acts.retry(memory, "edge-1", by))
    at = world.clock.now()
    assert isinstance(world.run(), Halted)
    assert config(world, "edge-1") == before
    assert len(since(world, "edge-1", at)) == 2, "it was tried, and taken back"
    assert not since(world, "edge-2", at)


def test_a_retry_that_passes_ends_the_halt_and_the_others_follow() -> None:
    world, _ = rolled_back()
    world.faults.clear_all()
    said(world, lambda memory, by: acts.retry(memory, "edge-1", by))
    assert isinstance(world.run(), Done)
    assert world.memory().halt is None
    assert not world.cluster_memory("edge-1").retrying


def test_a_retry_in_mid_roll_is_written_through_the_halt_for_that_cluster_alone() -> None:
    world = good(fleet("halt"))
    world.files.update(repository("BROKEN", fleet("halt")))
    assert isinstance(world.run(), Halted)
    world.faults.clear_all()
    world.clock.wait_for(600)
    written = len(world.writes("edge-2"))
    said(world, lambda memory, by: acts.retry(memory, "edge-1", by))
    world.run(until=lambda look: look.memory.cluster("edge-1").out)
    assert len(world.writes("edge-2")) == written
    assert isinstance(world.run(), Done)


def test_a_held_or_suspended_cluster_is_not_rolled_back_until_that_ends() -> None:
    for order in (Acts(held={"edge-1": "tom"}), Acts(suspended="tom")):
        world = good()
        before = config(world, "edge-1")
        world.files.update(repository("BROKEN", fleet()))
        world.run(until=lambda look: look.memory.cluster("edge-1").begun)
        world.run(order, hours=2, until=lambda look: look.memory.cluster("edge-1").rollback is not None)
        assert world.cluster_memory("edge-1").rollback is None
        assert isinstance(world.run(), Halted)
        assert config(world, "edge-1") == before


def test_an_abort_stops_a_rollback_too_and_resumed_it_goes_on() -> None:
    world = good(spec=simple_fleet("edge-1", "edge-2", "edge-3", workers=4))
    before = config(world, "edge-1")
    world.files.update(repository("BROKEN", fleet()))
    world.run(until=lambda look: look.memory.cluster("edge-1").rolled_back and bool(look.written))
    world.run(Acts(aborted=Abort("alarms", by="tom")), hours=1)
    assert config(world, "edge-1") == before
    assert isinstance(world.run(), Halted)
    assert healthy(world, "edge-1")
    assert world.cluster_memory("edge-1").out
