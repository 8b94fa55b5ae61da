"""The forecast of generated pull requests held against what the sandbox's daemon then does, by code of its own."""

from __future__ import annotations

from copy import deepcopy

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitops_mc.core.disruption import NONE, Disruption
from gitops_mc.core.ignition import MergeOrder
from gitops_mc.core.model import JsonObject, name_of
from gitops_mc.sandbox.nodes.disruption import Disruption as Work
from tests.core.machine_config_strategies import config_sets
from tests.core.preview_witness import ALWAYS, INFRA, Carried, Done, forecast, policy_manifest

POOLS = ("infra", "master", "worker")

_ALONE: list[list[JsonObject]] = [[{"type": "Reboot"}], [{"type": "None"}]]
_TOGETHER: list[JsonObject] = [
    {"type": "Drain"},
    {"type": "DaemonReload"},
    {"type": "Restart", "restart": {"serviceName": "a.service"}},
    {"type": "Reload", "reload": {"serviceName": "b.service"}},
]
actions = st.lists(st.sampled_from(_TOGETHER), min_size=1, max_size=2, unique_by=str) | st.sampled_from(
    _ALONE
)


def _spec(
    files: dict[str, list[JsonObject]],
    units: dict[str, list[JsonObject]],
    sshkey: list[JsonObject],
    defaults: dict[str, list[JsonObject]],
) -> JsonObject:
    policy: JsonObject = {
        "files": [{"path": path, "actions": found} for path, found in files.items()],
        "units": [{"name": f"{name}.service", "actions": found} for name, found in units.items()],
        "sshkey": {"actions": sshkey},
    }
    return {
        "nodeDisruptionPolicy": {key: value for key, value in policy.items() if value},
        **({"defaultNodeDisruptionPolicySpecAction": defaults} if defaults else {}),
    }


def policies(
    defaults: st.SearchStrategy[dict[str, list[JsonObject]]],
) -> st.SearchStrategy[JsonObject | None]:
    stated = st.builds(
        _spec,
        st.dictionaries(st.sampled_from(["/etc", "/etc/a", "/etc/b", "/et"]), actions, max_size=3),
        st.dictionaries(st.sampled_from(["u", "v", "w"]), actions, max_size=2),
        actions,
        defaults,
    ).map(policy_manifest)
    return st.one_of(stated, stated, stated, st.none())


def respelt(config: JsonObject) -> JsonObject:
    """The same bytes of every file, in another encoding where there is one."""
    other = {"data:,1": "data:;base64,MQ==", "data:;base64,MQ==": "data:,1"}
    found: JsonObject = deepcopy(config)
    for file in found["spec"]["config"].get("storage", {}).get("files", ()):
        contents = file.get("contents", {})
        if contents.get("source") in other:
            contents["source"] = other[contents["source"]]
    return found


@st.composite
def configs_from(draw: st.DrawFn, before: list[JsonObject]) -> list[JsonObject]:
    """Of each config of before: as it was, in another encoding, gone, or another one of that name; and new ones."""
    fresh = {name_of(config): config for config in draw(st.just([]) | config_sets())}
    kept = [
        draw(st.sampled_from([config, respelt(config), None]))
        for config in before
        if name_of(config) not in fresh
    ]
    return [*fresh.values(), *(config for config in kept if config is not None)]


@st.composite
def pull_requests(draw: st.DrawFn) -> tuple[list[JsonObject], list[JsonObject]]:
    """All that Git says of a cluster, before and after. Both state the defaults, or neither does: a server refuses that a manifest
    drops them again.
    """
    stated = st.fixed_dictionaries({"files": actions, "units": actions})
    none: dict[str, list[JsonObject]] = {}
    defaults = stated if draw(st.booleans()) else st.just(none)
    before = draw(config_sets())
    sides = []
    for configs in (before, draw(configs_from(before))):
        for config in configs:
            for unit in config["spec"]["config"].get("systemd", {}).get("units", ()):
                unit["name"] = f"{unit['name'][0]}.service"
        policy = draw(policies(defaults))
        pools = [INFRA] if draw(st.booleans()) else []
        sides.append([ALWAYS, *configs, *pools, *([] if policy is None else [policy])])
    return sides[0], sides[1]


def said(found: Disruption) -> tuple[list[str], bool]:
    """Actions in their order, and whether anything changes on the node at all."""
    told = [f"{a.type.value} {a.service}".rstrip() for a in found.actions if a != NONE]
    return told, bool(found.causes)


def did(work: Work) -> tuple[list[str], bool]:
    return [str(action) for action in work.actions], bool(work.reasons)


def check(before: list[JsonObject], after: list[JsonObject], order: MergeOrder) -> None:
    """There and back."""
    cluster = Carried(order)
    cluster.carry_out(*before)
    found, created = forecast(before, after, order), cluster.created_by(after)
    there = cluster.carry_out(*after)
    hold(there, {pool: said(change.disruption) for pool, change in found.items()})
    back = cluster.carry_out(*before, created=created)
    hold(back, {pool: said(change.revert) for pool, change in found.items()})


def hold(done: list[Done], expected: dict[str, tuple[list[str], bool]]) -> None:
    carried = {one.pool: did(one.work) for one in done}
    assert len(carried) == len(done), "a pool's nodes went twice"
    for pool in POOLS:
        assert carried.get(pool, ([], False)) == expected.get(pool, ([], False)), pool


FEW = settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
MANY = settings(FEW, max_examples=2500)


@FEW
@given(pull_requests(), st.sampled_from(MergeOrder))
def test_a_node_goes_through_what_the_preview_said_there_and_back(
    sides: tuple[list[JsonObject], list[JsonObject]], order: MergeOrder
) -> None:
    check(*sides, order)


@pytest.mark.slow
@MANY
@given(pull_requests(), st.sampled_from(MergeOrder))
def test_so_it_is_with_thousands(sides: tuple[list[JsonObject], list[JsonObject]], order: MergeOrder) -> None:
    check(*sides, order)
