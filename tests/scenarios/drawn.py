"""A fleet, its repository and all that happens to it, drawn from one seed. Data only; the simulation plays it."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum

from gitops_mc.core.model import GLOBAL_CLUSTER, JsonObject
from gitops_mc.sandbox.faults import FaultId
from gitops_mc.sandbox.fleet import MACHINE_CONFIG_VERSION, FleetSpec
from gitops_mc.sandbox.moduleinfo import Publication
from gitops_mc.sandbox.nodes.daemon import NodeOptions
from gitops_mc.sandbox.operator.controller import OperatorOptions
from gitops_mc.sandbox.operator.merging import MergeOrder
from gitops_mc.sandbox.site import ClusterSpec
from tests.scenarios.crashes import Moment
from tests.scenarios.rollout_world import UNIT, machine_config, module

ROLE = "machineconfiguration.alauda.io/role"
NEWER_VERSION = "v4.4.0"
MARKER = "BROKEN"
TROUBLED = timedelta(minutes=50)
"""Commits, faults and people come in this time; then everything that can end has ended."""
QUICK = NodeOptions(
    drain=timedelta(seconds=10), reboot=timedelta(seconds=30), poll=timedelta(seconds=10), jitter=0.3
)


@dataclass(frozen=True, slots=True)
class Push:
    """A commit arrives."""

    at: float
    files: Mapping[str, str]
    note: str


class Deed(StrEnum):
    CORDON = "cordon"
    UNCORDON = "uncordon"
    PAUSE = "pause"
    UNPAUSE = "unpause"
    EDIT = "edit"
    LABEL = "label"
    UNLABEL = "unlabel"


@dataclass(frozen=True, slots=True)
class HandAct:
    """Somebody with kubectl. `subject`: a node, a pool or a MachineConfig."""

    at: float
    deed: Deed
    cluster: str
    subject: str


@dataclass(frozen=True, slots=True)
class Trouble:
    """A fault in a window; seconds from the beginning."""

    at: float
    end: float
    kind: FaultId
    cluster: str
    parameters: Mapping[str, str | int | float]


@dataclass(frozen=True, slots=True)
class Kill:
    """The process dies so many calls after it was started."""

    calls: int
    moment: Moment
    away: float
    """Seconds until the next one starts."""


@dataclass(frozen=True, slots=True)
class Script:
    """Everything a seed decides."""

    seed: int
    spec: FleetSpec
    labelled: tuple[tuple[str, str], ...]
    """Nodes that carry the label of the custom pool from the beginning."""
    pushes: tuple[Push, ...]
    hands: tuple[HandAct, ...] = ()
    troubles: tuple[Trouble, ...] = ()
    kills: tuple[Kill, ...] = ()


@dataclass
class Repository:
    """What the drawn commits change, and the files it comes to."""

    clusters: tuple[str, ...]
    labelled: tuple[str, ...]
    """Clusters with a node for the custom pool."""
    rollout: JsonObject
    prune: JsonObject
    shared: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Configs of all clusters: role and value by name; a name that ends in `-u` has a unit, too."""
    own: dict[str, dict[str, tuple[str, str]]] = field(default_factory=dict)
    policies: dict[str, str] = field(default_factory=dict)
    pools: dict[str, int] = field(default_factory=dict)
    """maxUnavailable of the custom pool, by cluster that has it."""
    modules: dict[str, str] = field(default_factory=dict)
    typo: str = ""
    """A cluster whose folder cannot be read."""
    remarks: int = 0

    def files(self) -> dict[str, str]:
        spec = {
            "shared": [{"path": "shared/base", "clusters": {"names": ["*"]}}],
            "rollout": self.rollout,
            "prune": self.prune,
        }
        fleet = {
            "apiVersion": "gitops-mc.io/v1alpha1",
            "kind": "FleetConfig",
            "metadata": {"name": "test"},
            "spec": spec,
        }
        files = {"fleet.yaml": json.dumps(fleet), "README.md": f"remark {self.remarks}\n"}
        for name, (role, value) in self.shared.items():
            files[f"shared/base/{name}.yaml"] = _config(name, role, value)
        if self.policies:
            files["shared/base/policy.yaml"] = _policy(self.policies)
        for cluster in self.clusters:
            files.update(self._cluster_files(cluster))
        return files

    def _cluster_files(self, cluster: str) -> dict[str, str]:
        folder = f"clusters/{cluster}"
        files = {f"{folder}/.keep.yaml": ""}
        for name, (role, value) in self.own.get(cluster, {}).items():
            files[f"{folder}/{name}.yaml"] = _config(name, role, value)
        if cluster in self.pools:
            files[f"{folder}/pool.yaml"] = custom_pool("gpu", self.pools[cluster])
        if cluster in self.modules:
            files[f"{folder}/module.yaml"] = module(cluster, self.modules[cluster])
        if self.typo == cluster:
            files[f"{folder}/typo.yaml"] = "kind: [\n"
        return files


