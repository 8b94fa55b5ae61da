from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from gitops_mc.core.model import JsonObject
from gitops_mc.sandbox.faults import FaultId
from gitops_mc.sandbox.fleet import MACHINE_CONFIG_VERSION, module_info, simple_fleet
from gitops_mc.sandbox.moduleinfo import Publication, final_name, version_key
from tests.sandbox.platform_world import EDGE, World, config

BARE = simple_fleet(EDGE, machine_config=None)
LOGS = Publication("logcenter", "v2.0.0")
NEXT = Publication("machine-config", "v4.4.0")


def bare() -> World:
    return World(BARE)


def only(world: World, module: str = "machine-config") -> JsonObject:
    (found,) = world.modules(module)
    return found


def install(world: World, body: JsonObject | None = None) -> None:
    world.platform.apply("moduleinfoes", body or module_info(EDGE, MACHINE_CONFIG_VERSION))


def test_until_the_plugin_is_installed_its_kinds_are_not_served() -> None:
    world = bare()
    assert world.edge.get("machineconfigpools", "worker") is None
    assert world.modules() == []
    install(world)
    world.run(120)
    assert world.fleet.failures == ()
    assert world.condition("Updated") == "True"
    assert only(world)["status"]["phase"] == "Running"
    deployment = world.edge.get("deployments", "machine-config-controller") or {}
    assert deployment["status"]["availableReplicas"] == 1
    daemons = world.edge.get("daemonsets", "machine-config-daemon") or {}
    assert daemons["status"]["numberReady"] == daemons["status"]["desiredNumberScheduled"] == 3


def test_a_module_info_comes_back_under_its_final_name_with_what_the_platform_adds() -> None:
    world = bare()
    install(world)
    assert only(world)["metadata"]["name"] == "edge-machine-config-temporary"
    world.run(6)
    info = only(world)
    digest = hashlib.sha256(b"edge:machine-config:machine-config").hexdigest()[:32]
    assert info["metadata"]["name"] == f"edge-{digest}"
    assert info["metadata"]["finalizers"] == ["moduleinfo"]
    assert info["metadata"]["ownerReferences"][0]["name"] == EDGE
    assert info["metadata"]["annotations"]["cpaas.io/display-name"] == "machine-config"


def posted(world: World) -> JsonObject:
    """One that carries our label and stands under its final name from the start."""
    body = module_info(EDGE, MACHINE_CONFIG_VERSION)
    body["metadata"]["labels"]["gitops-mc.io/fleet"] = "default"
    body["metadata"]["name"] = final_name(body)
    return world.platform.apply("moduleinfoes", body)


def test_one_that_is_posted_under_its_final_name_is_taken_over_in_place() -> None:
    world = bare()
    uid = posted(world)["metadata"]["uid"]
    world.run(6)
    assert only(world)["metadata"]["uid"] == uid
    assert only(world)["metadata"]["labels"]["gitops-mc.io/fleet"] == "default"


def test_an_unkind_platform_re_creates_it_without_our_labels_and_managed_fields() -> None:
    world = bare()
    world.faults.set(FaultId.MODULE_RECREATED_WITHOUT_LABELS)
    uid = posted(world)["metadata"]["uid"]
    world.run(6)
    info = only(world)
    assert info["metadata"]["uid"] != uid
    assert "gitops-mc.io/fleet" not in info["metadata"]["labels"]
    assert info["metadata"]["labels"]["cpaas.io/module-type"] == "plugin"
    assert {m["manager"] for m in info["metadata"]["managedFields"]} == {"cluster-transformer"}


def test_defaults_are_written_into_the_config_beside_what_the_user_set() -> None:
    world = bare()
    world.faults.set(FaultId.MODULE_DEFAULTS, module="logcenter", key="replicas", value=3)
    world.faults.set(FaultId.MODULE_DEFAULTS, module="logcenter", key="ttl", value=7)
    world.fleet.publish(LOGS)
    install(world, module_info(EDGE, "v2.0.0", "logcenter", {"ttl": 30}))
    world.run(60)
    assert only(world, "logcenter")["spec"]["config"] == {"replicas": 3, "ttl": 30}


