"""What of a cluster is somebody's, and what is the operator's, the platform's or another tool's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gitops_mc.core.authoring.choosing import Choice, choose
from gitops_mc.core.authoring.importing import Secrets
from gitops_mc.core.authoring.secrets import secrets_in
from gitops_mc.core.live import LiveCluster, objects
from gitops_mc.core.model import JsonObject, Kind, Known, ResourceKey
from gitops_mc.core.policy import Sensitive
from gitops_mc.sandbox.operator.components import initial_objects
from tests.core.alarm import at_most
from tests.core.diff_world import CLUSTER, NOW, World, module, policy, pool
from tests.core.import_world import OPERATOR, Site, as_read
from tests.core.machine_configs import file, machine_config

POOL, POLICY, CONFIG = Kind.MACHINE_CONFIG_POOL, Kind.MACHINE_CONFIGURATION, Kind.MACHINE_CONFIG


@pytest.fixture
def world() -> World:
    found = World()
    for _, body in initial_objects():
        found.create(body, manager=OPERATOR)
    for name in ("master", "worker"):
        found.merge_patch(
            POOL, name, {"spec": {"configuration": {"name": f"rendered-{name}-1"}}}, manager=OPERATOR
        )
    found.create(machine_config("rendered-worker-1"), manager=OPERATOR)
    return found


def picked(world: World) -> dict[str, JsonObject]:
    return {one.key.name: one.body for one in chosen(as_read(world)).picked}


def chosen(live: LiveCluster) -> Choice:
    return choose(live, frozenset(), "default")


def test_of_a_cluster_as_it_was_shipped_nothing_is_taken_and_nothing_is_said(world: World) -> None:
    assert chosen(as_read(world)) == Choice((), ())


def test_of_a_built_in_pool_only_what_somebody_set(world: World) -> None:
    world.merge_patch(POOL, "worker", {"spec": {"maxUnavailable": "25%"}})
    assert picked(world)["worker"] == {
        "apiVersion": POOL.api_version,
        "kind": "MachineConfigPool",
        "metadata": {"name": "worker"},
        "spec": {"maxUnavailable": "25%"},
    }


def test_what_somebody_set_to_what_is_shipped_is_no_customization(world: World) -> None:
    world.merge_patch(POOL, "worker", {"spec": {"maxUnavailable": 2}})
    world.merge_patch(POOL, "worker", {"spec": {"maxUnavailable": 1}})
    assert picked(world) == {}


def test_a_built_in_pool_that_was_applied_whole_keeps_its_selectors_to_the_operator(world: World) -> None:
    whole = world.get(POOL, "worker")
    spec = {name: value for name, value in whole["spec"].items() if name not in ("configuration", "paused")}
    body = {**whole, "metadata": {"name": "worker"}, "spec": {**spec, "maxUnavailable": 3}}
    body.pop("status", None)
    world.apply(body, manager="kubectl", force="true")
    assert picked(world)["worker"]["spec"] == {"maxUnavailable": 3}


def test_a_pause_is_a_moment_and_no_configuration(world: World) -> None:
    world.merge_patch(POOL, "worker", {"spec": {"paused": True}})
    found = chosen(as_read(world))
    assert found.picked == ()
    assert [left.reason for left in found.left_out] == [
        "the pool is paused, which was not imported: let it run again before the first rollout"
    ]


def test_a_custom_pool_is_taken_without_what_the_operator_writes_into_it(world: World) -> None:
    world.create(pool("infra", maxUnavailable=2))
    world.merge_patch(
        POOL, "infra", {"spec": {"configuration": {"name": "rendered-infra-1"}}}, manager=OPERATOR
    )
    assert set(picked(world)["infra"]["spec"]) == {"machineConfigSelector", "nodeSelector", "maxUnavailable"}


def test_of_the_policy_only_entries_that_somebody_added(world: World) -> None:
    world.apply(
        policy("/etc/b", "/etc/a", sshkey={"actions": [{"type": "None"}]}), manager="ansible", force="true"
    )
    assert picked(world)["cluster"]["spec"] == {
        "nodeDisruptionPolicy": {
            "files": [
                {"path": "/etc/b", "actions": [{"type": "None"}]},
                {"path": "/etc/a", "actions": [{"type": "None"}]},
            ]
        }
    }


def test_where_nothing_says_who_owns_what_all_but_the_shipped_values_is_somebodys(world: World) -> None:
    world.merge_patch(POOL, "worker", {"spec": {"maxUnavailable": 2}})
    live = as_read(world)
    bare = replace(live, pools=_without_owners(live.pools), policies=_without_owners(live.policies))
    assert {one.key.name: one.body["spec"] for one in chosen(bare).picked} == {
        "worker": {"maxUnavailable": 2}
    }


def _without_owners(fact: Any) -> Known[Any]:
    bodies = {
        name: {**body, "metadata": {k: v for k, v in body["metadata"].items() if k != "managedFields"}}
        for name, body in fact.value.items()
    }
    return Known(objects(bodies), NOW)


def test_marks_of_other_tools_and_our_own_stay_out_and_those_of_people_come_along(world: World) -> None:
    body = machine_config("50-worker-a")
    body["metadata"]["annotations"] = {
        "argocd.argoproj.io/tracking-id": "a:b/c",
        "kubectl.kubernetes.io/last-applied-configuration": "{}",
        "gitops-mc.io/applied": "0" * 64,
        "ticket": "OPS-7",
    }
    body["metadata"]["labels"]["gitops-mc.io/fleet"] = "default"
    world.create(body)
    meta = picked(world)["50-worker-a"]["metadata"]
    assert meta["annotations"] == {"ticket": "OPS-7"}
    assert set(meta["labels"]) == {"machineconfiguration.alauda.io/role"}


# ----------------------------------------------------------------------------------------------------- modules


def test_of_a_module_only_what_is_no_published_default(world: World) -> None:
    config = {"size": "large", "nested": {"a": 1, "b": 2}, "more": True}
    world.create(module("logcenter", "v4.1.0", config=config))
    assert picked(world)["logcenter"]["spec"] == {
        "version": "v4.1.0",
        "config": {"nested": {"b": 2}, "more": True},
    }


def test_a_module_of_which_no_defaults_are_known_is_taken_whole_and_that_is_said(world: World) -> None:
    world.create(module("logcenter", "v9.9.9", config={"size": "large"}))
    (one,) = chosen(as_read(world)).picked
    assert one.body["spec"]["config"] == {"size": "large"}
    assert "nobody says which values" in one.notes[0]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"labels": {"cpaas.io/lifecycle-type": "Core"}}, "life cycle Core"),
        ({"labels": {"cpaas.io/lifecycle-type": "core"}}, "life cycle Core"),
        ({"annotations": {"create-by": "cluster-transformer"}}, "ClusterPluginInstance"),
        ({"labels": {"gitops-mc.io/fleet": "other"}}, "another fleet governs it"),
        ({"deletionTimestamp": "2026-03-01T00:00:00Z"}, "being deleted"),
    ],
)
def test_modules_that_are_not_ours_to_keep_are_left_out(world: World, change: JsonObject, told: str) -> None:
    world.create(module("logcenter"))
    live = as_read(world)
    assert isinstance(live.modules, Known)
    bodies = {}
    for name, body in live.modules.value.items():
        meta = {**body["metadata"], **change}
        meta["labels"] = {**body["metadata"]["labels"], **change.get("labels", {})}
        bodies[name] = {**body, "metadata": meta}
    (left,) = chosen(replace(live, modules=Known(objects(bodies), NOW))).left_out
    assert told in left.reason


def test_a_module_that_stands_there_twice_is_left_out_with_both_names(world: World) -> None:
    world.create(module("logcenter"))
    second = module("logcenter")
    second["metadata"]["name"] = "another"
    world.create(second)
    (left,) = chosen(as_read(world)).left_out
    assert "2 times (another, edge-01-logcenter)" in left.reason


# ----------------------------------------------------------------------------------------------------- secrets

KEY = ResourceKey(CLUSTER, CONFIG, "50-worker-a")


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("/etc/kubernetes/pki/ca.key", "data:,x"),
        ("/root/.docker/config.json", "data:,{}"),
        ("/etc/app/a.conf", "data:,-----BEGIN%20RSA%20PRIVATE%20KEY-----"),
        ("/etc/app/a.conf", "data:,db_password%20%3D%20hunter22"),
        ("/etc/app/a.conf", "data:,url%3Dhttps%3A%2F%2Fme%3Ahunter22%40host%2F"),
        ("/etc/app/a.json", 'data:,{"auths":{}}'),
        (
            "/etc/app/a.conf",
            "data:,app.db-client_secret_key%20%20%20%20%20%20%20%20%20%20%20:%20%22hunter22%22",
        ),
        ("/etc/app/a.conf", "data:,wide%20x.git+https://me:hunter22@host/"),
        ("/etc/kubernetes/a/b.conf", "data:,x"),
        ("/srv/my-Token.d", "data:,x"),
    ],
)
def test_files_that_look_like_secrets_are_named_and_never_shown(path: str, source: str) -> None:
    body = machine_config(KEY.name, files=[file(path, source)])
    (secret,) = secrets_in(KEY, body, Sensitive())
    assert (secret.place, secret.pattern) == (f"file {path}", path)
    assert "hunter22" not in secret.why


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("/srv/secrets.d/plain", "data:,x"),
        ("/etc/chrony.conf", "data:,server%20ntp-1.example.com%20iburst"),
        ("/etc/passwd", "data:,root:x:0:0"),
        ("/etc/ssh/ssh_host_rsa_key.pub", "data:,ssh-rsa%20AAAA"),
        ("/etc/app/a.conf", "data:,PasswordAuthentication%20no"),
    ],
)
def test_plain_configuration_is_no_secret(path: str, source: str) -> None:
    assert secrets_in(KEY, machine_config(KEY.name, files=[file(path, source)]), Sensitive()) == ()


@pytest.mark.parametrize(
    "word", ["a", "secret", "password=", "a.", "a://", "/etc/kubernetes/", "token ", "-"]
)
def test_a_long_word_in_a_file_its_path_or_a_unit_stops_no_import(word: str) -> None:
    long = word * (100_000 // len(word))
    body = machine_config(KEY.name, files=[file("/etc/a", f"data:,{long}"), file(f"/{long}/x", "data:,x")])
    body["spec"]["config"]["systemd"] = {"units": [{"name": "a.service", "contents": long}]}
    body["spec"]["kernelArguments"] = [long]
    with at_most(20):
        secrets_in(KEY, body, Sensitive())


def test_what_fleet_yaml_marks_is_a_secret_whatever_it_looks_like() -> None:
    body = machine_config(KEY.name, files=[file("/etc/plain", "data:,x")], kernel_arguments=["quiet"])
    marked = Sensitive(paths=("/etc/plain",), kernel_arguments=True)
    assert [secret.place for secret in secrets_in(KEY, body, marked)] == [
        "file /etc/plain",
        "kernelArguments",
    ]


def test_values_of_a_modules_configuration_are_named_by_their_pointer() -> None:
    key = ResourceKey(CLUSTER, Kind.MODULE_INFO, "logcenter")
    body = module(config={"es": {"password": "hunter22"}, "size": "large", "a/b": [{"token": "hunter22"}]})
    assert [secret.pattern for secret in secrets_in(key, body, Sensitive())] == [
        "module:logcenter:/es/password",
        "module:logcenter:/a~1b/0/token",
    ]


def test_objects_with_secrets_stay_out_where_that_is_asked_for(world: World) -> None:
    world.create(machine_config("50-worker-a", files=[file("/etc/app/token", "data:,hunter22")]))
    world.create(machine_config("50-worker-b", files=[file("/etc/chrony.conf", "data:,x")]))
    _, written = Site().bring(as_read(world))
    assert [secret.place for secret in written.secrets] == ["file /etc/app/token"]
    assert [f.private for f in written.files if f.path.endswith("/token")] == [True]
    _, kept_out = Site().bring(as_read(world), Secrets.LEAVE_OUT)
    assert {key.name for key in kept_out.keys} == {"50-worker-b"}
    assert kept_out.secrets == ()
    assert "it may hold a secret: file /etc/app/token" in {left.reason for left in kept_out.left_out}
