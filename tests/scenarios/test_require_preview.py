"""`rollout.requirePreview`: what a reviewer has seen is what happens, or somebody is asked."""

from __future__ import annotations

from dataclasses import replace

from gitops_mc.app.observe import Interest, NodeReading
from gitops_mc.core.model import Content, JsonObject, Unknown
from gitops_mc.core.plan import NOTHING, promise_of
from gitops_mc.core.rollout.inputs import Acts
from gitops_mc.core.rollout.moves import Done, Hold, Standing
from gitops_mc.core.rollout.preview import preview
from gitops_mc.core.rollout.showing import KEPT_SHOWN, Shown, also
from gitops_mc.sandbox.fleet import simple_fleet
from gitops_mc.sandbox.virtual import DEFAULT_START
from tests.scenarios.rollout_world import UNIT, RolloutWorld, machine_config, manifest

FLEET = """\
apiVersion: gitops-mc.io/v1alpha1
kind: FleetConfig
metadata: {name: test}
spec:
  rollout: {requirePreview: true}
"""
ONE = machine_config("50-worker-app", files={"/etc/app.conf": "one\n"}, app_service=UNIT)
TWO = machine_config("50-worker-app", files={"/etc/app.conf": "one\n"}, app_service=UNIT + "# two\n")


def made(config: str = ONE) -> RolloutWorld:
    world = RolloutWorld(spec=simple_fleet("edge-1", workers=2))
    world.files["fleet.yaml"] = FLEET
    world.files["clusters/edge-1/app.yaml"] = config
    return world


def shown_now(world: RolloutWorld) -> Shown:
    """As a preview of what stands in Git would show it at this moment."""
    executor, fleet = world.executor(), world.git()
    memory = executor.memory()
    live = executor.observe(fleet, Interest(nodes=NodeReading.ALWAYS))
    (found,) = preview(executor.with_past(fleet, memory), memory, live, world.clock.now()).clusters
    assert found.plan is not None
    return Shown(
        found.plan.content, promise_of(found.plan), "the preview of pull request 12", world.clock.now()
    )


def merged(world: RolloutWorld, shown: Shown | None) -> Acts:
    return Acts() if shown is None else Acts(shown={"edge-1": shown})


def passed_with_one() -> RolloutWorld:
    world = made()
    assert isinstance(world.run(merged(world, shown_now(world))), Done)
    return world


def unit_policy(*actions: JsonObject) -> JsonObject:
    units = [{"name": "app.service", "actions": list(actions)}] if actions else []
    return {"spec": {"nodeDisruptionPolicy": {"units": units}}}


def by_hand(world: RolloutWorld, change: JsonObject) -> None:
    world.fleet.person("edge-1").edit("machineconfigurations", "cluster", change)
    world.clock.wait_for(300)


def waits(world: RolloutWorld, acts: Acts) -> str:
    writes = len(world.writes("edge-1"))
    outlook = world.run(acts, hours=1)
    assert isinstance(outlook, Hold), outlook
    assert world.standing("edge-1") is Standing.APPROVAL
    assert len(world.writes("edge-1")) == writes
    return world.view("edge-1").reason


def test_what_nobody_has_seen_waits_even_if_it_only_adds() -> None:
    world = made()
    reason = waits(world, Acts())
    assert "no preview has shown what this content does here" in reason
    assert "MachineConfig 50-worker-app is created" in reason
    assert reason.endswith("then: gitops-mc apply --approve edge-1")


def test_what_was_shown_is_rolled_out_and_asks_nobody() -> None:
    assert passed_with_one().cluster_memory("edge-1").out


def test_an_approval_lets_in_what_no_preview_has_shown() -> None:
    world = made()
    assert isinstance(world.run(Acts(approved=frozenset({"edge-1"}))), Done)


def test_a_preview_outlives_the_process_that_showed_it() -> None:
    world = passed_with_one()
    world.files["clusters/edge-1/app.yaml"] = TWO
    now = shown_now(world)
    world.files["clusters/edge-1/app.yaml"] = ONE
    assert isinstance(world.run(merged(world, now)), Done)
    world.files["clusters/edge-1/app.yaml"] = TWO
    assert isinstance(world.run(), Done)
    assert world.reboots("edge-1")


def test_a_policy_that_somebody_takes_away_after_the_preview_makes_a_reboot_that_nobody_approved() -> None:
    world = passed_with_one()
    by_hand(world, unit_policy({"type": "Restart", "restart": {"serviceName": "app.service"}}))
    before = world.reboots("edge-1")
    world.files["clusters/edge-1/app.yaml"] = TWO
    shown = shown_now(world)
    by_hand(world, unit_policy())
    reason = waits(world, merged(world, shown))
    assert "the preview of pull request 12 did not show this: pool worker: nodes go through: reboot" in reason
    assert world.reboots("edge-1") == before
    by_hand(world, unit_policy({"type": "Restart", "restart": {"serviceName": "app.service"}}))
    assert isinstance(world.run(), Done)
    assert world.reboots("edge-1") == before


def test_an_object_that_somebody_set_back_to_what_was_before_is_not_written_unseen() -> None:
    """While what has passed counts it is drift, and left alone; once another content is admitted it would be written again."""
    world = passed_with_one()
    before = world.fleet.person("edge-1").get("machineconfigs", "50-worker-app")
    assert before is not None
    world.files["clusters/edge-1/app.yaml"] = TWO
    assert isinstance(world.run(merged(world, shown_now(world))), Done)
    world.files["clusters/edge-1/more.yaml"] = machine_config("60-worker-more", files={"/etc/more": "x"})
    shown = shown_now(world)
    world.fleet.person("edge-1").edit(
        "machineconfigs",
        "50-worker-app",
        {"metadata": {"annotations": before["metadata"]["annotations"]}, "spec": before["spec"]},
    )
    world.clock.wait_for(1200)
    reason = waits(world, merged(world, shown))
    assert "did not show this: drifted of MachineConfig 50-worker-app" in reason


