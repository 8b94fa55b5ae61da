from __future__ import annotations

import copy
from dataclasses import replace
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from gitops_mc.core.gates import (
    Counting,
    GateHopeless,
    GateNotKnown,
    GateReading,
    GateReady,
    GateUnready,
    ModuleClocks,
    Outcome,
    admits,
    judge_gate,
    judge_module,
    judge_publication,
    live_modules,
    preflight,
    read_components,
    read_module,
    read_policy,
    read_publication,
)
from gitops_mc.core.live import LiveCluster, MachineApis, objects, unread
from gitops_mc.core.model import Failed, JsonObject, Known, NotKnown, Open, Unknown, Waiting, name_of
from gitops_mc.core.policy import ModuleGatePolicy
from tests.core.gate_worlds import NOW, SINCE, conditions, known, minutes, spoiled, with_fact

POLICY = ModuleGatePolicy()
UNREAD = Unknown("HTTP 503", NOW)


def info(
    name: str = "edge-01-0a1b",
    *,
    cluster: str | None = "edge-01",
    module: str = "machine-config",
    metadata: JsonObject | None = None,
    **status: Any,
) -> JsonObject:
    labels = {"cpaas.io/module-name": module, "cpaas.io/module-type": "plugin"}
    if cluster is not None:
        labels["cpaas.io/cluster-name"] = cluster
    release = {"name": "machine-config", "ready": True, "synced": True, "failed": False}
    return {
        "metadata": {"name": name, "labels": labels, **(metadata or {})},
        "spec": {"version": "v1.2.0", "config": {}},
        "status": {
            "version": "v1.2.0",
            "phase": "Running",
            "specHash": "aa",
            "appReleases": [release],
            **status,
        },
    }


def module_config(version: str = "v1.2.0", module: str = "machine-config", **spec: Any) -> JsonObject:
    return {
        "metadata": {"name": f"{module}-{version}", "labels": {"cpaas.io/module-name": module}},
        "spec": {"name": module, "version": version, "appReleases": [{"name": "machine-config"}], **spec},
        "status": {"readyForDeploy": True},
    }


def catalog(*configs: JsonObject) -> Any:
    plugin = {"metadata": {"name": "machine-config"}}
    found = {f"ModuleConfig/{name_of(c)}": c for c in configs or (module_config(),)}
    return Known(objects({"ModulePlugin/machine-config": plugin, **found}), NOW)


def world(*infos: JsonObject, name: str = "edge-01", **facts: Any) -> LiveCluster:
    live = replace(unread(name, NOW), modules=known(*infos), catalog=catalog())
    return replace(live, **facts)


def read(live: LiveCluster, wanted: str = "v1.2.0", **more: Any) -> GateReading:
    return read_module(live, "machine-config", wanted=wanted, **more)


def reason(reading: GateReading) -> str:
    assert isinstance(reading, GateUnready), reading
    return reading.reason


# ---------------------------------------------------------------------------------------------------- module: ready


def test_a_running_module_at_its_version_with_its_releases_up_is_ready() -> None:
    found = read(world(info()))
    assert found == GateReady("module machine-config of edge-01 at v1.2.0")


SPOILED = list(
    spoiled(
        info(),
        [
            "metadata.name",
            "metadata.labels.cpaas.io/module-type",
            "spec.config",
            "status.specHash",
            "removed status.appReleases.0.failed",
            "status.appReleases.0.name",
        ],
    )
)


@pytest.mark.parametrize(("how", "body"), SPOILED)
def test_no_module_is_ready_with_one_fact_removed_or_false(how: str, body: JsonObject) -> None:
    assert not isinstance(read(world(body)), GateReady), how


@pytest.mark.parametrize("phase", ["Processing", "Failed", "SomethingNew", "", "running"])
def test_a_phase_that_is_not_running_means_not_yet(phase: str) -> None:
    assert isinstance(read(world(info(phase=phase))), GateUnready)


def test_a_module_is_found_by_its_labels_whatever_its_name() -> None:
    assert isinstance(read(world(info("edge-01-temporary-name"))), GateReady)


