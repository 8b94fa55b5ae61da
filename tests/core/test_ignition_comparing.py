from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitops_mc.core.ignition import (
    KERNEL_ARGUMENTS,
    ChangeKind,
    Effective,
    Entry,
    EntryKind,
    MergeOrder,
    MismatchKind,
    compare,
    effective_of,
    encode_source,
    entries_changed,
    fitting_orders,
    merge,
    with_operator_files,
)
from gitops_mc.core.model import JsonObject
from tests.core.machine_configs import as_rendered, file, machine_config

WORLDS = json.loads((Path(__file__).parents[1] / "data/gate-worlds.json").read_text())
BOTH = frozenset(MergeOrder)


def effective(**parts: Any) -> Effective:
    return effective_of(machine_config(**parts))


def sentences(merged: Effective, rendered: Effective, *operator_files: str) -> list[str]:
    return [str(mismatch) for mismatch in compare(merged, rendered, operator_files=operator_files)]


# ------------------------------------------------------------------------------------------------------ worlds of a pool


def body_of(simple: JsonObject) -> JsonObject:
    """A config of the worlds' short form as a body."""
    files = [
        {"path": path, **{key: value for key, value in fields.items() if key != "src"}, "contents": {"source": f"data:,{fields['src']}"}}
        for path, fields in simple["files"].items()
    ]  # fmt: skip
    return machine_config(
        simple["name"],
        simple.get("role", ""),
        files=files,
        units=[{"name": name, **fields} for name, fields in simple["units"].items()],
        ssh_keys={"boot": simple["bootSshKeys"]},
        kernel_arguments=simple["kernelArguments"],
    )


UNEQUAL = {
    "STALE-TRUE after create of a config": [
        "file /etc/sysctl (from 60-worker-sysctl) is not in the rendered config"
    ],
    "STALE-TRUE after update, same names": [
        "file /etc/chrony (from 50-worker-chrony) differs from the rendered config in contents.source"
    ],
    "STALE-TRUE after update that only removes a unit": [
        "unit chronyd is in the rendered config and in none of the selected configs"
    ],
    "STALE-TRUE after update that only removes a karg": [
        "kernel argument a is in the rendered config and in none of the selected configs"
    ],
    "STALE-TRUE after update that drops a field (mode)": [
        "file /etc/chrony (from 50-worker-chrony) differs from the rendered config in mode"
    ],
    "STALE-TRUE after karg order change": ["kernelArguments differs from the rendered config in order"],
    "STALE-TRUE after deletion": [
        "file /etc/sysctl is in the rendered config and in none of the selected configs"
    ],
}
ONE_ORDER = {
    "same, order role-first everywhere": frozenset({MergeOrder.ROLE_FIRST}),
    "same, order alphabetical": frozenset({MergeOrder.ALPHABETICAL}),
}
READABLE = [world for world in WORLDS if world["rendered"] is not None]


@pytest.mark.parametrize("world", READABLE, ids=[world["world"] for world in READABLE])
def test_in_every_world_the_rendered_config_is_told_from_a_stale_one(world: JsonObject) -> None:
    name = world["world"]
    operator_files = ("/etc/kubelet",) if "appends its own file" in name else ()
    configs = [body_of(config) for config in world["liveConfigs"]]
    rendered = effective_of(body_of(world["rendered"]))
    orders = fitting_orders(configs, rendered, operator_files=operator_files)
    assert orders == (frozenset() if name in UNEQUAL else ONE_ORDER.get(name, BOTH))
    if name in UNEQUAL:
        assert sentences(merge(configs, MergeOrder.ALPHABETICAL), rendered) == UNEQUAL[name]
        assert world["verdict"] == "waiting"


def test_the_worlds_named_here_exist() -> None:
    assert {world["world"] for world in WORLDS} >= UNEQUAL.keys() | ONE_ORDER.keys()
    assert not [
        w["world"] for w in WORLDS if w["world"].startswith("STALE-TRUE") and w["world"] not in UNEQUAL
    ]


