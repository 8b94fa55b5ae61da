"""The commits of a simulation, drawn: good ones, bad ones, their repairs, reverts, and what changes nothing."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, replace

from gitops_mc.core.model import JsonObject
from gitops_mc.sandbox.fleet import MACHINE_CONFIG_VERSION
from tests.scenarios.repository import MARKER, MORE, Repository

NEWER_VERSION = "v4.4.0"
OTHER_VERSIONS = ("v1.0.0", "v1.1.0")


@dataclass(frozen=True, slots=True)
class Push:
    """A commit arrives."""

    at: float
    files: Mapping[str, str]
    note: str


def begin(repository: Repository, draw: random.Random) -> None:
    for number in range(draw.randint(1, 3)):
        role = draw.choice(["worker", "worker", "master"])
        repository.shared[f"5{number}-{role}-{draw.choice(['a-u', 'a', 'b-u'])}"] = (
            role,
            draw.choice(["0", f"0{MORE}"]),
        )
    if draw.random() < 0.4:
        repository.policies["/etc/5"] = draw.choice(["None", "Reboot", "Drain"])
    for cluster in repository.labelled:
        if draw.random() < 0.6:
            repository.pools[cluster] = 1
    if draw.random() < 0.3:
        for cluster in repository.clusters:
            repository.modules[cluster] = MACHINE_CONFIG_VERSION
    if draw.random() < 0.2:
        repository.others = dict.fromkeys(repository.clusters, OTHER_VERSIONS[0])


def pushes_of(repository: Repository, draw: random.Random, edges: list[str], span: float) -> tuple[Push, ...]:
    pushes = [Push(0, repository.files(), "the first")]
    earlier = [copy.deepcopy(repository)]
    times = sorted(draw.uniform(30, span) for _ in range(draw.choice([1, 2, 2, 3])))
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
    *(
        "remark",
        "revert",
        "revert",
        "policy",
        "pool",
        "module",
        "other",
        "limits",
        "typo",
        "more",
        "less",
        "less",
    ),
)


def _change(repository: Repository, change: str, value: str, draw: random.Random, edges: list[str]) -> None:
    name = draw.choice(sorted(repository.shared) or ["50-worker-a-u"])
    role = name.split("-")[1]
    cluster = draw.choice(edges)
    match change:
        case "value":
            repository.shared[name] = (role, f"{value}{draw.choice(['', MORE])}")
        case "more" | "less":
            for n, (r, v) in repository.shared.items():
                repository.shared[n] = (r, v.removesuffix(MORE) + (MORE if change == "more" else ""))
        case "other":
            for c in repository.clusters:
                repository.others[c] = draw.choice(OTHER_VERSIONS)
            if draw.random() < 0.5:
                repository.others.pop(cluster)
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
            repository.prune = prune(draw)
        case _:
            repository.typo = cluster


def prune(draw: random.Random) -> JsonObject:
    return {"enabled": draw.random() < 0.6, "maxDeletes": draw.choice([1, 2, 5])}


def manually(push: Push) -> Push:
    """The same commit, with a last wave that waits for approval."""
    fleet = json.loads(push.files["fleet.yaml"])
    waves = fleet["spec"]["rollout"].get("waves")
    if waves:
        waves[-1]["approval"] = "manual"
    return replace(push, files={**push.files, "fleet.yaml": json.dumps(fleet)})