def test_one_that_is_being_deleted_is_looked_past() -> None:
    going = info("edge-01-temporary-name", metadata={"deletionTimestamp": SINCE})
    assert isinstance(read(world(info(), going)), GateReady)
    assert "no ModuleInfo" in reason(read(world(going)))


def test_two_live_ones_are_named_and_never_ready() -> None:
    told = reason(read(world(info("a"), info("b"))))
    assert "a, b" in told


def test_on_global_the_owner_tells_where_the_label_is_missing() -> None:
    owner = {
        "ownerReferences": [{"apiVersion": "platform.tkestack.io/v1", "kind": "Cluster", "name": "global"}]
    }
    assert isinstance(read(world(info(cluster=None, metadata=owner), name="global")), GateReady)
    assert isinstance(read(world(info(cluster=None), name="global")), GateUnready)
    assert live_modules(world(info(cluster=None, metadata=owner)), "machine-config") == ()


def test_a_live_version_that_is_newer_than_wanted_is_ready_and_an_older_one_is_not() -> None:
    assert isinstance(read(world(info()), "v1.1.9"), GateReady)
    assert "wanted is v1.3.0" in reason(read(world(info()), "v1.3.0"))
    assert "wanted is mystery" in reason(read(world(info()), "mystery"))


def test_the_version_has_to_have_arrived_in_the_status() -> None:
    assert "status.version is v1.1.0" in reason(read(world(info(version="v1.1.0"))))


def test_a_module_without_any_version_is_at_none() -> None:
    bare = {**info(version=""), "spec": {"version": ""}}
    assert "status.version is empty" in reason(read(world(bare), ""))


def test_a_change_of_config_is_done_when_the_spec_hash_has_left_its_value() -> None:
    assert "not taken up" in reason(read(world(info()), spec_hash_before="aa"))
    assert "not taken up" in reason(read(world(info(specHash="")), spec_hash_before="aa"))
    assert isinstance(read(world(info()), spec_hash_before="99"), GateReady)


def test_releases_may_be_none_only_if_the_catalog_lists_none() -> None:
    bare = info(appReleases=[])
    assert isinstance(read(world(bare)), GateUnready)
    assert isinstance(read(world(bare, catalog=catalog(module_config(appReleases=[])))), GateReady)
    assert isinstance(read(world(bare, catalog=catalog(module_config("v9.9.9")))), GateUnready)
    assert isinstance(read(world(bare, catalog=UNREAD)), GateNotKnown)


def test_a_release_that_is_not_up_is_named_with_what_the_platform_says() -> None:
    release = {"name": "mc", "ready": False, "synced": True, "failed": True, "message": "image not found"}
    told = {"metadata": {"name": "mc"}, "status": {"conditions": conditions(Health=False, Sync=True)}}
    live = world(
        info(appReleases=[release], blockReasons=["version not aligned"]),
        releases=known(told),
    )
    found = reason(read(live))
    for part in ("release mc is not ready, failed (image not found)", "version not aligned", "Health=False"):
        assert part in found
    assert "Sync" not in found


def test_what_the_platform_says_blocks_nothing_by_itself() -> None:
    assert isinstance(read(world(info(blockReasons=["upgrade risk"]))), GateReady)


def test_modules_that_were_not_read_give_no_verdict() -> None:
    assert isinstance(read(world(modules=UNREAD)), GateNotKnown)


# ---------------------------------------------------------------------------------------------------- module: time

READY, UNREADY, DARK = (
    GateReady("module x"),
    GateUnready("module x: phase is Processing", ()),
    GateNotKnown("503"),
)


def run(*looks: tuple[float, GateReading], judge: Any = judge_module, **more: Any) -> Any:
    """The last verdict of looks at the given minutes."""
    clocks, found = ModuleClocks(), None
    for at, reading in looks:
        found, clocks = judge(reading, clocks, POLICY, NOW + minutes(at), **more)
    return found


def test_a_module_has_to_look_ready_for_a_while_because_its_phase_lags() -> None:
    assert isinstance(run((0, READY)), Waiting)
    assert isinstance(run((0, READY), (0.5, READY)), Open)
    assert isinstance(run((0, READY), (0.2, UNREADY), (0.5, READY)), Waiting)
    assert isinstance(run((0, READY), (0.2, DARK), (0.5, READY)), Waiting)


