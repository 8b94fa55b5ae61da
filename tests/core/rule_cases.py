"""Cases for rules, as data: what a cluster or a fleet has, in short, with the facts about the live cluster.

In tests/data/rules/ each rule has `violating` and `clean` cases. A case has `objects` (each by a builder's name), or
`clusters` by name for a rule about the fleet; `live` facts by the names of LiveCluster's fields; and, where it violates,
the field (`at`), words of the message (`says`), and the rules that cannot but be broken with it (`also`).
Where a case has no policy, one stands in by which a changed file drains its node, so that no file is inert; where it has
one, a config has what its entries decide for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from gitops_mc.core.live import LiveCluster, objects, unread
from gitops_mc.core.model import (
    CLUSTER_LABEL,
    MODULE_LABEL,
    MODULE_TYPE_LABEL,
    ROLE_LABEL,
    Content,
    DesiredCluster,
    JsonObject,
    Kind,
    Known,
    Manifest,
    Place,
    Problem,
    ResourceKey,
)
from gitops_mc.core.policy import DEFAULT_POLICY
from gitops_mc.core.pools import BUILT_IN_POOLS
from gitops_mc.core.rules import check, check_fleet
from gitops_mc.core.rules.live import check_with_facts

DATA = Path(__file__).parents[1] / "data" / "rules"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
CLUSTER = "edge-01"


def machine_config(short: JsonObject) -> JsonObject:
    """`files`, `units`, `users`: entries; `config`: sections; `large`: a file of so many characters; `spec`: the rest."""
    short = {"role": "worker", "name": "50-worker-x", **short}
    assert short.keys() <= {"name", "role", "config", "files", "units", "users", "large", "path", "spec"}
    config: JsonObject = {"ignition": {"version": "3.4.0"}, **short.get("config", {})}
    if "files" in short:
        config["storage"] = {"files": [with_contents(file) for file in short["files"]]}
    if "large" in short:
        source = "data:," + "x" * short["large"]
        config["storage"] = {"files": [{"path": short.get("path", "/etc/a"), "contents": {"source": source}}]}
    if "units" in short:
        config["systemd"] = {"units": short["units"]}
    if "users" in short:
        config["passwd"] = {"users": short["users"]}
    labels = {ROLE_LABEL: short["role"]} if short["role"] else {}
    return {
        "apiVersion": Kind.MACHINE_CONFIG.api_version,
        "kind": "MachineConfig",
        "metadata": {"name": short["name"], "labels": labels},
        "spec": {"config": config, **short.get("spec", {})},
    }


def with_contents(file: JsonObject) -> JsonObject:
    """A file that says nothing of its contents is empty; `contents: null` leaves them out."""
    return file if "contents" in file or "append" in file else {**file, "contents": {"source": "data:,"}}


def pool(short: JsonObject) -> JsonObject:
    """A custom pool that says nothing of its selectors has good ones; `nodeSelector: null` leaves one out."""
    spec = {key: value for key, value in short.items() if key != "name"}
    name = short["name"]
    if name not in BUILT_IN_POOLS:
        roles = {"key": ROLE_LABEL, "operator": "In", "values": ["worker", name]}
        spec.setdefault("machineConfigSelector", {"matchExpressions": [roles]})
        spec.setdefault("nodeSelector", {"matchLabels": {f"node-role.kubernetes.io/{name}": ""}})
    return {"kind": "MachineConfigPool", "metadata": {"name": short["name"]}, "spec": spec}


def policy(short: JsonObject) -> JsonObject:
    spec = {key: value for key, value in short.items() if key not in ("name", "many_files")}
    if "many_files" in short:
        files = [{"path": f"/etc/{n}", "actions": [{"type": "None"}]} for n in range(short["many_files"])]
        spec = {"nodeDisruptionPolicy": {"files": files}}
    return {"kind": "MachineConfiguration", "metadata": {"name": short.get("name", "cluster")}, "spec": spec}


def module(short: JsonObject) -> JsonObject:
    name = short.get("name", "machine-config")
    labels = {
        CLUSTER_LABEL: CLUSTER,
        MODULE_LABEL: name,
        MODULE_TYPE_LABEL: "plugin",
        **short.get("labels", {}),
    }
    spec = {"version": "v4.1.0", **{k: v for k, v in short.items() if k not in ("name", "labels")}}
    return {"kind": "ModuleInfo", "metadata": {"name": f"x-{name}", "labels": labels}, "spec": spec}


BUILDERS: dict[str, Callable[[JsonObject], JsonObject]] = {
    "mc": machine_config,
    "pool": pool,
    "policy": policy,
    "module": module,
    "raw": dict,
}


def manifest(body: JsonObject, cluster: str = CLUSTER) -> Manifest:
    kind = Kind(body["kind"])
    name = body["metadata"].get("name", "")
    if kind is Kind.MODULE_INFO:
        name = body["metadata"].get("labels", {}).get(MODULE_LABEL) or "module"
    return Manifest(ResourceKey(cluster, kind, name), body, Place(f"clusters/{cluster}/{name}.yaml", 1, 1))


def cluster_of(manifests: list[Manifest], name: str = CLUSTER) -> DesiredCluster:
    return DesiredCluster(name, tuple(sorted(manifests, key=lambda m: m.key)), Content("0" * 64))


@dataclass(frozen=True)
class Case:
    rule: str
    says: str
    at: str
    also: frozenset[str]
    clusters: tuple[DesiredCluster, ...]
    live: LiveCluster

    def problems(self) -> list[Problem]:
        """Everything that any rule says of it."""
        found = [
            *(p for cluster in self.clusters for p in check(cluster, DEFAULT_POLICY)),
            *(p for cluster in self.clusters for p in check_with_facts(cluster, DEFAULT_POLICY, self.live)),
            *check_fleet(self.clusters),
        ]
        return [p for p in found if isinstance(p, Problem)]


def live_of(facts: dict[str, Any]) -> LiveCluster:
    known = {name: Known(objects(value), NOW) for name, value in facts.items()}
    return replace(unread(CLUSTER, NOW), **known)  # type: ignore[arg-type]


QUIET = policy(
    {"defaultNodeDisruptionPolicySpecAction": {"files": [{"type": "Drain"}], "units": [{"type": "Reboot"}]}}
)


def used_by(policy: JsonObject) -> JsonObject:
    """A config with the files and units that a policy has entries for."""
    entries = (policy["spec"] or {}).get("nodeDisruptionPolicy") or {}
    listed = entries if isinstance(entries, dict) else {}
    paths = {e["path"]: None for e in listed.get("files", ()) if str(e.get("path", "")).startswith("/etc/")}
    names = {e["name"]: None for e in listed.get("units", ()) if "name" in e}
    files = [{"path": path} for path in paths if not path.endswith("/")]
    return machine_config(
        {
            "name": "99-master-used",
            "role": "master",
            "files": files,
            "units": [{"name": name} for name in names],
        }
    )


def _cluster(name: str, listed: list[JsonObject], rule: str) -> DesiredCluster:
    bodies = [BUILDERS[kind](short) for item in listed for kind, short in item.items()]
    kinds = {body["kind"] for body in bodies}
    if Kind.MACHINE_CONFIGURATION.value not in kinds and rule != "file-inert":
        bodies.append(QUIET)
    if rule != "policy-entry-unused":
        policies = [body for body in bodies if body["kind"] == Kind.MACHINE_CONFIGURATION.value]
        bodies += [used_by(body) for body in policies if body is not QUIET]
    for body in bodies:
        if name != CLUSTER and body["kind"] == Kind.MODULE_INFO.value:
            body["metadata"]["labels"][CLUSTER_LABEL] = name
    return cluster_of([manifest(body, name) for body in bodies], name)


def cases(group: str) -> Iterator[tuple[str, Case]]:
    """The cases of a group, each with a name."""
    for file in sorted(DATA.glob("*.yaml")):
        for rule, groups in yaml.safe_load(file.read_text()).items():
            for number, case in enumerate(groups[group]):
                clusters = case.get("clusters") or {CLUSTER: case["objects"]}
                yield (
                    f"{rule}-{number}",
                    Case(
                        rule,
                        case.get("says", ""),
                        case.get("at", ""),
                        frozenset(case.get("also", ())),
                        tuple(_cluster(name, listed, rule) for name, listed in clusters.items()),
                        live_of(case.get("live", {})),
                    ),
                )
