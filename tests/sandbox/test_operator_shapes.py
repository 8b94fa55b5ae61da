"""A config that is no Ignition at all: the operator says so on the pool, and nothing falls over it."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitops_mc.core.model import JsonObject
from gitops_mc.sandbox.nodes.disruption import ssh_keys
from gitops_mc.sandbox.nodes.machine import Machine
from gitops_mc.sandbox.operator.merging import MergeOrder
from gitops_mc.sandbox.operator.rendering import RenderError, render
from gitops_mc.sandbox.operator.shapes import flaw
from gitops_mc.sandbox.payload import PayloadError
from tests.sandbox.platform_world import World, config

POOL: JsonObject = {
    "metadata": {"name": "worker", "uid": "1"},
    "spec": {"machineConfigSelector": {"matchLabels": {}}},
}
WHOLE: JsonObject = {
    "ignition": {"version": "3.4.0"},
    "storage": {
        "files": [
            {
                "path": "/etc/a",
                "mode": 420,
                "overwrite": True,
                "user": {"name": "root"},
                "contents": {
                    "source": "data:,a",
                    "compression": "",
                    "httpHeaders": [{"name": "n", "value": "v"}],
                    "verification": {"hash": "sha512-0"},
                },
            }
        ]
    },
    "systemd": {
        "units": [
            {
                "name": "a.service",
                "enabled": True,
                "contents": "[Unit]",
                "dropins": [{"name": "d", "contents": ""}],
            }
        ]
    },
    "passwd": {"users": [{"name": "boot", "sshAuthorizedKeys": ["k1"]}]},
}


def places(value: Any, place: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    yield place
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, inner in items:
        yield from places(inner, (*place, name))


PLACES = tuple(places(WHOLE))
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-9, 9)
    | st.just(1.5)
    | st.sampled_from(["x", "", "data:,b", "data:;base64,@"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["name", "path", "x"]), inner, max_size=2)
    ),
    max_leaves=4,
)


def with_value(place: tuple[str | int, ...], value: Any) -> Any:
    if not place:
        return value
    body = copy.deepcopy(WHOLE)
    inner: Any = body
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = value
    return body


def machine_config(name: str, ignition: Any) -> JsonObject:
    return {"metadata": {"name": name}, "spec": {"config": ignition}}


def test_a_whole_config_has_no_flaw_and_fields_that_nobody_knows_are_passed_over() -> None:
    assert flaw(WHOLE) == ""
    assert flaw({**WHOLE, "unknown": [[1]], "storage": {"files": [], "more": 1}}) == ""


@pytest.mark.parametrize(
    ("place", "value", "told"),
    [
        (("storage", "files"), "x", "storage.files is a string, not a list"),
        (("storage",), [], "storage is a list, not an object"),
        (("storage", "files", 0), 7, "storage.files is an integer, not an object"),
        (("storage", "files", 0, "mode"), "0644", "storage.files.mode is a string, not an integer"),
        (("storage", "files", 0, "mode"), True, "storage.files.mode is a boolean, not an integer"),
        (("storage", "files", 0, "contents"), "x", "storage.files.contents is a string, not an object"),
        (("storage", "files"), [None], "storage.files has an element without path"),
        (("storage", "files"), [{"path": "/a"}, {"path": "/a"}], "storage.files has a duplicate entry: /a"),
        (("systemd", "units", 0, "name"), None, "systemd.units has an element without name"),
        (("systemd", "units", 0, "dropins"), {}, "systemd.units.dropins is an object, not a list"),
        (
            ("passwd", "users", 0, "sshAuthorizedKeys"),
            [1],
            "passwd.users.sshAuthorizedKeys is an integer, not a string",
        ),
        (("ignition",), 3.4, "ignition is a number, not an object"),
        ((), ["x"], "the config is a list, not an object"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(place: tuple[str | int, ...], value: Any, told: str) -> None:
    with pytest.raises(RenderError, match="MachineConfig bad failed") as caught:
        render(POOL, [machine_config("bad", with_value(place, value))], MergeOrder.ALPHABETICAL)
    assert told in str(caught.value)


@settings(max_examples=300)
@given(place=st.sampled_from(PLACES), value=json_values, order=st.sampled_from(MergeOrder))
def test_whatever_stands_in_a_config_it_is_rendered_or_refused_and_a_node_can_read_it(
    place: tuple[str | int, ...], value: Any, order: MergeOrder
) -> None:
    configs = [machine_config("00", WHOLE), machine_config("50", with_value(place, value))]
    try:
        rendered = render(POOL, configs, order)
    except RenderError:
        return
    spec = json.loads(json.dumps(rendered["spec"]))
    ssh_keys(spec["config"])
    try:
        Machine("edge", "n1").write(spec)
    except PayloadError:  # two halves that only together make no sense; the node is Degraded with it
        return


@pytest.mark.parametrize(
    "broken", [{"storage": {"files": "x"}}, {"systemd": {"units": [7]}}, {"passwd": []}, {"ignition": 1}]
)
def test_a_malformed_config_degrades_its_pool_alone_and_its_removal_mends_it(broken: JsonObject) -> None:
    world = World()
    world.edge.apply("machineconfigs", config("50-worker-bad", **broken))
    world.run(20)
    assert world.fleet.failures == ()
    assert world.condition("RenderDegraded") == world.condition("Degraded") == "True"
    assert "50-worker-bad" in world.message("RenderDegraded")
    assert world.condition("Degraded", "master") == "False"
    world.edge.delete("machineconfigs", "50-worker-bad")
    world.run(20)
    assert world.condition("Degraded") == "False"