def test_a_module_past_its_time_out_has_failed_by_name() -> None:
    assert isinstance(run((0, UNREADY), (29, UNREADY)), Waiting)
    found = run((0, UNREADY), (30, UNREADY))
    assert isinstance(found, Failed)
    assert "module x: phase is Processing" in found.reason


def test_time_in_which_nothing_was_known_or_counts_fails_no_module() -> None:
    dark = [(at, DARK) for at in range(1, 100)]
    assert isinstance(run((0, UNREADY), *dark), NotKnown)
    assert isinstance(run((0, UNREADY), *dark, (100, UNREADY)), Waiting)
    assert isinstance(run((0, UNREADY), *dark, (131, UNREADY)), Failed)
    stopped = [(at, UNREADY) for at in range(100)]
    assert isinstance(run(*stopped, counting=Counting.STOPPED), Waiting)


def test_a_module_that_was_open_and_closes_gets_its_whole_time_again() -> None:
    assert isinstance(run((0, READY), (1, READY), (60, UNREADY), (80, UNREADY)), Waiting)


def test_a_version_that_is_not_published_is_waited_for_and_then_failed() -> None:
    pending = read_publication(world(info()), "machine-config", "v1.3.0")
    assert isinstance(pending, GateUnready)
    assert isinstance(run((0, pending), (29, pending), judge=judge_publication), Waiting)
    found = run((0, pending), (30, pending), judge=judge_publication)
    assert isinstance(found, Failed)
    assert "version v1.3.0 of module machine-config for edge-01" in found.reason
    late = read_publication(
        world(info(), catalog=catalog(module_config("v1.3.0"))), "machine-config", "v1.3.0"
    )
    assert isinstance(run((0, pending), (29, pending), (29, late), judge=judge_publication), Open)


def test_module_clocks_survive_being_written_and_read() -> None:
    _, clocks = judge_module(UNREADY, ModuleClocks(), POLICY, NOW)
    assert msgspec.convert(msgspec.json.decode(msgspec.json.encode(clocks)), ModuleClocks) == clocks


# ------------------------------------------------------------------------------------------------------- preflight


def outcomes(live: LiveCluster, wanted: str = "v1.2.0") -> dict[str, Outcome]:
    return {check.name: check.outcome for check in preflight(live, "machine-config", wanted)}


def with_config(*infos: JsonObject, **spec: Any) -> LiveCluster:
    return world(*infos, catalog=catalog(module_config(**spec)))


def test_a_catalog_that_asks_for_nothing_is_met() -> None:
    assert outcomes(world()) == {"plugin": Outcome.MET, "published": Outcome.MET}
    assert isinstance(read_publication(world(), "machine-config", "v1.2.0"), GateReady)


def test_a_plugin_or_version_that_is_missing_or_not_ready_is_pending() -> None:
    empty = world(catalog=Known(objects({}), NOW))
    assert outcomes(empty) == {"plugin": Outcome.PENDING, "published": Outcome.PENDING}
    unready = module_config()
    unready["status"]["readyForDeploy"] = False
    assert outcomes(world(catalog=catalog(unready)))["published"] is Outcome.PENDING
    del unready["status"]
    assert outcomes(world(catalog=catalog(unready)))["published"] is Outcome.PENDING


def test_a_plugin_that_names_a_version_has_not_published_it() -> None:
    plugin = {"metadata": {"name": "machine-config"}, "spec": {"name": "machine-config", "version": "v1.2.0"}}
    live = world(catalog=Known(objects({"ModulePlugin/machine-config": plugin}), NOW))
    assert outcomes(live) == {"plugin": Outcome.MET, "published": Outcome.PENDING}


def test_a_catalog_that_was_not_read_publishes_nothing() -> None:
    assert isinstance(read_publication(world(catalog=UNREAD), "machine-config", "v1.2.0"), GateNotKnown)


IMMUTABLE = {"matchLabels": {"os": "immutable"}}