def _config(name: str, role: str, value: str) -> str:
    files = {f"/etc/{name}.conf": f"{value}\n"}
    if name.endswith("-u"):
        return machine_config(name, role=role, files=files, app_service=f"{UNIT}# {name} {value}\n")
    return machine_config(name, role=role, files=files)


def _policy(policies: Mapping[str, str]) -> str:
    files = [{"path": p, "actions": [{"type": a}]} for p, a in sorted(policies.items())]
    body = {
        "apiVersion": "machineconfiguration.alauda.io/v1alpha1",
        "kind": "MachineConfiguration",
        "metadata": {"name": "cluster"},
        "spec": {"nodeDisruptionPolicy": {"files": files}},
    }
    return json.dumps(body)


def custom_pool(name: str, max_unavailable: int = 1) -> str:
    selector = {"matchExpressions": [{"key": ROLE, "operator": "In", "values": ["worker", name]}]}
    body = {
        "apiVersion": "machineconfiguration.alauda.io/v1alpha1",
        "kind": "MachineConfigPool",
        "metadata": {"name": name},
        "spec": {
            "machineConfigSelector": selector,
            "nodeSelector": {"matchLabels": {f"node-role.kubernetes.io/{name}": ""}},
            "maxUnavailable": max_unavailable,
        },
    }
    return json.dumps(body)


# ----------------------------------------------------------------------------------------------------------- drawing


def draw_script(seed: int) -> Script:
    """The script of a seed: the same in every process."""
    draw = random.Random(f"script/{seed}")
    spec = _fleet(draw)
    names = tuple(c.name for c in spec.clusters)
    edges = [n for n in names if n != GLOBAL_CLUSTER]
    workers = {c.name: c.workers for c in spec.clusters}
    labelled = tuple((n, f"{n}-w1") for n in edges if workers[n] > 1 and draw.random() < 0.5)
    repository = Repository(names, tuple(c for c, _ in labelled), _rollout(draw, edges), _prune(draw))
    _begin(repository, draw)
    pushes = _pushes(repository, draw, edges)
    kinds = draw.sample(["hands", "troubles", "kills"], draw.choice([0, 1, 1, 2, 3]))
    return Script(
        seed,
        spec,
        labelled,
        pushes,
        hands=_hands(draw, edges, workers) if "hands" in kinds else (),
        troubles=_troubles(draw, names) if "troubles" in kinds else (),
        kills=_kills(draw) if "kills" in kinds else (),
    )


def _fleet(draw: random.Random) -> FleetSpec:
    count = draw.choices([2, 3, 4, 5, 8], [10, 9, 3, 1, 1])[0]
    order = draw.choice([MergeOrder.ALPHABETICAL, MergeOrder.ROLE_FIRST])
    made = [
        ClusterSpec(
            f"edge-{n}",
            masters=1,
            workers=draw.randint(1, 3 if count < 5 else 2),
            machine_config=MACHINE_CONFIG_VERSION,
            operator=OperatorOptions(merge_order=order),
            nodes=QUICK,
        )
        for n in range(1, count + 1)
    ]
    if draw.random() < 0.1:
        made.append(
            ClusterSpec(
                GLOBAL_CLUSTER, masters=1, workers=1, machine_config=MACHINE_CONFIG_VERSION, nodes=QUICK
            )
        )
    published = tuple(Publication("machine-config", v) for v in (MACHINE_CONFIG_VERSION, NEWER_VERSION))
    return FleetSpec(tuple(made), publications=published)


