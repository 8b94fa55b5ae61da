"""The commits of a simulation, drawn: good ones, bad ones, their repairs, reverts, and what changes nothing."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Mapping
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
        note, how = draw.choice(_CHANGES)
        if how is None:
            repository = copy.deepcopy(draw.choice(earlier))
        else:
            how(_drawn(repository, str(number), draw, edges))
        earlier.append(copy.deepcopy(repository))
        pushes.append(Push(at, repository.files(), note))
    return tuple(pushes)


@dataclass(frozen=True, slots=True)
class _Change:
    """What a commit is made of: a repository to be changed, and what was drawn for it."""

    repository: Repository
    draw: random.Random
    value: str
    name: str
    """Of a config of all clusters."""
    cluster: str

    @property
    def role(self) -> str:
        return self.name.split("-")[1]

    def own(self, name: str, role: str, value: str) -> None:
        """A config of this cluster alone."""
        self.repository.own.setdefault(self.cluster, {})[name] = (role, value)


def _drawn(repository: Repository, value: str, draw: random.Random, edges: list[str]) -> _Change:
    name = draw.choice(sorted(repository.shared) or ["50-worker-a-u"])
    return _Change(repository, draw, value, name, draw.choice(edges))


def _value(c: _Change) -> None:
    c.repository.shared[c.name] = (c.role, f"{c.value}{c.draw.choice(['', MORE])}")


def _own(c: _Change) -> None:
    c.own(f"6{c.draw.randint(0, 1)}-worker-own{c.draw.choice(['', '-u'])}", "worker", c.value)


def _add(c: _Change) -> None:
    c.repository.shared[f"7{c.value}-worker-new-u"] = ("worker", c.value)
    if c.cluster in c.repository.pools:
        c.own("40-gpu-x", "gpu", c.value)


def _remove(c: _Change) -> None:
    c.repository.shared.pop(c.name, None)


def _bad(c: _Change) -> None:
    c.repository.shared[c.name] = (c.role, f"{MARKER} {c.value}")


def _bad_one(c: _Change) -> None:
    c.own("60-worker-own", "worker", f"{MARKER} {c.value}")


def _repair(c: _Change) -> None:
    for configs in (c.repository.shared, *c.repository.own.values()):
        for name, (role, value) in configs.items():
            configs[name] = (role, f"repaired {c.value}" if value.startswith(MARKER) else value)
    c.repository.typo = ""


def _remark(c: _Change) -> None:
    c.repository.remarks += 1


def _policy(c: _Change) -> None:
    action = c.draw.choice(["None", "Reboot", "Drain"])
    c.repository.policies[c.draw.choice(["/etc/5", "/etc/6"])] = action
    if c.draw.random() < 0.3:
        c.repository.policies.pop("/etc/5", None)


def _pool(c: _Change) -> None:
    for cluster in c.repository.labelled:
        c.repository.pools[cluster] = c.draw.randint(1, 2)


def _module(c: _Change) -> None:
    for cluster in c.repository.clusters:
        c.repository.modules[cluster] = c.draw.choice([MACHINE_CONFIG_VERSION, NEWER_VERSION])


def _other(c: _Change) -> None:
    for cluster in c.repository.clusters:
        c.repository.others[cluster] = c.draw.choice(OTHER_VERSIONS)
    if c.draw.random() < 0.5:
        c.repository.others.pop(c.cluster)


def _limits(c: _Change) -> None:
    c.repository.rollout = {**c.repository.rollout, "maxFailures": c.draw.randint(0, 2)}
    c.repository.prune = prune(c.draw)


def _typo(c: _Change) -> None:
    c.repository.typo = c.cluster


def _more(c: _Change) -> None:
    """Every config gets a second file."""
    for name, (role, value) in c.repository.shared.items():
        c.repository.shared[name] = (role, value.removesuffix(MORE) + MORE)


def _less(c: _Change) -> None:
    """No config has a second file."""
    for name, (role, value) in c.repository.shared.items():
        c.repository.shared[name] = (role, value.removesuffix(MORE))


_TABLE: tuple[tuple[str, int, Callable[[_Change], None] | None], ...] = (
    ("value", 3, _value),
    ("own", 2, _own),
    ("add", 1, _add),
    ("remove", 1, _remove),
    ("bad", 2, _bad),
    ("bad one", 1, _bad_one),
    ("repair", 2, _repair),
    ("remark", 1, _remark),
    ("revert", 2, None),
    ("policy", 1, _policy),
    ("pool", 1, _pool),
    ("module", 1, _module),
    ("other", 1, _other),
    ("limits", 1, _limits),
    ("typo", 1, _typo),
    ("more", 1, _more),
    ("less", 2, _less),
)
"""What a commit may be, how often, and how it is made; None: an earlier state comes back."""
_CHANGES = tuple((name, how) for name, times, how in _TABLE for _ in range(times))


def prune(draw: random.Random) -> JsonObject:
    return {"enabled": draw.random() < 0.6, "maxDeletes": draw.choice([1, 2, 5])}


def manually(push: Push) -> Push:
    """The same commit, with a last wave that waits for approval."""
    fleet = json.loads(push.files["fleet.yaml"])
    waves = fleet["spec"]["rollout"].get("waves")
    if waves:
        waves[-1]["approval"] = "manual"
    return replace(push, files={**push.files, "fleet.yaml": json.dumps(fleet)})