def test_a_version_that_is_not_published_waits_and_then_proceeds() -> None:
    world = bare()
    world.fleet.at(world.start + timedelta(minutes=12), lambda: world.fleet.publish(LOGS))
    install(world, module_info(EDGE, "v2.0.0", "logcenter"))
    world.run(700)
    status = only(world, "logcenter")["status"]
    assert status["phase"] == "Processing"
    assert status["blockReasons"] == ["version v2.0.0 of module logcenter is not published"]
    world.run(120)
    assert only(world, "logcenter")["status"]["phase"] == "Running"
    assert "blockReasons" not in only(world, "logcenter")["status"]


def test_an_uploaded_version_is_ready_only_after_a_while() -> None:
    world = bare()
    world.fleet.publish(LOGS, ready_at=world.start + timedelta(minutes=5))
    install(world, module_info(EDGE, "v2.0.0", "logcenter"))
    world.run(290)
    assert world.platform.get("moduleconfigs", "logcenter-v2.0.0") is not None
    assert only(world, "logcenter")["status"]["phase"] == "Processing"
    world.run(60)
    assert only(world, "logcenter")["status"]["phase"] == "Running"


def test_a_module_waits_for_those_it_depends_on() -> None:
    world = bare()
    world.fleet.publish(LOGS)
    world.fleet.publish(replace(LOGS, module="logagent", dependencies=("logcenter",)))
    install(world, module_info(EDGE, "v2.0.0", "logagent"))
    world.run(300)
    assert (
        "module logcenter, which logagent depends on" in only(world, "logagent")["status"]["blockReasons"][0]
    )
    install(world, module_info(EDGE, "v2.0.0", "logcenter"))
    world.run(120)
    assert only(world, "logagent")["status"]["phase"] == "Running"


@pytest.mark.parametrize("label", ["cpaas.io/module-type", "cpaas.io/module-name"])
def test_without_its_labels_an_installation_fails(label: str) -> None:
    world = bare()
    body = module_info(EDGE, MACHINE_CONFIG_VERSION)
    del body["metadata"]["labels"][label]
    install(world, body)
    world.run(60)
    (info,) = world.platform.list_all("moduleinfoes")
    assert info["status"]["phase"] == "Failed"
    assert label in info["status"]["blockReasons"][0]


def upgrade(world: World, **spec: Any) -> None:
    world.platform.edit("moduleinfoes", only(world)["metadata"]["name"], {"spec": spec})


def test_an_upgrade_shows_late_moves_the_spec_hash_and_keeps_pools_and_configs() -> None:
    world = World()
    world.fleet.publish(NEXT)
    world.run(10)
    assert [v["version"] for v in only(world)["status"]["availableVersions"]] == ["v4.4.0"]
    world.edge.apply("machineconfigs", config("50-worker-a", files={"/a": "1"}))
    world.run(300)
    before, pools = only(world)["status"], world.edge.list_all("machineconfigpools")
    upgrade(world, version="v4.4.0")
    world.run(2)
    assert only(world)["status"] == before
    world.run(5)
    status = only(world)["status"]
    assert (status["phase"], status["version"]) == ("Processing", MACHINE_CONFIG_VERSION)
    assert status["specHash"] != before["specHash"]
    assert not status["appReleases"][0]["ready"]
    world.run(120)
    status = only(world)["status"]
    assert (status["phase"], status["version"]) == ("Running", "v4.4.0")
    assert status["availableVersions"] == []
    assert [p["spec"] for p in world.edge.list_all("machineconfigpools")] == [p["spec"] for p in pools]
    image = (world.edge.get("deployments", "machine-config-controller") or {})["spec"]["template"]["spec"]
    assert image["containers"][0]["image"].endswith(":v4.4.0")


def test_a_config_change_alone_moves_the_spec_hash() -> None:
    world = World()
    before = only(world)["status"]
    upgrade(world, config={"debug": True})
    world.run(60)
    after = only(world)["status"]
    assert after["specHash"] != before["specHash"]
    assert (after["phase"], after["version"]) == ("Running", before["version"])