def test_a_commit_on_top_of_what_was_shown_is_another_content() -> None:
    world = passed_with_one()
    world.files["clusters/edge-1/app.yaml"] = TWO
    shown = shown_now(world)
    world.files["clusters/edge-1/more.yaml"] = machine_config("60-worker-more", files={"/etc/more": "x"})
    assert "no preview has shown" in waits(world, merged(world, shown))


def test_a_commit_that_leaves_the_content_alone_asks_nobody_again() -> None:
    world = passed_with_one()
    world.files["README.md"] = "hello\n"
    assert isinstance(world.run(), Done)


def test_a_commit_that_only_lets_go_of_what_was_kept_is_asked_about() -> None:
    """The content is the one that has passed; what it deletes nobody was shown."""
    world = made()
    world.files["clusters/edge-1/more.yaml"] = machine_config("60-worker-more", more_service=UNIT)
    assert isinstance(world.run(merged(world, shown_now(world))), Done)
    del world.files["clusters/edge-1/more.yaml"]
    assert isinstance(world.run(merged(world, shown_now(world))), Done)
    world.files["fleet.yaml"] = FLEET + "  prune: {enabled: true}\n"
    world.run(hours=1)
    world.files["README.md"] = "the next commit, from which on it holds\n"
    reason = waits(world, Acts())
    assert "MachineConfig 60-worker-more is deleted" in reason
    assert isinstance(world.run(Acts(approved=frozenset({"edge-1"}))), Done)
    assert world.fleet.person("edge-1").get("machineconfigs", "60-worker-more") is None


def test_a_commit_does_not_let_itself_through_by_asking_for_no_preview() -> None:
    world = passed_with_one()
    world.files["fleet.yaml"] = FLEET.replace("true", "false")
    world.files["clusters/edge-1/app.yaml"] = TWO
    assert "no preview has shown" in waits(world, Acts())
    world.files["README.md"] = "the next commit, from which on it holds\n"
    assert isinstance(world.run(), Done)


def test_who_approves_a_wave_has_not_approved_the_cluster_of_its_name() -> None:
    world = made()
    world.files["fleet.yaml"] = FLEET.replace(
        "{requirePreview: true}",
        "{requirePreview: true, waves: [{name: edge-1, clusters: {}, approval: manual}]}",
    )
    assert isinstance(world.run(Acts(approved_waves=frozenset({"edge-1"})), hours=1), Hold)
    assert world.standing("edge-1") is Standing.APPROVAL


def test_a_pool_that_selects_other_nodes_is_not_promised_while_nobody_sees_them() -> None:
    """A node that is labelled after the preview would move, and nobody would have said so."""
    world = passed_with_one()
    pool = {
        "machineConfigSelector": {
            "matchExpressions": [
                {
                    "key": "machineconfiguration.alauda.io/role",
                    "operator": "In",
                    "values": ["worker", "infra"],
                }
            ]
        },
        "nodeSelector": {"matchLabels": {"infra": "yes"}},
    }
    world.files["clusters/edge-1/infra.yaml"] = manifest("MachineConfigPool", "infra", pool)
    world.files["clusters/edge-1/infra-config.yaml"] = machine_config(
        "70-infra-app", "infra", infra_service=UNIT
    )
    assert isinstance(world.run(merged(world, shown_now(world))), Done)
    pool["nodeSelector"] = {"matchLabels": {"infra": "true"}}
    world.files["clusters/edge-1/infra.yaml"] = manifest("MachineConfigPool", "infra", pool)
    executor, fleet = world.executor(), world.git()
    live = dict(executor.observe(fleet, Interest(nodes=NodeReading.ALWAYS)))
    live["edge-1"] = replace(live["edge-1"], nodes=Unknown("HTTP 403", world.clock.now()))
    (found,) = preview(
        executor.with_past(fleet, executor.memory()), executor.memory(), live, world.clock.now()
    ).clusters
    assert found.plan is not None
    assert "which nodes pool infra will have is not known: HTTP 403" in found.plan.unforeseen


def test_without_the_setting_nobody_asks_for_previews() -> None:
    world = made()
    world.files["fleet.yaml"] = FLEET.replace("true", "false")
    assert isinstance(world.run(), Done)


def test_only_the_last_previews_are_remembered_and_each_once() -> None:
    world = passed_with_one()
    previews = []
    for number in range(KEPT_SHOWN + 2):
        world.files["clusters/edge-1/app.yaml"] = TWO
        world.files["clusters/edge-1/more.yaml"] = machine_config(
            "60-worker-more", files={"/etc/more": f"{number}"}
        )
        previews.append(replace(shown_now(world), by=f"the preview of pull request {20 + number}"))
        world.files["clusters/edge-1/app.yaml"] = ONE
        del world.files["clusters/edge-1/more.yaml"]
        world.run(merged(world, previews[-1]))
        world.run(merged(world, previews[-1]))
    assert world.cluster_memory("edge-1").shown == tuple(previews[-KEPT_SHOWN:])


def test_the_pushes_of_one_pull_request_push_no_other_one_out() -> None:
    shown: tuple[Shown, ...] = ()
    for number, pull in enumerate((5, *(7,) * 3 * KEPT_SHOWN)):
        each = Shown(Content(f"{number}"), NOTHING, f"the preview of pull request {pull}", DEFAULT_START)
        shown = also(shown, each)
    assert [s.content for s in shown] == ["0", f"{3 * KEPT_SHOWN}"]
