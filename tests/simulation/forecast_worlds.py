"""Fleets whose rollouts are forecast and then played: one number decides each.

How long nodes take is drawn here and given to the sandbox alone; of it the forecast is told what an operator would write into
fleet.yaml, `gates.pool.perNode`: a time that the slowest nodes stay within, give or take.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from gitops_mc.core.model import GLOBAL_CLUSTER, JsonObject
from gitops_mc.sandbox.fleet import MACHINE_CONFIG_VERSION, FleetSpec
from gitops_mc.sandbox.nodes.daemon import NodeOptions
from gitops_mc.sandbox.operator.controller import OperatorOptions
from gitops_mc.sandbox.site import ClusterSpec
from tests.scenarios.drawn_windows import DrawnWindow
from tests.scenarios.repository import custom_pool
from tests.scenarios.rollout_world import UNIT, machine_config, manifest

DRAINED = "/etc/drained.conf"
"""Under a policy that drains the nodes on which it changes."""


@dataclass(frozen=True, slots=True)
class Scene:
    """A fleet, what it is given first, and what comes after that."""

    seed: int
    spec: FleetSpec
    at_once: Mapping[str, int]
    """maxUnavailable of the worker pool, by cluster."""
    labelled: tuple[tuple[str, str], ...]
    """Nodes of the custom pool."""
    commits: tuple[dict[str, str], dict[str, str]]
    per_node: timedelta


def draw_scene(seed: int) -> Scene:
    """The scene of a seed: the same in every process."""
    draw = random.Random(f"forecast/{seed}")
    names = tuple(f"edge-{n}" for n in range(1, draw.choice([1, 2, 3, 4, 5, 6, 8]) + 1))
    windowed = draw.random() < 0.25
    typical = math.exp(draw.uniform(math.log(90), math.log(240 if windowed else 900)))
    jitter = draw.uniform(0.05, 0.9)
    speeds = {name: draw.uniform(0.85, 1.2) for name in names}
    drain = draw.uniform(0.1, 0.4)
    clusters = [_cluster(draw, name, typical * speeds[name], drain, jitter) for name in names]
    if draw.random() < 0.15:
        clusters.append(_cluster(draw, GLOBAL_CLUSTER, typical, drain, jitter))
    slowest = typical * max(speeds.values()) * (1 + jitter)
    per_node = timedelta(seconds=10 * math.ceil(slowest * draw.uniform(0.8, 1.8) / 10))
    workers = {c.name: c.workers for c in clusters}
    labelled = tuple((n, f"{n}-w1") for n in names if workers[n] > 1 and draw.random() < 0.3)
    fleet = _fleet(draw, list(names), per_node)
    if windowed:
        longest = max(workers.values()) * per_node
        fleet["spec"]["windows"] = [w.written() for w in _windows(draw, names, longest)]
    common = _common(draw, tuple(workers), tuple(n for n, _ in labelled))
    contents = _contents(draw)
    commits = tuple({"fleet.yaml": json.dumps(fleet), **common, **files} for files in contents)
    return Scene(
        seed,
        FleetSpec(tuple(clusters)),
        {c.name: draw.choice([1, 1, 2, 3]) for c in clusters},
        labelled,
        (commits[0], commits[1]),
        per_node,
    )


def _cluster(draw: random.Random, name: str, takes: float, drain: float, jitter: float) -> ClusterSpec:
    nodes = NodeOptions(
        drain=timedelta(seconds=takes * drain),
        reboot=timedelta(seconds=takes * (1 - drain)),
        write=timedelta(seconds=draw.uniform(2, 12)),
        jitter=jitter,
    )
    return ClusterSpec(
        name,
        masters=draw.choice([1, 1, 3]),
        workers=draw.choice([1, 2, 3, 4, 6, 8]),
        machine_config=MACHINE_CONFIG_VERSION,
        operator=OperatorOptions(render_delay=timedelta(seconds=draw.uniform(3, 9))),
        nodes=nodes,
    )


def _fleet(draw: random.Random, names: list[str], per_node: timedelta) -> JsonObject:
    spec: JsonObject = {
        "shared": [{"path": "shared/base", "clusters": {"names": ["*"]}}],
        "rollout": {"waves": _waves(draw, names)} if draw.random() < 0.85 else {},
        "gates": {"pool": {"perNode": f"{int(per_node.total_seconds())}s"}},
    }
    return {
        "apiVersion": "gitops-mc.io/v1alpha1",
        "kind": "FleetConfig",
        "metadata": {"name": "test"},
        "spec": spec,
    }


def _waves(draw: random.Random, names: list[str]) -> list[JsonObject]:
    cut = draw.randint(1, len(names))
    waves: list[JsonObject] = [{"name": "first", "clusters": {"names": names[:cut]}}]
    if cut < len(names) or draw.random() < 0.5:
        waves.append({"name": "rest", "clusters": {}})
    else:
        waves[0]["clusters"] = {}
    for wave in waves:
        wave["maxConcurrent"] = draw.choice([1, 1, 2, 3, "50%", "100%"])
        wave["soak"] = draw.choice(["0s", "0s", "5m", "20m"])
    waves[-1]["clusters"] = {}
    return waves


def _windows(draw: random.Random, names: tuple[str, ...], longest: timedelta) -> list[DrawnWindow]:
    """Long enough for the longest step, and sometimes for the next one."""
    minutes = int(longest.total_seconds()) // 60 + draw.choice([10, 30, 60])
    every = 4 if minutes < 220 else 8
    mine = tuple(draw.sample(names, draw.randint(1, len(names)))) if draw.random() < 0.4 else ()
    found = [DrawnWindow("allow", draw.randrange(4), every, draw.choice([0, 7, 30]), minutes, clusters=mine)]
    if draw.random() < 0.4:
        found.append(DrawnWindow("freeze", 23, 24, 0, draw.choice([20, 50])))
    return found


def _common(draw: random.Random, names: tuple[str, ...], custom: tuple[str, ...]) -> dict[str, str]:
    """What stands beside the configs that change."""
    files = {f"clusters/{name}/.keep.yaml": "" for name in names}
    files |= {f"clusters/{name}/pool.yaml": custom_pool("gpu", draw.choice([1, 2])) for name in custom}
    policy = {"nodeDisruptionPolicy": {"files": [{"path": DRAINED, "actions": [{"type": "Drain"}]}]}}
    files["shared/base/policy.yaml"] = manifest("MachineConfiguration", "cluster", policy)
    return files


def _contents(draw: random.Random) -> tuple[dict[str, str], dict[str, str]]:
    """What reboots, drains, or only writes: some of it changes in the second commit, too."""
    kinds = draw.choice(
        [("reboot",), ("reboot",), ("reboot", "quiet"), ("drain",), ("quiet",), ("reboot", "drain")]
    )
    roles = draw.choice([("worker",), ("worker",), ("worker", "master"), ("master",)])
    first = {f"shared/base/{k}-{r}.yaml": _config(k, r, "1") for k in kinds for r in roles}
    moved = draw.sample(sorted(first), draw.randint(1, len(first)))
    second = dict(first)
    for path in moved:
        kind, _, role = path.removeprefix("shared/base/").removesuffix(".yaml").partition("-")
        second[path] = _config(kind, role, "2")
    return first, second


def _config(kind: str, role: str, value: str) -> str:
    name = f"50-{role}-{kind}"
    match kind:
        case "reboot":
            return machine_config(name, role, app_service=f"{UNIT}# {value}\n")
        case "drain":
            return machine_config(name, role, files={DRAINED: f"{value}\n"})
        case _:
            return machine_config(name, role, files={"/etc/quiet.conf": f"{value}\n"})
