"""The chain from a file in Git to the node that holds it up, for every way to be held up."""

from __future__ import annotations

from gitops_mc.core.model import Place
from gitops_mc.core.rollout import acts
from gitops_mc.core.rollout.driver import Driver
from gitops_mc.core.rollout.memory import FleetMemory
from gitops_mc.core.rollout.moves import Done, Halted
from gitops_mc.core.why import Subject
from gitops_mc.sandbox.faults import FaultId
from gitops_mc.sandbox.fleet import simple_fleet
from tests.app.reports import Answer
from tests.scenarios.rollout_world import FLEET, UNIT, RolloutWorld, machine_config, module

GOOD = machine_config("50-worker-app", files={"/etc/app.conf": "one\n"}, app_service=UNIT)
BAD = machine_config("50-worker-app", files={"/etc/app.conf": "BROKEN\n"}, app_service=UNIT)


def made(config: str = GOOD, *names: str) -> RolloutWorld:
    clusters = names or ("edge-1", "edge-2")
    world = RolloutWorld(spec=simple_fleet(*clusters))
    world.files |= {f"clusters/{n}/app.yaml": config for n in clusters}
    return world


def halted() -> RolloutWorld:
    world = made()
    world.faults.set(FaultId.NODE_DEGRADED)
    assert isinstance(world.run(), Done)
    world.files |= {f"clusters/{n}/app.yaml": BAD for n in ("edge-1", "edge-2")}
    assert isinstance(world.run(), Halted)
    return world


def test_of_a_cluster_that_has_passed_nothing_holds_it_up() -> None:
    world = made()
    assert isinstance(world.run(), Done)
    found = Answer(world, "edge-1")
    assert found.blocking() == ""
    assert "edge-1: passed; nothing holds it up" in found.text


def test_a_degraded_canary_leads_from_the_file_to_the_node_and_to_what_to_type() -> None:
    found = Answer(halted(), "edge-1")
    subjects = [link.subject for link in found.links]
    assert subjects[0] is Subject.GIT
    assert subjects[-1] is Subject.NODE
    assert found.links[0].places == (Place("clusters/edge-1/app.yaml", 1, 1),)
    assert "edge-1-w" in found.links[-1].told
    assert any(c.startswith("kubectl") and "edge-1-w" in c for c in found.commands)
    assert "gitops-mc apply  # after a commit that corrects it" in found.commands
    assert any(c.startswith("gitops-mc release edge-1 ") for c in found.commands)


def test_a_cluster_of_the_next_wave_names_who_closes_it_and_what_halts_everything() -> None:
    found = Answer(halted(), "edge-2")
    told = found.blocking()
    assert "wave rest: closed" in told
    assert "wave canary waits for edge-1: failed" in told
    assert "halt new writes are halted since" in told
    assert "maxFailures tolerates 0 of 2 clusters; used up by edge-1 (failed)" in told
    assert found.commands[0].startswith("gitops-mc why edge-1")


def test_a_pool_that_somebody_paused_is_named_with_who_and_how_it_goes_on() -> None:
    world = made()
    world.fleet.person("edge-1").pause("worker")
    world.clock.wait_for(60)
    world.run(hours=1)
    found = Answer(world, "edge-1", "worker")
    assert "worker is paused by kubectl-edit at" in found.blocking()
    assert any("kubectl patch machineconfigpool worker" in c for c in found.commands)


def test_nodes_without_a_pool_are_named_with_the_label_they_lack() -> None:
    world = made()
    world.faults.set(FaultId.UNLABELLED_WORKERS, cluster="edge-1")
    world.clock.wait_for(120)
    world.run(hours=1)
    found = Answer(world, "edge-1")
    assert "in no pool, so nothing that is written reaches them: edge-1-w1, edge-1-w2" in found.text
    assert "kubectl label node edge-1-w1 node-role.kubernetes.io/worker=" in found.commands


