"""What the diff sends for the machine kinds, and what encodings and input do to it."""

from __future__ import annotations

import base64

import pytest

from gitops_mc.core.diff import (
    Adopt,
    Create,
    Touch,
    Update,
    applied_digest,
)
from gitops_mc.core.model import (
    APPLIED_ANNOTATION,
    FLEET_LABEL,
    Kind,
)
from tests.core.diff_world import (
    FLEET,
    NAME,
    RefusedError,
    World,
    chrony,
    key,
    policy,
    pool,
)
from tests.core.machine_configs import file, machine_config

CONFIG, POOL, POLICY = Kind.MACHINE_CONFIG, Kind.MACHINE_CONFIG_POOL, Kind.MACHINE_CONFIGURATION


@pytest.fixture
def world() -> World:
    return World()


# ------------------------------------------------------------------------------------------------- what is sent


def test_an_object_that_is_not_there_is_created_with_our_marks(world: World) -> None:
    (change,) = world.diff(chrony()).changes
    assert isinstance(change, Create)
    assert change.body["metadata"]["labels"][FLEET_LABEL] == FLEET
    assert change.body["metadata"]["annotations"] == {APPLIED_ANNOTATION: change.digest}
    assert change.touch is Touch.PURE_ADDITION


def test_paused_is_left_out_of_every_apply(world: World) -> None:
    (change,) = world.diff(pool(paused=True)).changes
    assert isinstance(change, Create)
    assert "paused" not in change.body["spec"]


def test_an_empty_spec_is_sent_as_it_is_written_and_is_unchanged_then(world: World) -> None:
    empty = {**policy(), "spec": {}}
    (change,) = world.roll(empty).changes
    assert isinstance(change, Create)
    assert change.body["spec"] == {}
    assert world.diff(empty).unchanged == (key(POLICY, "cluster"),)


def test_what_was_applied_is_unchanged_and_nothing_more_is_said(world: World) -> None:
    bodies = (chrony(), pool(paused=False), policy("/etc/chrony.conf"))
    assert len(world.roll(*bodies).changes) == 3
    found = world.diff(*bodies)
    assert [*found.changes, *found.drifts, *found.orphans, *found.refusals] == []
    assert found.unchanged == (key(POLICY, "cluster"), key(POOL, "infra"), key(CONFIG, NAME))


def test_an_update_carries_the_uid_and_resource_version_it_was_decided_on(world: World) -> None:
    world.roll(chrony())
    (change,) = world.diff(chrony("data:,server%20b")).changes
    world.merge_patch(CONFIG, NAME, {"metadata": {"labels": {"x": "y"}}})
    assert isinstance(change, Update)
    with pytest.raises(RefusedError, match="409"):
        world.apply(change.body)


def test_the_entry_that_changes_is_named_with_both_values(world: World) -> None:
    world.roll(chrony())
    (change,) = world.diff(chrony("data:,server%20b", "nosmt")).changes
    assert isinstance(change, Update)
    assert [(f.path, f.before, f.after) for f in change.fields] == [
        (
            "spec.config.storage.files[/etc/chrony.conf]",
            file("/etc/chrony.conf", "data:,server%20a"),
            file("/etc/chrony.conf", "data:,server%20b"),
        ),
        ("spec.kernelArguments", [], ["nosmt"]),
    ]


# ---------------------------------------------------------------------------------------------------- encodings


def test_the_same_bytes_in_another_encoding_are_no_change(world: World) -> None:
    world.roll(chrony("data:,server%20a"))
    again = base64.b64encode(b"server a").decode()
    assert world.diff(chrony(f"data:text/plain;base64,{again}")).changes == ()


def test_an_object_made_by_kubectl_in_another_encoding_is_adopted_with_its_bytes(world: World) -> None:
    made = chrony(f"data:;base64,{base64.b64encode(b'server a').decode()}")
    made["spec"]["config"]["storage"]["files"][0]["overwrite"] = True
    world.create(made)
    before = world.get(CONFIG, NAME)["spec"]
    (change,) = world.roll(chrony("data:,server%20a")).changes
    assert isinstance(change, Adopt)
    assert world.get(CONFIG, NAME)["spec"] == before
    assert world.diff(chrony("data:,server%20a")).unchanged == (key(CONFIG, NAME),)


def test_an_entry_beside_a_changed_one_keeps_its_live_bytes(world: World) -> None:
    world.roll(machine_config(NAME, files=[file("/a", "data:,x"), file("/b", "data:;base64,eA==")]))
    (change,) = world.roll(machine_config(NAME, files=[file("/a", "data:,y"), file("/b", "data:,x")])).changes
    assert isinstance(change, Update)
    assert [f.path for f in change.fields] == ["spec.config.storage.files[/a]"]
    assert world.get(CONFIG, NAME)["spec"]["config"]["storage"]["files"][1] == file("/b", "data:;base64,eA==")


def test_the_digest_of_a_manifest_never_moves() -> None:
    """It stands on objects in clusters: another value for the same manifest would have each of them written again."""
    body = chrony("data:,server%20a", "nosmt")
    body["spec"]["config"]["systemd"] = {
        "units": [{"name": "a.service", "enabled": True, "contents": "[Unit]"}]
    }
    assert applied_digest(CONFIG, NAME, body) == (
        "dc14d48e9b1195cae5f7427991d7fd7539db53b8b1cf1366b14c89233e32c57b"
    )
    assert applied_digest(POOL, "infra", pool(maxUnavailable="10%", paused=True)) == (
        "68741cc9c1aa440c30bda5c561aba53f8087a11156fbccaf75e6fe3cb972dc6d"
    )
    assert applied_digest(POLICY, "cluster", policy("/etc/a", units=["b.service"])) == (
        "c07a6a043b61f406eebec6121e34e7301dd6a35faaf32f620146efd49d2f6ceb"
    )