@pytest.mark.parametrize(
    ("affinity", "labels", "outcome"),
    [
        ({"clusterAffinity": IMMUTABLE}, {"os": "immutable"}, Outcome.MET),
        ({"clusterAffinity": IMMUTABLE}, {"os": "other"}, Outcome.REFUSED),
        ({"clusterAntiAffinity": IMMUTABLE}, {"os": "immutable"}, Outcome.REFUSED),
        ({"clusterAntiAffinity": IMMUTABLE}, {"os": "other"}, Outcome.MET),
        (
            {"clusterAffinity": {"matchExpressions": [{"key": "n", "operator": "Gt", "values": ["1"]}]}},
            {"n": "2"},
            Outcome.UNCHECKED,
        ),
    ],
)
def test_affinity_is_read_off_the_labels_of_the_cluster(
    affinity: JsonObject, labels: JsonObject, outcome: Outcome
) -> None:
    live = with_config(affinity=affinity)
    live = replace(live, inventory=known({"metadata": {"name": "edge-01", "labels": labels}}))
    assert outcomes(live)["affinity"] is outcome


@pytest.mark.parametrize("inventory", [UNREAD, known()])
def test_affinity_is_not_known_without_the_labels(inventory: Any) -> None:
    live = replace(with_config(affinity={"clusterAffinity": IMMUTABLE}), inventory=inventory)
    assert outcomes(live)["affinity"] is Outcome.NOT_KNOWN


def test_a_rival_that_is_installed_excludes_the_module() -> None:
    affinity = {"pluginAntiAffinity": ["os-tuner"]}
    assert "rivals" not in outcomes(with_config(info(), affinity=affinity))
    going = info("r", module="os-tuner", metadata={"deletionTimestamp": SINCE})
    assert "rivals" not in outcomes(with_config(info(), going, affinity=affinity))
    refused = read_publication(
        with_config(info(), info("r", module="os-tuner"), affinity=affinity), "machine-config", "v1.2.0"
    )
    assert isinstance(refused, GateHopeless)
    assert "os-tuner" in refused.reason


def test_a_module_that_excludes_itself_wants_no_second_instance_and_can_still_be_upgraded() -> None:
    live = with_config(info(), affinity={"pluginAntiAffinity": ["machine-config"]})
    assert "rivals" not in outcomes(live)


@pytest.mark.parametrize(
    ("live_version", "matches", "outcome"),
    [
        (None, [">=v4.0.0"], Outcome.PENDING),
        ("v4.1.0", [], Outcome.MET),
        ("v4.1.0", [">=v4.0.0"], Outcome.MET),
        ("v4.1.0", ["v3.0.0", "v4.1.0"], Outcome.MET),
        ("v3.9.0", [">=v4.0.0"], Outcome.PENDING),
        ("v3.9.0", ["*"], Outcome.MET),
        ("v3.9.0", ["some other grammar"], Outcome.UNCHECKED),
    ],
)
def test_dependencies_are_met_by_any_match(
    live_version: str | None, matches: list[str], outcome: Outcome
) -> None:
    installed = [] if live_version is None else [info("b", module="base", version=live_version)]
    live = with_config(*installed, dependencies=[{"moduleName": "base", "versionsMatch": matches}])
    assert outcomes(live)["dependencies"] is outcome


@pytest.mark.parametrize(
    ("supported", "outcome"),
    [(">=v1.1.0", Outcome.MET), (">=v1.2.1", Outcome.REFUSED), ("whatever", Outcome.UNCHECKED)],
)
def test_an_upgrade_starts_from_a_supported_version(supported: str, outcome: Outcome) -> None:
    live = world(info(), catalog=catalog(module_config("v1.3.0", supportedUpgradeVersions=supported)))
    assert outcomes(live, "v1.3.0")["upgrade"] is outcome


def test_an_installation_and_the_version_that_is_there_are_no_upgrade() -> None:
    assert "upgrade" not in outcomes(with_config(supportedUpgradeVersions=">=v9.0.0"))
    assert "upgrade" not in outcomes(with_config(info(), supportedUpgradeVersions=">=v9.0.0"))


# -------------------------------------------------------------------------------------------------------- versions