def _rollout(draw: random.Random, edges: list[str]) -> JsonObject:
    limits: JsonObject = {
        "maxFailures": draw.choice([0, 0, 0, 1, 2]),
        "maxUnreachable": draw.choice([0, 1, "10%", "50%"]),
    }
    if draw.random() < 0.15:
        return limits
    cut = draw.randint(1, max(1, len(edges) - 1))
    waves: list[JsonObject] = [
        {"name": "first", "clusters": {"names": edges[:cut]}},
        {"name": "rest", "clusters": {}},
    ]
    for wave in waves:
        wave["maxConcurrent"] = draw.choice([1, 1, 2, 3, "50%"])
        wave["soak"] = draw.choice(["0s", "0s", "1m", "5m"])
    return {**limits, "waves": waves}


def _prune(draw: random.Random) -> JsonObject:
    return {"enabled": draw.random() < 0.6, "maxDeletes": draw.choice([1, 2, 5])}


def _begin(repository: Repository, draw: random.Random) -> None:
    for number in range(draw.randint(1, 3)):
        role = draw.choice(["worker", "worker", "master"])
        repository.shared[f"5{number}-{role}-{draw.choice(['a-u', 'a', 'b-u'])}"] = (role, "0")
    if draw.random() < 0.4:
        repository.policies["/etc/5"] = draw.choice(["None", "Reboot", "Drain"])
    for cluster in repository.labelled:
        if draw.random() < 0.6:
            repository.pools[cluster] = 1
    if draw.random() < 0.3:
        for cluster in repository.clusters:
            repository.modules[cluster] = MACHINE_CONFIG_VERSION


def _pushes(repository: Repository, draw: random.Random, edges: list[str]) -> tuple[Push, ...]:
    pushes = [Push(0, repository.files(), "the first")]
    earlier = [copy.deepcopy(repository)]
    times = sorted(draw.uniform(30, TROUBLED.total_seconds()) for _ in range(draw.choice([1, 2, 2, 3])))
    for number, at in enumerate(times, 1):
        repository = copy.deepcopy(repository)
        change = draw.choice(_CHANGES)
        if change == "revert":
            repository = copy.deepcopy(draw.choice(earlier))
        else:
            _change(repository, change, str(number), draw, edges)
        earlier.append(copy.deepcopy(repository))
        pushes.append(Push(at, repository.files(), change))
    return tuple(pushes)


_CHANGES = (
    *("value", "value", "value", "own", "own", "add", "remove", "bad", "bad", "bad one", "repair", "repair"),
    *("remark", "revert", "revert", "policy", "pool", "module", "limits", "typo"),
)


def _change(repository: Repository, change: str, value: str, draw: random.Random, edges: list[str]) -> None:
    name = draw.choice(sorted(repository.shared) or ["50-worker-a-u"])
    role = name.split("-")[1]
    cluster = draw.choice(edges)
    match change:
        case "value":
            repository.shared[name] = (role, value)
        case "own":
            own = repository.own.setdefault(cluster, {})
            own[f"6{draw.randint(0, 1)}-worker-own{draw.choice(['', '-u'])}"] = ("worker", value)
        case "add":
            repository.shared[f"7{value}-worker-new-u"] = ("worker", value)
            if cluster in repository.pools:
                repository.own.setdefault(cluster, {})["40-gpu-x"] = ("gpu", value)
        case "remove":
            repository.shared.pop(name, None)
        case "bad":
            repository.shared[name] = (role, f"{MARKER} {value}")
        case "bad one":
            repository.own.setdefault(cluster, {})["60-worker-own"] = ("worker", f"{MARKER} {value}")
        case "repair":
            for configs in (repository.shared, *repository.own.values()):
                for n, (r, v) in configs.items():
                    configs[n] = (r, f"repaired {value}" if v.startswith(MARKER) else v)
            repository.typo = ""
        case "remark":
            repository.remarks += 1
        case "policy":
            repository.policies[draw.choice(["/etc/5", "/etc/6"])] = draw.choice(["None", "Reboot", "Drain"])
            if draw.random() < 0.3:
                repository.policies.pop("/etc/5", None)
        case "pool":
            for c in repository.labelled:
                repository.pools[c] = draw.randint(1, 2)
        case "module":
            for c in repository.clusters:
                repository.modules[c] = draw.choice([MACHINE_CONFIG_VERSION, NEWER_VERSION])
        case "limits":
            repository.rollout = {**repository.rollout, "maxFailures": draw.randint(0, 2)}
            repository.prune = _prune(draw)
        case _:
            repository.typo = cluster


