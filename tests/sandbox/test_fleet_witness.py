"""The product's forecasts against what the sandbox's own operator and nodes, written apart from them, really do."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitops_mc.core.disruption import disruption_of, policy_of
from gitops_mc.core.ignition import MergeOrder as ForecastOrder
from gitops_mc.core.ignition import compare, effective_of, merge
from gitops_mc.core.model import JsonObject
from gitops_mc.sandbox.nodes.disruption import disruption
from gitops_mc.sandbox.nodes.machine import What
from gitops_mc.sandbox.operator.merging import MergeOrder
from gitops_mc.sandbox.operator.policy import cluster_policies
from gitops_mc.sandbox.operator.rendering import render
from tests.sandbox.platform_world import EDGE, World, config

POOL = {"metadata": {"name": "infra", "uid": "u"}, "spec": {}}
ORDERS = {
    MergeOrder.ALPHABETICAL: ForecastOrder.ALPHABETICAL,
    MergeOrder.ROLE_FIRST: ForecastOrder.ROLE_FIRST,
}

SOURCES = ("data:,a", "data:,b", "data:;base64,YQ==", "data:,", "data:text/plain;charset=utf-8,a%20b")


PATHS = ("/etc/a", "/etc/b/c", "/var/d")
ACTIONS: list[list[JsonObject]] = [
    [{"type": "None"}],
    [{"type": "Reboot"}],
    [{"type": "Drain"}, {"type": "DaemonReload"}],
    [{"type": "Restart", "restart": {"serviceName": "a.service"}}],
    [{"type": "Reload", "reload": {"serviceName": "b.service"}}],
]


class Draw(random.Random):
    """Configs and policies, small enough for names to meet often."""

    def some(self, fields: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in fields.items() if self.random() < 0.6}

    def files(self) -> list[JsonObject]:
        contents = {"source": self.choice(SOURCES), "compression": ""}
        return [
            {
                "path": path,
                **self.some(
                    {
                        "mode": self.choice([420, 384, 0]),
                        "overwrite": self.choice([True, False]),
                        "contents": self.some(contents),
                        "user": {"name": self.choice(["root", "u"])},
                    }
                ),
            }
            for path in self.sample(PATHS, self.randint(0, 3))
        ]

    def units(self) -> list[JsonObject]:
        return [
            {
                "name": name,
                **self.some(
                    {
                        "enabled": self.choice([True, False]),
                        "mask": self.choice([True, False]),
                        "contents": self.choice(["", "[Unit]"]),
                        "dropins": [
                            {"name": dropin, **self.some({"contents": self.choice(["", "x"])})}
                            for dropin in self.sample(["10.conf", "20.conf"], self.randint(0, 2))
                        ],
                    }
                ),
            }
            for name in self.sample(["a.service", "b.service"], self.randint(0, 2))
        ]

    def machine_config(self, number: int) -> JsonObject:
        role = self.choice(["worker", "infra"])
        arguments = tuple(self.choices(["a=1", "b", "c=2"], k=self.choice([0, 0, 1, 2])))
        body = config(f"{number}-{role}", role, arguments=arguments)
        keys = self.sample(["ssh-ed25519 k1", "ssh-ed25519 k2", "ssh-ed25519 k3"], self.randint(0, 3))
        body["spec"]["config"] |= self.some(
            {
                "storage": {"files": self.files()},
                "systemd": {"units": self.units()},
                "passwd": {"users": [{"name": "boot", "sshAuthorizedKeys": keys}]},
            }
        )
        return body

    def machine_configs(self) -> list[JsonObject]:
        return [self.machine_config(n) for n in self.sample(range(10, 15), self.randint(1, 4))]

    def actions(self) -> list[JsonObject]:
        return self.choice(ACTIONS)

    def policy(self) -> JsonObject:
        paths = ["/etc", "/etc/a", "/etc/b/", "/", "/var/d"]
        spec: JsonObject = {
            "defaultNodeDisruptionPolicySpecAction": {"files": self.actions(), "units": self.actions()},
            "nodeDisruptionPolicy": {
                "files": [
                    {"path": p, "actions": self.actions()} for p in self.sample(paths, self.randint(0, 3))
                ],
                "units": [
                    {"name": n, "actions": self.actions()} for n in ["a.service"] if self.random() < 0.5
                ],
                "sshkey": {"actions": self.actions()},
            },
        }
        shown = {"nodeDisruptionPolicyStatus": {"clusterPolicies": cluster_policies(spec)}}
        return {"spec": spec, "status": shown}


SEEDS = st.integers(0, 2**32)


@settings(max_examples=150, derandomize=True, deadline=None)
@given(SEEDS, st.sampled_from(MergeOrder))
def test_what_the_operator_renders_is_what_the_product_merges(seed: int, order: MergeOrder) -> None:
    configs = Draw(seed).machine_configs()
    rendered = render(POOL, configs, order)
    assert compare(merge(configs, ORDERS[order]), effective_of(rendered)) == ()


@settings(max_examples=150, derandomize=True, deadline=None)
@given(SEEDS)
def test_a_node_does_what_the_product_forecasts(seed: int) -> None:
    draw = Draw(seed)
    before, after, policy = draw.machine_configs(), draw.machine_configs(), draw.policy()
    old, new = (render(POOL, configs, MergeOrder.ALPHABETICAL) for configs in (before, after))
    done = disruption(old["spec"], new["spec"], policy)
    forecast = disruption_of(effective_of(old), effective_of(new), policy_of(policy))
    told = [f"{a.type.value} {a.service}".rstrip() for a in forecast.actions if a.type.value != "None"]
    assert told == [str(action) for action in done.actions]
    assert (forecast.reboot, forecast.drain) == (done.reboots, done.drains)


@pytest.mark.parametrize("seed", range(8))
def test_a_fleet_reboots_as_often_as_forecast(seed: int) -> None:
    """A day of changes: each forecast is made before its change, and counted against the node afterwards."""
    draw = random.Random(seed)
    world = World(seed=seed)
    node, forecast = "edge-w1", 0
    live = world.edge.get("machineconfigs", "00-worker")
    assert live is not None
    configs = {"00-worker": live}
    for step in range(6):
        name = draw.choice(["50-worker-a", "60-worker-b"])
        changed = config(
            name,
            files={"/etc/a": draw.choice("xyz")} if draw.random() < 0.6 else None,
            units={"a.service": draw.choice("xyz")} if draw.random() < 0.4 else None,
            arguments=("quiet",) if draw.random() < 0.3 else (),
        )
        before = merge(tuple(configs.values()), ForecastOrder.ALPHABETICAL)
        configs[name] = changed
        after = merge(tuple(configs.values()), ForecastOrder.ALPHABETICAL)
        policy = world.edge.get("machineconfigurations", "cluster")
        forecast += disruption_of(before, after, policy_of(policy)).reboot
        world.edge.apply("machineconfigs", changed)
        world.run(1800)
        assert world.condition("Updated") == "True", step
    assert world.fleet.node_log(EDGE, node).reboots == forecast
    assert not world.fleet.node_log(EDGE, node).of(What.DEGRADED)