@pytest.mark.parametrize(
    ("constraint", "version", "answer"),
    [
        ("v1.2.3", "v1.2.3", True),
        ("1.2.3", "v1.2.3", True),
        (">= v1.0.0, < v2.0.0", "v1.9.9", True),
        (">=v1.0.0 <v2.0.0", "v2.0.0", False),
        ("v1.0.0 || v3.0.0", "v3.0.0", True),
        ("v1.0.0 || v3.0.0", "v2.0.0", False),
        ("!=v1.0.0", "v1.0.0", False),
        ("^v1.2.0", "v1.9.0", True),
        ("^v1.2.0", "v2.0.0", False),
        ("^v0.2.0", "v0.3.0", False),
        ("~v1.2.0", "v1.2.9", True),
        ("~v1.2.0", "v1.3.0", False),
        ("*", "v1.0.0", True),
        ("", "v1.0.0", None),
        ("v1.x", "v1.0.0", None),
        (">=3", "v3.0.0", None),
        (">=v1.0.0, <v1.0.1", "v1.0.0.1", True),
        ("about v1.0.0", "v1.0.0", None),
        (">=v1.0.0", "latest", None),
    ],
)
def test_a_constraint_admits_a_version_or_is_not_understood(
    constraint: str, version: str, answer: object
) -> None:
    assert admits(constraint, version) is answer


# ---------------------------------------------------------------------------------------------------------- policy

RESTART = [{"type": "Restart", "restart": {"serviceName": "chronyd.service"}}]
NONE = [{"type": "None"}]
WANTED = {
    "files": [{"path": "/etc/chrony.conf", "actions": RESTART}],
    "units": [{"name": "a.service", "actions": NONE}],
    "sshkey": {"actions": NONE},
}


def machine_configuration(spec: JsonObject, in_force: JsonObject, observed: int = 2) -> LiveCluster:
    body = {
        "metadata": {"name": "cluster", "generation": 2},
        "spec": {"nodeDisruptionPolicy": spec},
        "status": {
            "observedGeneration": observed,
            "nodeDisruptionPolicyStatus": {"clusterPolicies": in_force},
        },
    }
    return replace(unread("edge-01", NOW), policies=known(body))


IN_FORCE = machine_configuration(WANTED, WANTED)


def test_a_policy_is_in_force_when_every_entry_shows_in_the_status() -> None:
    assert isinstance(read_policy(IN_FORCE, WANTED), GateReady)
    default = {"path": "/etc/other", "actions": NONE}
    more = {**WANTED, "files": [default, *WANTED["files"]]}
    assert isinstance(read_policy(machine_configuration(WANTED, more), WANTED), GateReady)


def _spoiled_policies() -> list[tuple[str, JsonObject]]:
    assert isinstance(IN_FORCE.policies, Known)
    ignoring = ("metadata.name", "spec", "falsified metadata.generation")
    return list(spoiled(IN_FORCE.policies.value["cluster"], ignoring))


@pytest.mark.parametrize(("how", "body"), _spoiled_policies())
def test_no_policy_is_in_force_with_one_fact_removed_or_false(how: str, body: JsonObject) -> None:
    assert not isinstance(read_policy(replace(IN_FORCE, policies=known(body)), WANTED), GateReady), how


def test_a_policy_that_does_not_show_yet_is_named() -> None:
    told = reason(read_policy(machine_configuration(WANTED, {**WANTED, "files": []}), WANTED))
    assert "files /etc/chrony.conf does not show" in told
    assert "edge-01" in told


def test_a_policy_the_operator_has_not_looked_at_is_not_in_force() -> None:
    assert "generation 1" in reason(read_policy(machine_configuration(WANTED, WANTED, observed=1), WANTED))


def test_a_removed_policy_has_to_be_gone() -> None:
    gone = {"files": WANTED["files"]}
    rest = {key: value for key, value in WANTED.items() if key != "files"}
    assert "removed policy for files /etc/chrony.conf" in reason(
        read_policy(machine_configuration(rest, WANTED), rest, gone=gone)
    )
    assert isinstance(read_policy(machine_configuration(rest, rest), rest, gone=gone), GateReady)


