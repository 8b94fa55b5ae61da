"""Random sequences of requests on the kinds that the product writes: one seed, one kind, two names, two managers.

Most of what is drawn makes sense; some of it does not, in each of the ways in which people and programs go wrong.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_MACHINE, _MODULE = "machineconfiguration.alauda.io/v1alpha1", "cluster.alauda.io/v1alpha1"
KINDS = {
    "MachineConfig": (_MACHINE, "machineconfigs"),
    "MachineConfigPool": (_MACHINE, "machineconfigpools"),
    "MachineConfiguration": (_MACHINE, "machineconfigurations"),
    "ModuleInfo": (_MODULE, "moduleinfoes"),
}
"""API version and plural of the kinds that the product writes."""
MANAGERS = ("gitops-mc", "gitops-mc", "operator")
Obj = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Step:
    """One request, but for what it takes from the object as the server has it."""

    what: str
    manager: str
    name: str
    body: Any = None
    force: str = "false"

    def __str__(self) -> str:
        return f"{self.what} {self.name} by {self.manager} (force {self.force}): {json.dumps(self.body)}"


def sequence(seed: int, length: int) -> tuple[str, tuple[Step, ...]]:
    """The kind and the steps of a seed."""
    r = random.Random(seed)
    kind = r.choice(sorted(KINDS))
    names = (f"d{seed}-a", f"d{seed}-a", f"d{seed}-b")
    return kind, tuple(_step(r, kind, r.choice(names)) for _ in range(length))


def _step(r: random.Random, kind: str, name: str) -> Step:
    what, make = r.choices(_STEPS, weights=[weight for _, _, weight in _TABLE])[0]
    body = make(r, kind, name)
    return Step(what, r.choice(MANAGERS), name, body, r.choice(("false", "false", "true")))


def _whole(r: random.Random, kind: str, name: str) -> Obj:
    body: Obj = {"apiVersion": KINDS[kind][0], "kind": kind, "metadata": {"name": name, **_metadata(r)}}
    if not _chance(r, 0.05):
        body["spec"] = _spec(r, kind)
    return body


def _whole_status(r: random.Random, kind: str, name: str) -> Obj:
    """A body for the status endpoint. What there is beside status is ignored there, and not drawn: where it is of wrong
    types a real server forgets who owns what (its log: "SHOULD NOT HAPPEN"), which the embedded one does not imitate.
    """
    body: Obj = {"apiVersion": KINDS[kind][0], "kind": kind, "metadata": {"name": name, **_metadata(r)}}
    return body | {"status": _status(r, kind)}


def _merge(r: random.Random, kind: str, _name: str) -> Obj:
    patch: Obj = {}
    if _chance(r, 0.8):
        patch["spec"] = _with_nulls(r, _spec(r, kind))
    if _chance(r, 0.4):
        patch["metadata"] = _with_nulls(r, _metadata(r))
    return patch


def _with_nulls(r: random.Random, value: Obj) -> Obj:
    return {key: None if _chance(r, 0.2) else item for key, item in value.items()}


def _operations(r: random.Random, kind: str, _name: str) -> list[Obj]:
    """Operations of a JSON patch; `test`s that hold and that do not."""
    drawn = (
        {"op": "test", "path": "/kind", "value": kind},
        {"op": "test", "path": "/metadata/name", "value": "another"},
        {"op": "add", "path": "/metadata/annotations", "value": {"p": "1"}},
        {"op": "add", "path": "/metadata/labels/x", "value": "1"},
        {"op": "remove", "path": "/metadata/labels"},
        {"op": "remove", "path": "/metadata/annotations/n"},
        {"op": "add", "path": "/spec", "value": _spec(r, kind)},
        {"op": "replace", "path": "/spec/paused", "value": True},
        {"op": "add", "path": "/spec/paused", "value": False},
        {"op": "remove", "path": "/spec/maxUnavailable"},
        {"op": "copy", "from": "/metadata/name", "path": "/metadata/annotations/copied"},
    )
    return r.sample(drawn, r.randrange(1, 4))


def _status_patch(r: random.Random, kind: str, _name: str) -> Obj:
    patch: Obj = {"status": _status(r, kind)}
    if _chance(r, 0.3):
        patch["metadata"] = _metadata(r)
    return patch


def _options(r: random.Random, _kind: str, _name: str) -> Obj | None:
    return r.choice(
        (
            None,
            {},
            {"dryRun": ["All"]},
            {"preconditions": {"uid": "another"}},
            {"preconditions": {"resourceVersion": "1"}},
            {"propagationPolicy": "Background"},
        )
    )


def _metadata(r: random.Random) -> Obj:
    found: Obj = {}
    if _chance(r, 0.4):
        found["labels"] = r.choice(({}, {"a": "b"}, {"a": "c", "d": "e"}, {"a": "b", "d": ""}))
        if _chance(r, 0.05):
            found["labels"] = {"a": "not a value"}
    if _chance(r, 0.3):
        found["annotations"] = r.choice(({}, {"n": "1"}, {"n": "2", "o": ""}))
    if _chance(r, 0.08):
        found["finalizers"] = r.choice(([], ["example.com/a"], ["example.com/a", "example.com/b"]))
    return found


def _spec(r: random.Random, kind: str) -> Obj:
    return _SPECS[kind](r)


def _config_spec(r: random.Random) -> Obj:
    spec: Obj = {}
    if _chance(r, 0.8):
        config: Obj = {"ignition": {"version": "3.4.0"}} if _chance(r, 0.8) else {}
        if _chance(r, 0.5):
            config["storage"] = r.choice(
                ({"files": [{"path": "/a"}]}, {}, {"files": []}, {"files": [{"path": "/b"}], "links": []})
            )
        if _chance(r, 0.3):
            config["systemd"] = r.choice(({"units": [{"name": "a.service"}]}, {}, {"units": []}))
        if _chance(r, 0.2):
            config["deep"] = {"x": r.choice(({"y": {}}, {"y": {"z": 1}}, {}, 1.5, True))}
        spec["config"] = config
    if _chance(r, 0.3):
        spec["kernelArguments"] = r.choice(([], ["a"], ["a", "b"], "a", [1]))
    if _chance(r, 0.05):
        # alone: a real server stops at it, and has come upon what else is wrong before or has not (the order of a Go map)
        return {"osImageURL": "x"}
    return spec


def _pool_spec(r: random.Random) -> Obj:
    spec: Obj = {}
    if _chance(r, 0.5):
        spec["maxUnavailable"] = r.choice((1, "10%", 0, "x", 1.5))
    if _chance(r, 0.3):
        spec["paused"] = r.choice((True, False, False, "yes"))
    if _chance(r, 0.5):
        spec["nodeSelector"] = r.choice(
            (
                {"matchLabels": {"a": "b"}},
                {},
                {"matchLabels": {}},
                {"matchExpressions": [{"key": "a", "operator": "Exists"}]},
                {"matchExpressions": [{"key": "a"}]},
            )
        )
    if _chance(r, 0.3):
        spec["machineConfigSelector"] = {"matchLabels": {"r": r.choice("wx")}}
    if _chance(r, 0.2):
        spec["configuration"] = r.choice(({"name": "a"}, {"name": "a", "source": [{"name": "x"}]}, {}))
    return spec


def _module_spec(r: random.Random) -> Obj:
    spec: Obj = {} if _chance(r, 0.05) else {"version": r.choice(("v1.0.0", "v1.0.1", "v2"))}
    if _chance(r, 0.03):
        spec["version"] = 1
    if _chance(r, 0.5):
        spec["config"] = r.choice(({}, {"a": 1}, {"a": {"b": []}, "c": "d"}, {"a": {}}))
    if _chance(r, 0.2):
        spec["valuesOverride"] = r.choice(({"chart": {"x": True}}, {}))
    if _chance(r, 0.2):
        spec["selectedCluster"] = r.choice(({"name": "edge-01"}, {}, {"name": 1}))
    if _chance(r, 0.1):
        spec["entrypoint"] = "x"
    return spec


def _policy_spec(r: random.Random) -> Obj:
    spec: Obj = {}
    if _chance(r, 0.7):
        spec["nodeDisruptionPolicy"] = _policy(r)
    if _chance(r, 0.3):
        spec["defaultNodeDisruptionPolicySpecAction"] = {"files": _actions(r), "units": _actions(r)}
    return spec


def _policy(r: random.Random) -> Obj:
    policy: Obj = {}
    if _chance(r, 0.6):
        paths = r.sample(("/a", "/b", "/c", "/d"), r.randrange(5))
        policy["files"] = [{"path": path, "actions": _actions(r)} for path in paths]
        if _chance(r, 0.05):
            policy["files"].append({"actions": []})
        if paths and _chance(r, 0.05):
            policy["files"].append({"path": paths[0], "actions": []})
    if _chance(r, 0.4):
        policy["units"] = [
            {"name": f"{name}", "actions": _actions(r)}
            for name in r.sample(
                ("a.service", "b.timer", "c.socket", "d.path", "wrong"), r.choice((0, 1, 1, 2))
            )
        ]
    if _chance(r, 0.4):
        policy["sshkey"] = {"actions": _actions(r)}
    return policy


_GOOD: tuple[list[Obj], ...] = (
    [{"type": "None"}],
    [{"type": "Drain"}],
    [{"type": "Drain"}, {"type": "Restart", "restart": {"serviceName": "a.service"}}],
    [],
)
_BAD: tuple[list[Obj], ...] = (
    [{"type": "Reboot"}, {"type": "Drain"}],
    [{"type": "Restart"}],
    [{"type": "Explode"}],
    [{"type": "Drain", "reload": {"serviceName": "a.service"}}],
    [{"type": "Reload", "reload": {"serviceName": "a"}}],
    [{}],
)


def _actions(r: random.Random) -> list[Obj]:
    return r.choice(_BAD if _chance(r, 0.06) else _GOOD)


def _status(r: random.Random, kind: str) -> Obj:
    if kind == "MachineConfiguration":
        condition: Obj = {
            "type": r.choice(("Ready", "Fine")),
            "status": r.choice(("True", "False", "Maybe")),
            "reason": r.choice(("AsExpected", "")),
            "message": "m",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        return r.choice(
            (
                {"observedGeneration": r.randrange(3)},
                {"conditions": [condition]},
                {"nodeDisruptionPolicyStatus": {"clusterPolicies": _policy(r)}},
                {},
            )
        )
    if kind == "ModuleInfo":
        release = {"name": "a", "failed": False, "ready": r.choice((True, False, "yes")), "synced": True}
        return r.choice(
            (
                {"phase": "Running", "version": "v1.0.0", "appReleases": [release]},
                {"phase": "Processing", "version": ""},
                {"phase": "Running"},
                {"phase": "Running", "version": "v1", "transitTimeout": 3, "removeIsPrevented": True},
            )
        )
    condition = {
        "type": "Updated",
        "status": "True",
        "lastTransitionTime": r.choice((None, "2026-01-01T00:00:00Z")),
    }
    return r.choice(
        (
            {"machineCount": r.randrange(3), "conditions": [condition]},
            {"configuration": {"name": "a"}},
            {"observedGeneration": "x"},
            {},
        )
    )


_SPECS: dict[str, Callable[[random.Random], Obj]] = {
    "MachineConfig": _config_spec,
    "MachineConfigPool": _pool_spec,
    "MachineConfiguration": _policy_spec,
    "ModuleInfo": _module_spec,
}


def _chance(r: random.Random, of_one: float) -> bool:
    return r.random() < of_one


_TABLE: tuple[tuple[str, Callable[[random.Random, str, str], Any], int], ...] = (
    ("apply", _whole, 8),
    ("apply --dry-run", _whole, 2),
    ("apply status", _whole_status, 1),
    ("create", _whole, 2),
    ("replace", _whole, 2),
    ("replace an old version", _whole, 1),
    ("replace status", _whole_status, 1),
    ("merge", _merge, 3),
    ("merge --dry-run", _merge, 1),
    ("merge status", _status_patch, 2),
    ("patch", _operations, 3),
    ("delete", _options, 1),
)
_STEPS = tuple((what, make) for what, make, _ in _TABLE)
