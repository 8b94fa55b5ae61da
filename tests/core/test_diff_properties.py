"""Properties of the diff over generated worlds, written through and read back from a real (embedded) API server."""

from __future__ import annotations

import base64
import re
from dataclasses import replace
from random import Random
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitops_mc.core.diff import Adopt, Create, Ownership, RefusalCause, Touch, Update, diff_cluster
from gitops_mc.core.ignition import decode_source, keep_live_encoding
from gitops_mc.core.model import FIELD_MANAGER, JsonObject, Kind, canonical_json, name_of, resource_version
from tests.core.diff_world import (
    FLEET,
    RefusedError,
    World,
    desired,
    module,
    policy,
    pool,
    unknown_everything,
)
from tests.core.machine_configs import file, machine_config

FEW = settings(
    max_examples=150, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
PATHS = ("/etc/a", "/etc/b", "/etc/c.d")
ACTIONS = st.sampled_from(["None", "Reboot", "Drain", "DaemonReload"])


def data_url(text: str, spelling: str) -> str:
    if spelling == "base64":
        return f"data:;base64,{base64.b64encode(text.encode()).decode()}"
    if spelling == "url-safe":
        return f"data:text/plain;base64,{base64.urlsafe_b64encode(text.encode()).decode().rstrip('=')}"
    return f"data:,{quote(text)}"


SPELLINGS = ("base64", "url-safe", "percent")
CONTENTS = st.sampled_from(["", "x", "server a\n", "é~?>"])


@st.composite
def configs(draw: st.DrawFn) -> JsonObject:
    paths = draw(st.lists(st.sampled_from(PATHS), unique=True, max_size=3))
    files = [
        file(
            path,
            data_url(draw(CONTENTS), draw(st.sampled_from(SPELLINGS))),
            mode=draw(st.sampled_from([420, 384])),
        )
        for path in paths
    ]
    names = draw(st.lists(st.sampled_from(["a.service", "b.timer"]), unique=True))
    units = [{"name": name, "enabled": draw(st.booleans())} for name in names]
    arguments = draw(st.lists(st.sampled_from(["nosmt", "quiet"]), unique=True))
    name = draw(st.sampled_from(["50-worker-a", "60-worker-b"]))
    body = machine_config(name, files=files, units=units, kernel_arguments=arguments)
    if draw(st.booleans()):
        del body["spec"]["kernelArguments"]
    return body


@st.composite
def policies(draw: st.DrawFn) -> JsonObject:
    extra: dict[str, Any] = {}
    if draw(st.booleans()):
        extra["sshkey"] = {"actions": [{"type": draw(ACTIONS)}]}
    paths = draw(st.lists(st.sampled_from(PATHS), unique=True))
    units = draw(st.lists(st.sampled_from(["a.service", "b.timer"]), unique=True))
    return policy(*paths, units=units, action=draw(ACTIONS), **extra)


@st.composite
def pools(draw: st.DrawFn) -> JsonObject:
    fields = {
        "maxUnavailable": st.sampled_from([1, 2, "10%"]),
        "paused": st.booleans(),
        "nodeSelector": st.just({"matchLabels": {"x": "y"}}),
    }
    chosen = draw(st.lists(st.sampled_from(sorted(fields)), unique=True))
    body = pool(draw(st.sampled_from(["infra", "gpu"])), **{name: draw(fields[name]) for name in chosen})
    if draw(st.booleans()):
        body["metadata"]["labels"] = {"team": draw(st.sampled_from(["a", "b"]))}
    return body


@st.composite
def modules(draw: st.DrawFn) -> JsonObject:
    values = st.one_of(st.integers(0, 2), st.lists(st.integers(0, 2), max_size=2), st.just({"deep": 1}))
    config = draw(st.dictionaries(st.sampled_from(["size", "a/b", "c~d"]), values))
    return module(version=draw(st.sampled_from(["v4.1.0", "v4.2.0"])), config=config)


OBJECTS = st.one_of(configs(), policies(), pools(), modules())


def one_each(bodies: list[JsonObject]) -> list[JsonObject]:
    return list({(body["kind"], name_of(body)): body for body in bodies}.values())


WORLDS = st.lists(OBJECTS, max_size=5).map(one_each)
DEEDS = st.sampled_from(["create", "apply", "force"])


def shipped() -> World:
    """A cluster as the operator leaves it when it first starts: the policy is there, with its defaults."""
    world = World()
    defaults = {"files": [{"type": "None"}], "units": [{"type": "Reboot"}]}
    body = {**policy(), "spec": {"defaultNodeDisruptionPolicySpecAction": defaults}}
    world.create(body, manager="machine-config-controller")
    return world


def disturb(world: World, body: JsonObject, deed: str, manager: str) -> None:
    """Another client does something with an object; what the server refuses has not happened."""
    try:
        if body["kind"] == Kind.MODULE_INFO or deed == "create":
            world.create(body, manager=manager)
        else:
            world.apply(body, manager=manager, force="true" if deed == "force" else "false")
    except RefusedError:
        return


@FEW
@given(
    world=st.builds(shipped),
    foreign=st.lists(st.tuples(OBJECTS, DEEDS), max_size=3),
    first=WORLDS,
    second=WORLDS,
)
def test_what_the_diff_writes_the_server_accepts_and_then_nothing_is_left_to_write(
    world: World, foreign: list[tuple[JsonObject, str]], first: list[JsonObject], second: list[JsonObject]
) -> None:
    for body, deed in foreign:
        disturb(world, body, deed, "operator")
    for bodies in (first, second):
        world.roll(*bodies)
        again = world.diff(*bodies)
        assert again.changes == ()
        assert {f.path for drift in again.drifts for f in drift.fields} <= {"spec.paused"}
        told = [f.key for f in again.refusals] + [f.key for f in again.newer] + [f.key for f in again.drifts]
        assert {*again.unchanged, *told} == {m.key for m in desired(*bodies).manifests}


@FEW
@given(
    world=st.builds(shipped),
    foreign=st.lists(st.tuples(OBJECTS, DEEDS), min_size=1, max_size=3),
    bodies=WORLDS,
)
def test_a_predicted_conflict_is_the_one_the_server_answers(
    world: World, foreign: list[tuple[JsonObject, str]], bodies: list[JsonObject]
) -> None:
    for body, deed in foreign:
        disturb(world, body, deed, "operator")
    found = world.diff(*bodies)
    for refusal in found.refusals:
        if refusal.cause is not RefusalCause.CONFLICT:
            continue
        (body,) = (m.body for m in desired(*bodies).manifests if m.key == refusal.key)
        if refusal.key.kind is Kind.MACHINE_CONFIG:
            body = keep_live_encoding(body, world.get(refusal.key.kind, refusal.key.name))
        spec = {name: value for name, value in body["spec"].items() if name != "paused"}
        with pytest.raises(RefusedError) as answer:
            world.apply({**body, "spec": spec})
        assert answer.value.code == 409
        (conflict,) = refusal.conflicts
        assert conflict.manager == "operator"
        assert [re.sub(r'\[\w+="([^"]*)"\]', r"[\1]", field[1:]) for field in answer.value.fields] == [
            *conflict.fields
        ]


@FEW
@given(world=st.builds(shipped), foreign=st.lists(st.tuples(OBJECTS, DEEDS), max_size=3), bodies=WORLDS)
def test_adopting_changes_no_value_and_a_pure_addition_only_adds(
    world: World, foreign: list[tuple[JsonObject, str]], bodies: list[JsonObject]
) -> None:
    for body, deed in foreign:
        disturb(world, body, deed, "operator")
    for change in world.diff(*bodies).changes:
        if isinstance(change, Create) or change.key.kind is Kind.MODULE_INFO:
            continue
        before = world.get(change.key.kind, change.key.name)
        world.write(change)
        after = world.get(change.key.kind, change.key.name)
        if isinstance(change, Adopt):
            assert after.get("spec") == before.get("spec")
        elif change.touch is Touch.PURE_ADDITION:
            assert only_adds(before.get("spec", {}), after["spec"])


def only_adds(before: Any, after: Any) -> bool:
    if isinstance(before, dict):
        return isinstance(after, dict) and all(
            k in after and only_adds(v, after[k]) for k, v in before.items()
        )
    if isinstance(before, list):
        return isinstance(after, list) and all(entry in after for entry in before)
    return bool(before == after)


@FEW
@given(
    world=st.builds(shipped),
    body=configs(),
    spelling=st.sampled_from(SPELLINGS),
    maker=st.sampled_from(["kubectl", "us"]),
)
def test_another_encoding_of_the_same_bytes_is_never_an_update(
    world: World, body: JsonObject, spelling: str, maker: str
) -> None:
    files = body["spec"]["config"].get("storage", {}).get("files", [])
    again = [file(f["path"], respelled(f["contents"]["source"], spelling), mode=f["mode"]) for f in files]
    other = {**body["spec"]["config"], **({"storage": {"files": again}} if files else {})}
    respelt = {**body, "spec": {**body["spec"], "config": other}}
    if maker == "kubectl":
        world.create(body)
    else:
        world.roll(body)
    before = world.get(Kind.MACHINE_CONFIG, name_of(body))
    found = world.roll(respelt)
    assert not [c for c in found.changes if isinstance(c, Update)]
    after = world.get(Kind.MACHINE_CONFIG, name_of(body))
    assert after["spec"] == before["spec"]
    assert maker == "kubectl" or resource_version(after) == resource_version(before)


def respelled(source: str, spelling: str) -> str:
    return data_url(decode_source(source).decode(), spelling)


@FEW
@given(
    world=st.builds(shipped),
    first=WORLDS,
    edits=st.lists(st.tuples(OBJECTS, DEEDS), max_size=3),
    second=WORLDS,
)
def test_a_value_somebody_else_set_is_never_overwritten_without_being_asked(
    world: World, first: list[JsonObject], edits: list[tuple[JsonObject, str]], second: list[JsonObject]
) -> None:
    world.roll(*first)
    for body, deed in edits:
        disturb(world, body, deed, "somebody")
    for change in world.diff(*second).changes:
        if isinstance(change, Update) and change.key.kind is not Kind.MODULE_INFO:
            assert change.ownership is Ownership.KEEP
            before = world.get(change.key.kind, change.key.name)
            world.write(change)
            after = world.get(change.key.kind, change.key.name)
            assert theirs(before) == theirs(after)


def theirs(live: JsonObject) -> list[bytes]:
    entries = live["metadata"]["managedFields"]
    return [canonical_json(e["fieldsV1"]) for e in entries if e["manager"] != FIELD_MANAGER]


@FEW
@given(bodies=WORLDS)
def test_with_every_fact_unknown_nothing_is_created_updated_or_deleted(bodies: list[JsonObject]) -> None:
    found = diff_cluster(desired(*bodies), unknown_everything(), {}, fleet=FLEET)
    assert found.changes == ()
    assert found.unchanged == ()
    assert len(found.not_read) == len(Kind)


@FEW
@given(
    world=st.builds(shipped),
    first=WORLDS,
    edits=st.lists(st.tuples(OBJECTS, DEEDS), max_size=2),
    second=WORLDS,
    seed=st.randoms(use_true_random=False),
)
def test_the_same_input_in_any_order_gives_the_same_diff(
    world: World,
    first: list[JsonObject],
    edits: list[tuple[JsonObject, str]],
    second: list[JsonObject],
    seed: Random,
) -> None:
    world.roll(*first)
    for body, deed in edits:
        disturb(world, body, deed, "somebody")
    git, live = desired(*second), world.live()
    shuffled = replace(git, manifests=tuple(seed.sample(git.manifests, len(git.manifests))))
    remembered = dict(seed.sample(list(world.inventory.items()), len(world.inventory)))
    one, other = (
        diff_cluster(g, live, inventory, fleet=FLEET)
        for g, inventory in ((git, world.inventory), (shuffled, remembered))
    )
    assert one == other
    assert [c.key for c in one.changes] == sorted(c.key for c in one.changes)


def test_what_a_manifest_does_not_say_is_not_sent() -> None:
    """Neither a null nor a map with nothing in it: of either the server would make a null that it then refuses."""
    world = shipped()
    rules: JsonObject = {"sshkey": {"actions": [{"type": "None"}]}}
    sayings: tuple[JsonObject, ...] = (rules, {}, {"files": None}, rules, {"sshkey": {}})
    for said in sayings:
        world.roll({**policy(), "spec": {"nodeDisruptionPolicy": said}})
        standing = world.get(Kind.MACHINE_CONFIGURATION, "cluster")["spec"]
        assert ("nodeDisruptionPolicy" in standing) == (said == rules)