@pytest.mark.parametrize(
    ("path", "files"), [("", {}), ("/etc/mcd-version", {"/etc/mcd-version": b"upgrade 1"})]
)
def test_an_upgrade_that_rolls_every_pool(path: str, files: dict[str, bytes]) -> None:
    world = World()
    world.fleet.publish(NEXT)
    world.faults.set(FaultId.UPGRADE_ROLLS_POOLS, cluster=EDGE, path=path)
    names = {p: world.pool(p)["spec"]["configuration"]["name"] for p in ("master", "worker")}
    upgrade(world, version="v4.4.0")
    world.run(300)
    for pool, name in names.items():
        assert world.pool(pool)["status"]["configuration"]["name"] != name
    for node in ("edge-m1", "edge-w1"):
        assert len(world.fleet.node_log(EDGE, node).updates) == 1
        assert world.fleet.machine(EDGE, node).files == files


def test_the_phase_lags() -> None:
    world = World()
    world.fleet.publish(NEXT)
    world.faults.set(FaultId.PHASE_LAG, seconds=15)
    upgrade(world, version="v4.4.0")
    world.run(10)
    status = only(world)["status"]
    assert (status["phase"], status["appReleases"][0]["ready"]) == ("Running", False)
    world.run(11)
    assert only(world)["status"]["phase"] == "Processing"
    world.run(60)
    assert only(world)["status"]["phase"] == "Running"


def health(world: World) -> str:
    release = world.edge.get("appreleases", "machine-config") or {}
    return str(next(c["status"] for c in release["status"]["conditions"] if c["type"] == "Health"))


def test_a_stuck_release_stays_in_progress_until_it_is_mended() -> None:
    world = bare()
    stuck = world.faults.set(FaultId.MODULE_STUCK)
    install(world)
    world.run(3600)
    assert only(world)["status"]["phase"] == "Processing"
    assert health(world) == "False"
    world.faults.clear(stuck)
    world.run(30)
    assert only(world)["status"]["phase"] == "Running"
    assert health(world) == "True"


def test_a_dark_cluster_is_installed_when_it_is_back() -> None:
    world = bare()
    dark = world.faults.set(FaultId.GATEWAY_GONE, cluster=EDGE)
    install(world)
    world.run(300)
    assert only(world)["status"]["blockReasons"] == ["cluster edge is unreachable"]
    world.faults.clear(dark)
    world.run(120)
    assert only(world)["status"]["phase"] == "Running"


def test_an_uninstallation_hangs_on_its_finalizer_while_the_cluster_is_dark() -> None:
    world = World()
    dark = world.faults.set(FaultId.GATEWAY_GONE, cluster=EDGE)
    world.platform.delete("moduleinfoes", only(world)["metadata"]["name"])
    world.run(600)
    assert "deletionTimestamp" in only(world)["metadata"]
    world.faults.clear(dark)
    world.run(60)
    assert world.modules() == []
    assert world.edge.get("deployments", "machine-config-controller") is None
    world.edge.apply("machineconfigs", config("50-worker-a", units={"a.service": "x"}))
    world.run(600)
    assert world.fleet.node_log(EDGE, "edge-w1").reboots == 0


def test_the_inventory_lists_every_cluster_and_marks_the_global_one() -> None:
    spec = replace(BARE, clusters=(replace(BARE.clusters[0], labels={"env": "canary"}),))
    world = World(spec)
    found = {c["metadata"]["name"]: c for c in world.platform.list_all("clusters")}
    assert {name: c["status"]["phase"] for name, c in found.items()} == {
        "edge": "Running",
        "global": "Running",
    }
    world.fleet.set_phase(EDGE, "Failed")
    assert (world.platform.get("clusters", EDGE) or {})["status"]["phase"] == "Failed"
    assert found["global"]["metadata"]["labels"]["is-global"] == "true"
    assert found["edge"]["metadata"]["labels"]["env"] == "canary"


def test_versions_are_ordered_by_their_numbers() -> None:
    versions = ["v4.10.0", "v4.2.9", "v4.2.10", "v4.2.9-beta.1"]
    assert max(versions, key=version_key) == "v4.10.0"
    assert version_key("v4.2.10") > version_key("v4.2.9")