def test_a_module_that_is_not_published_is_named() -> None:
    world = made()
    world.files["clusters/edge-1/module.yaml"] = module("edge-1", "v9.9.9")
    world.run(hours=0.2)
    found = Answer(world, "edge-1")
    assert "not published" in found.blocking()
    assert "v9.9.9" in found.blocking()


def test_a_problem_in_the_repository_is_named_with_its_place() -> None:
    world = made()
    world.files["clusters/edge-1/app.yaml"] = "kind: Nonsense\n"
    world.run(hours=0.2)
    found = Answer(world, "edge-1")
    (git,) = [link for link in found.links if link.subject is Subject.GIT and link.blocks][:1]
    assert git.places[0].file == "clusters/edge-1/app.yaml"
    assert git.places[0].line == 1
    assert "gitops-mc validate" in found.commands


def test_drift_is_named_with_who_made_it() -> None:
    world = made()
    assert isinstance(world.run(), Done)
    by_hand = [{"path": "/etc/app.conf", "mode": 420, "contents": {"source": "data:,by-hand"}}]
    patch = {"spec": {"config": {"storage": {"files": by_hand}}}}
    world.fleet.person("edge-1").edit("machineconfigs", "50-worker-app", patch)
    world.clock.wait_for(600)
    found = Answer(world, "edge-1")
    drift = [link for link in found.links if link.subject is Subject.DRIFT]
    refused = [link for link in found.links if link.subject is Subject.REFUSAL]
    assert "50-worker-app" in " ".join(link.told for link in (*drift, *refused))


def test_a_wave_that_waits_for_approval_says_how_to_give_it() -> None:
    world = made()
    world.files["fleet.yaml"] = FLEET.replace("maxConcurrent: 10", "approval: manual")
    world.run()
    found = Answer(world, "edge-2")
    assert "needs approval" in found.blocking()
    assert "gitops-mc apply --approve rest" in found.commands


def test_who_uses_up_the_places_of_a_wave_is_named() -> None:
    world = made(GOOD, "edge-1", "edge-2", "edge-3")
    world.files["fleet.yaml"] = FLEET.replace("maxConcurrent: 10", "maxConcurrent: 1")
    world.run(until=lambda look: look.memory.cluster("edge-2").begun)
    found = Answer(world, "edge-3")
    assert "wave rest lets 1 roll at once; in flight: edge-2" in found.blocking()


def test_a_cluster_that_nobody_keeps_says_that_the_next_apply_starts_it() -> None:
    world = made()
    found = Answer(world, "edge-1")
    assert "nothing keeps it: it is started next" in found.text
    assert found.blocking() == "driver nothing moves until somebody runs: gitops-mc apply"
    assert Answer(world, "edge-1", driver=Driver.APPLY).blocking() == ""


def test_an_excused_node_is_said_with_how_to_take_it_back() -> None:
    world = made()
    assert isinstance(world.run(), Done)

    def excused(memory: FleetMemory) -> FleetMemory:
        by = acts.By("mei", world.clock.now(), "new disk")
        until = world.clock.now().replace(year=2090)
        found = acts.excuse(memory, "edge-1", "edge-1-w1", until, by)
        assert isinstance(found, acts.Changed)
        return found.memory

    world.remember(excused)
    found = Answer(world, "edge-1")
    assert "node edge-1-w1 is excused until 2090" in found.text
    assert "gitops-mc excuse edge-1-w1 --cluster edge-1 --undo" in found.commands


def test_of_a_cluster_that_only_an_apply_moves_it_says_so_unless_one_runs() -> None:
    world = made()
    world.run(until=lambda _: bool(world.writes("edge-1")))
    for name in ("edge-1", "edge-2"):
        assert "driver nothing moves until somebody runs: gitops-mc apply" in Answer(world, name).blocking()
        assert "nothing moves" not in Answer(world, name, driver=Driver.APPLY).text


def test_what_has_failed_is_not_told_to_be_applied_again_as_it_is() -> None:
    assert "driver" not in Answer(halted(), "edge-1").blocking()