def _hands(draw: random.Random, edges: list[str], workers: Mapping[str, int]) -> tuple[HandAct, ...]:
    acts: list[HandAct] = []
    span = TROUBLED.total_seconds()
    for _ in range(draw.randint(1, 3)):
        cluster, at = draw.choice(edges), draw.uniform(0, span)
        node = f"{cluster}-w{draw.randint(1, workers[cluster])}"
        ends = draw.random() < 0.7
        later = draw.uniform(at, span)
        match draw.choice(["cordon", "pause", "edit", "label"]):
            case "cordon":
                acts.append(HandAct(at, Deed.CORDON, cluster, node))
                acts += [HandAct(later, Deed.UNCORDON, cluster, node)] if ends else []
            case "pause":
                pool = draw.choice(["worker", "master", "gpu"])
                acts.append(HandAct(at, Deed.PAUSE, cluster, pool))
                acts += [HandAct(later, Deed.UNPAUSE, cluster, pool)] if ends else []
            case "edit":
                acts.append(HandAct(at, Deed.EDIT, cluster, ""))
            case _:
                acts.append(HandAct(at, draw.choice([Deed.LABEL, Deed.UNLABEL]), cluster, node))
    return tuple(sorted(acts, key=lambda a: a.at))


def _kills(draw: random.Random) -> tuple[Kill, ...]:
    return tuple(
        Kill(draw.choice([draw.randint(1, 60), draw.randint(1, 600)]), draw.choice(list(Moment)), away)
        for away in [draw.choice([1.0, 20.0, 200.0]) for _ in range(draw.randint(1, 6))]
    )


_KINDS: Mapping[FaultId, tuple[JsonObject, ...]] = {
    FaultId.LATE_RENDER: ({"seconds": 60.0}, {"seconds": 120.0}),
    FaultId.STALE_TRUE: ({"seconds": 60.0},),
    FaultId.PAUSED_DOES_NOT_RENDER: ({},),
    FaultId.POLICY_LATE: ({"seconds": 100.0},),
    FaultId.DEGRADED_NOT_RETARGETED: ({},),
    FaultId.DRAIN_STUCK: ({},),
    FaultId.NODE_NEVER_RETURNS: ({},),
    FaultId.DEGRADED_FLAP: ({"seconds": 10.0}, {"seconds": 45.0}),
    FaultId.DRIFT: ({},),
    FaultId.MODULE_RECREATED_WITHOUT_LABELS: ({},),
    FaultId.PHASE_LAG: ({"seconds": 40.0},),
    FaultId.MODULE_STUCK: ({},),
    FaultId.UPGRADE_ROLLS_POOLS: ({},),
    FaultId.DRY_RUN_REFUSED: ({},),
    FaultId.HTTP_ERROR: tuple(
        {"method": m, "nth": 2, "times": t, "status": s}
        for m, t, s in [("*", 3, 500), ("PATCH", 1, 409), ("PATCH", 2, 429), ("GET", 9, 403), ("*", 5, 401)]
    ),
    FaultId.TIMEOUT_BEFORE: ({"method": "PATCH", "times": 2}, {"method": "*", "nth": 4, "times": 3}),
    FaultId.TIMEOUT_AFTER: ({"method": "PATCH", "times": 2}, {"method": "P*", "nth": 2, "times": 1}),
    FaultId.GATEWAY_GONE: ({"how": "timeout"}, {"how": "refused"}, {"how": "bad-gateway"}),
    FaultId.GATEWAY_DROPS_ON_REBOOT: ({"how": "refused"}, {"how": "timeout"}),
    FaultId.LATENCY: ({"seconds": 0.5, "jitter": 1.0}, {"seconds": 2.0}),
}


def _troubles(draw: random.Random, names: tuple[str, ...]) -> tuple[Trouble, ...]:
    span = TROUBLED.total_seconds()
    made = []
    for _ in range(draw.randint(1, 5)):
        kind = draw.choice(list(_KINDS))
        at = draw.uniform(0, span * 0.8)
        end = draw.uniform(at, span)
        made.append(Trouble(at, end, kind, draw.choice([*names, "*"]), draw.choice(_KINDS[kind])))
    return tuple(made)