# --------------------------------------------------------------------------------------------------------- equal and not


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ({"files": [file("/x", "data:,hi")]}, {"files": [file("/x", "data:;base64,aGk=", overwrite=True)]}),
        ({"files": [file("/x", "data:,hi")]}, {"files": [file("/x", "data:,hi", compression="")]}),
        ({"files": [file("/x", "data:,hi", compression="gzip")]}, {"files": [file("/x", "data:,hi", compression="gzip")]}),
        ({"files": [file("/x")]}, {"files": [file("/x", user={"id": None}, group={}, append=[], contents={"verification": {}})]}),
        ({"files": [file("/x"), file("/y")]}, {"files": [file("/y"), file("/x")]}),
        ({"units": [{"name": "u", "enabled": True}]}, {"units": [{"name": "u", "enabled": True, "contents": "", "dropins": []}]}),
        ({"ssh_keys": {"boot": ["a", "b"]}}, {"ssh_keys": {"boot": ["b", "a"]}}),
        ({}, {"ssh_keys": {"boot": []}, "storage": {"directories": None}, "ignition": {"version": "3.5.0", "config": {}}}),
    ],
)  # fmt: skip
def test_what_the_operator_does_to_every_config_is_no_difference(ours: Any, theirs: Any) -> None:
    assert sentences(effective(**ours), effective(**theirs)) == []
    assert sentences(effective(**theirs), effective(**ours)) == []


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        ({"files": [file("/x", "data:,hi")]}, {"files": [file("/x", "data:,ho")]}, "differs from the rendered config in contents.source"),
        ({"files": [file("/x")]}, {"files": [file("/x", "data:,")]}, "in contents.source"),
        ({"files": [file("/x", mode=0)]}, {"files": [file("/x")]}, "in mode"),
        ({"files": [file("/x", mode=1)]}, {"files": [file("/x", mode=True)]}, "in mode"),
        ({"files": [file("/x", overwrite=False)]}, {"files": [file("/x")]}, "in overwrite"),
        ({"files": [file("/x", user={"id": 0})]}, {"files": [file("/x", user={"name": "root"})]}, "in user.id, user.name"),
        ({"files": [file("/x", "data:,%", mode=1)]}, {"files": [file("/x", "data:,%%", mode=1)]}, "in contents.source"),
        ({"files": [file("/x", "s3://a/b")]}, {"files": [file("/x", "s3://a/c")]}, "in contents.source"),
        ({"units": [{"name": "u", "enabled": False}]}, {"units": [{"name": "u"}]}, "in enabled"),
        ({"units": [{"name": "u"}]}, {}, "unit u (from 50-worker-test) is not in the rendered config"),
        ({"units": [{"name": "u", "dropins": [{"name": "d"}]}]}, {"units": [{"name": "u"}]}, "drop-in d of unit u"),
        ({}, {"storage": {"links": [{"path": "/l"}]}}, "section storage.links is in the rendered config"),
        ({"kernel_arguments": ["a", "a"]}, {"kernel_arguments": ["a"]}, "kernel argument a (from 50-worker-test) is not"),
        ({"ssh_keys": {"boot": ["k"]}}, {"ssh_keys": {"core": ["k"]}}, "of user boot"),
    ],
)  # fmt: skip
def test_any_other_difference_is_seen_both_ways(ours: Any, theirs: Any, expected: str) -> None:
    forth = sentences(effective(**ours), effective(**theirs))
    assert expected in forth[0]
    assert len(sentences(effective(**theirs), effective(**ours))) == len(forth)


def test_gzip_is_compared_unpacked() -> None:
    zipped = encode_source(bytes.fromhex("1f8b08000000000000ffcbc80400ac2a93d802000000"))
    assert (
        sentences(
            effective(files=[file("/x", zipped, compression="gzip")]),
            effective(files=[file("/x", "data:,hi")]),
        )
        == []
    )


def test_a_mismatch_never_shows_content() -> None:
    secret = machine_config(
        files=[file("/x", "data:,hunter2")],
        units=[{"name": "u", "contents": "hunter2"}],
        ssh_keys={"boot": ["ssh-rsa hunter2"]},
        kernel_arguments=["password=hunter2"],
    )
    other = machine_config(files=[file("/x", "data:,x")], units=[{"name": "u", "contents": "x"}])
    for one, two in ((secret, other), (other, secret)):
        found = sentences(effective_of(one), effective_of(two))
        assert len(found) == 4
        assert "hunter2" not in "".join(found)


def test_operator_files_excuse_surplus_and_never_a_difference() -> None:
    merged = effective(files=[file("/etc/kubernetes/kubelet.conf", "data:,ours")])
    rendered = effective(
        files=[
            file("/etc/kubernetes/kubelet.conf", "data:,theirs"),
            file("/etc/kubernetes/pki/ca.crt", "data:,ca"),
            file("/etc/other", "data:,x"),
        ],
        units=[{"name": "/etc/kubernetes/unit"}],
    )
    found = compare(merged, rendered, operator_files=["/etc/kubernetes/**"])
    assert [(m.kind, m.entry.kind, m.entry.name) for m in found] == [
        (MismatchKind.DIFFERENT, EntryKind.FILE, "/etc/kubernetes/kubelet.conf"),
        (MismatchKind.SURPLUS, EntryKind.FILE, "/etc/other"),
        (MismatchKind.SURPLUS, EntryKind.UNIT, "/etc/kubernetes/unit"),
    ]


def test_a_forecast_keeps_the_operators_own_files() -> None:
    merged = effective(files=[file("/etc/b", "data:,2")])
    rendered = effective(files=[file("/etc/kubelet", "data:,k"), file("/etc/a", "data:,1")])
    forecast = with_operator_files(merged, rendered, ["/etc/kubelet"])
    assert [str(change) for change in entries_changed(rendered, forecast)] == [
        "file /etc/a removed",
        "file /etc/b added",
    ]
    assert list(forecast.entries) == sorted(forecast.entries)


# ------------------------------------------------------------------------------------------------------- as it is written