def test_a_removed_policy_that_another_asks_for_or_a_default_replaces_counts_as_gone() -> None:
    gone = {"files": WANTED["files"]}
    rest = {key: value for key, value in WANTED.items() if key != "files"}
    assert isinstance(read_policy(IN_FORCE, rest, gone=gone), GateReady)
    default = {**rest, "files": [{"path": "/etc/chrony.conf", "actions": NONE}]}
    assert isinstance(read_policy(machine_configuration(rest, default), rest, gone=gone), GateReady)


def test_a_policy_object_that_is_missing_or_unread_opens_nothing() -> None:
    assert isinstance(read_policy(replace(IN_FORCE, policies=known()), WANTED), GateUnready)
    assert isinstance(read_policy(replace(IN_FORCE, policies=UNREAD), WANTED), GateNotKnown)


# ------------------------------------------------------------------------------------------------------ components

COMPONENTS: dict[str, JsonObject] = {
    "Deployment/machine-config-controller": {
        "metadata": {"generation": 3},
        "spec": {"replicas": 2},
        "status": {"observedGeneration": 3, "replicas": 2, "updatedReplicas": 2, "readyReplicas": 2},
    },
    "DaemonSet/machine-config-daemon": {
        "metadata": {"generation": 3},
        "status": {
            "observedGeneration": 3,
            "desiredNumberScheduled": 5,
            "updatedNumberScheduled": 5,
            "numberReady": 5,
        },
    },
}


def named(*names: str) -> Any:
    return known(*({"metadata": {"name": name}} for name in names))


UP = replace(
    unread("edge-01", NOW),
    machine_apis=Known(MachineApis(served=True), NOW),
    components=Known(objects(COMPONENTS), NOW),
    pools=named("master", "worker"),
    configs=named("00-master", "00-worker"),
    policies=named("cluster"),
)


def test_components_are_up_when_all_of_them_are() -> None:
    assert isinstance(read_components(UP), GateReady)


@pytest.mark.parametrize("key", sorted(COMPONENTS))
def test_no_component_is_up_with_one_fact_removed_or_false(key: str) -> None:
    spoilt = list(spoiled(COMPONENTS[key], ["falsified metadata.generation"]))
    assert len(spoilt) > 6
    for how, body in spoilt:
        live = replace(UP, components=Known(objects({**COMPONENTS, key: body}), NOW))
        assert isinstance(read_components(live), GateUnready), how


def test_a_component_that_wants_no_pods_is_not_up() -> None:
    idle = copy.deepcopy(COMPONENTS)
    idle["DaemonSet/machine-config-daemon"]["status"] = {"observedGeneration": 3, "desiredNumberScheduled": 0}
    assert "wants no pods" in reason(read_components(replace(UP, components=Known(objects(idle), NOW))))


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        ({"machine_apis": Known(MachineApis(served=False), NOW)}, "not served"),
        ({"components": Known(objects({}), NOW)}, "machine-config-daemon in cpaas-system does not exist"),
        ({"pools": named("master")}, "MachineConfigPool worker does not exist"),
        ({"configs": named("00-worker")}, "MachineConfig 00-master does not exist"),
        ({"policies": named()}, "MachineConfiguration cluster does not exist"),
    ],
)
def test_what_is_missing_of_the_operator_is_named(facts: dict[str, Any], told: str) -> None:
    assert told in reason(read_components(replace(UP, **facts)))


@pytest.mark.parametrize("fact", ["machine_apis", "components", "pools", "configs", "policies"])
def test_components_are_not_known_without_their_facts(fact: str) -> None:
    assert isinstance(read_components(with_fact(UP, fact, UNREAD)), GateNotKnown)


def test_a_gate_that_is_waited_for_fails_at_its_time_out_and_never_for_not_knowing() -> None:
    limit = timedelta(minutes=30)
    late = NOW + limit
    assert isinstance(judge_gate(UNREADY, NOW, limit, late - timedelta(seconds=1)), Waiting)
    assert isinstance(judge_gate(UNREADY, NOW, limit, late), Failed)
    assert isinstance(judge_gate(DARK, NOW, limit, late), NotKnown)
    assert isinstance(judge_gate(GateHopeless("x"), NOW, limit, NOW), Failed)
    assert isinstance(judge_gate(READY, NOW, limit, late), Open)