def test_another_encoding_of_the_same_bytes_is_a_change_as_written() -> None:
    before = effective(files=[file("/x", "data:,hi"), file("/y", "data:,y")])
    after = effective(
        files=[file("/x", "data:;base64,aGk="), file("/y", "data:,y", overwrite=True, mode=None)]
    )
    assert compare(before, after) == ()
    (change,) = entries_changed(before, after)
    assert (str(change), change.fields) == ("file /x changed", ("contents.source",))
    emptied = effective(files=[file("/x", "data:,hi", compression=""), file("/y", "data:,y")])
    assert compare(before, emptied) == ()
    assert [change.fields for change in entries_changed(before, emptied)] == [("contents.compression",)]


def test_changes_are_told_by_entry_in_order() -> None:
    before = effective(
        files=[file("/a"), file("/b", mode=1)],
        units=[{"name": "u", "dropins": [{"name": "d", "contents": "1"}]}],
        ssh_keys={"boot": ["k1", "k2"]},
        kernel_arguments=["x=1", "y"],
        storage={"links": [1]},
    )
    after = effective(
        files=[file("/b", mode=2), file("/c")],
        units=[{"name": "u", "dropins": [{"name": "d", "contents": "2"}]}, {"name": "v"}],
        ssh_keys={"boot": ["k2", "k3"]},
        kernel_arguments=["y", "x=2"],
        storage={"links": [2]},
    )
    changes = [(c.entry.kind, c.entry.name, c.entry.part, c.change) for c in entries_changed(before, after)]
    assert changes == [
        (EntryKind.FILE, "/a", "", ChangeKind.REMOVED),
        (EntryKind.FILE, "/b", "", ChangeKind.CHANGED),
        (EntryKind.FILE, "/c", "", ChangeKind.ADDED),
        (EntryKind.UNIT, "v", "", ChangeKind.ADDED),
        (EntryKind.DROPIN, "u", "d", ChangeKind.CHANGED),
        (EntryKind.SSH_KEY, "boot", "k1", ChangeKind.REMOVED),
        (EntryKind.SSH_KEY, "boot", "k3", ChangeKind.ADDED),
        (EntryKind.OTHER, "storage.links", "", ChangeKind.CHANGED),
        (EntryKind.KERNEL_ARGUMENT, "x=1", "", ChangeKind.REMOVED),
        (EntryKind.KERNEL_ARGUMENT, "x=2", "", ChangeKind.ADDED),
    ]


def test_order_alone_is_a_change_of_keys_and_of_kernel_arguments_and_not_of_files() -> None:
    before = effective(
        files=[file("/a"), file("/b")], ssh_keys={"boot": ["1", "2"]}, kernel_arguments=["a", "b"]
    )
    after = effective(
        files=[file("/b"), file("/a")], ssh_keys={"boot": ["2", "1"]}, kernel_arguments=["b", "a"]
    )
    assert [change.entry for change in entries_changed(before, after)] == [
        Entry(EntryKind.SSH_KEYS, "boot"),
        KERNEL_ARGUMENTS,
    ]


# ----------------------------------------------------------------------------------------------------------- properties

contents = st.sampled_from(["data:,1", "data:;base64,MQ==", "data:,2", "https://x", None])
some_files = st.lists(
    st.builds(file, st.sampled_from(["/a", "/b"]), contents, mode=st.sampled_from([1, 2])),
    max_size=2,
    unique_by=lambda f: str(f["path"]),
)
bodies = st.builds(
    machine_config,
    files=some_files,
    units=st.lists(st.fixed_dictionaries({"name": st.sampled_from(["u"])}, optional={"enabled": st.booleans()}), max_size=1),
    ssh_keys=st.fixed_dictionaries({"boot": st.lists(st.sampled_from(["k1", "k2"]), max_size=2)}),
    kernel_arguments=st.lists(st.sampled_from(["a", "b"]), max_size=3),
)  # fmt: skip


@settings(max_examples=300, derandomize=True, deadline=None)
@given(bodies, bodies)
def test_both_ways_are_the_same_way(one: JsonObject, two: JsonObject) -> None:
    some, others = effective_of(one), effective_of(two)
    forth, back = compare(some, others), compare(others, some)
    assert sorted((m.entry, m.fields) for m in forth) == sorted((m.entry, m.fields) for m in back)
    assert compare(some, some) == ()
    if not entries_changed(some, others):
        assert forth == ()


@settings(max_examples=200, derandomize=True, deadline=None)
@given(bodies)
def test_taking_any_one_entry_away_is_seen(body: JsonObject) -> None:
    rendered = as_rendered(effective_of(body))
    spec = body["spec"]
    storage, systemd = spec["config"].get("storage", {}), spec["config"].get("systemd", {})
    lists = (storage.get("files"), systemd.get("units"), spec["kernelArguments"])
    for items in lists:
        for position in range(len(items or [])):
            taken = items.pop(position)
            assert compare(effective_of(copy.deepcopy(body)), rendered), taken
            items.insert(position, taken)
