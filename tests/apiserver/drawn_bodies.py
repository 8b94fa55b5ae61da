"""Random bodies of the kinds that the product writes: metadata, spec and status."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

Obj = dict[str, Any]


def chance(r: random.Random, of_one: float) -> bool:
    return r.random() < of_one


def metadata(r: random.Random) -> Obj:
    """What a client may say in metadata beside the name."""
    found: Obj = {}
    if chance(r, 0.4):
        found["labels"] = r.choice(({}, {"a": "b"}, {"a": "c", "d": "e"}, {"a": "b", "d": ""}))
        if chance(r, 0.05):
            found["labels"] = {"a": "not a value"}
    if chance(r, 0.3):
        found["annotations"] = r.choice(({}, {"n": "1"}, {"n": "2", "o": ""}))
    if chance(r, 0.08):
        found["finalizers"] = r.choice(([], ["example.com/a"], ["example.com/a", "example.com/b"]))
    return found


def spec(r: random.Random, kind: str) -> Obj:
    """Right ones, and some with wrong types, fields that there are not, and values out of range."""
    return _SPECS[kind](r)


def _config_spec(r: random.Random) -> Obj:
    spec: Obj = {}
    if chance(r, 0.8):
        config: Obj = {"ignition": {"version": "3.4.0"}} if chance(r, 0.8) else {}
        if chance(r, 0.5):
            config["storage"] = r.choice(
                ({"files": [{"path": "/a"}]}, {}, {"files": []}, {"files": [{"path": "/b"}], "links": []})
            )
        if chance(r, 0.3):
            config["systemd"] = r.choice(({"units": [{"name": "a.service"}]}, {}, {"units": []}))
        if chance(r, 0.2):
            config["deep"] = {"x": r.choice(({"y": {}}, {"y": {"z": 1}}, {}, 1.5, True))}
        spec["config"] = config
    if chance(r, 0.3):
        spec["kernelArguments"] = r.choice(([], ["a"], ["a", "b"], "a", [1]))
    if chance(r, 0.05):
        # alone: a real server stops at it, and has come upon what else is wrong before or has not (the order of a Go map)
        return {"osImageURL": "x"}
    return spec


def _pool_spec(r: random.Random) -> Obj:
    spec: Obj = {}
    if chance(r, 0.5):
        spec["maxUnavailable"] = r.choice((1, "10%", 0, "x", 1.5))
    if chance(r, 0.3):
        spec["paused"] = r.choice((True, False, False, "yes"))
    if chance(r, 0.5):
        spec["nodeSelector"] = r.choice(
            (
                {"matchLabels": {"a": "b"}},
                {},
                {"matchLabels": {}},
                {"matchExpressions": [{"key": "a", "operator": "Exists"}]},
                {"matchExpressions": [{"key": "a"}]},
            )
        )
    if chance(r, 0.3):
        spec["machineConfigSelector"] = {"matchLabels": {"r": r.choice("wx")}}
    if chance(r, 0.2):
        spec["configuration"] = r.choice(({"name": "a"}, {"name": "a", "source": [{"name": "x"}]}, {}))
    return spec


def _module_spec(r: random.Random) -> Obj:
    spec: Obj = {} if chance(r, 0.05) else {"version": r.choice(("v1.0.0", "v1.0.1", "v2"))}
    if chance(r, 0.03):
        spec["version"] = 1
    if chance(r, 0.5):
        spec["config"] = r.choice(({}, {"a": 1}, {"a": {"b": []}, "c": "d"}, {"a": {}}))
    if chance(r, 0.2):
        spec["valuesOverride"] = r.choice(({"chart": {"x": True}}, {}))
    if chance(r, 0.2):
        spec["selectedCluster"] = r.choice(({"name": "edge-01"}, {}, {"name": 1}))
    if chance(r, 0.1):
        spec["entrypoint"] = "x"
    return spec


def _policy_spec(r: random.Random) -> Obj:
    spec: Obj = {}
    if chance(r, 0.7):
        spec["nodeDisruptionPolicy"] = _policy(r)
    if chance(r, 0.3):
        spec["defaultNodeDisruptionPolicySpecAction"] = {"files": _actions(r), "units": _actions(r)}
    return spec


def _policy(r: random.Random) -> Obj:
    policy: Obj = {}
    if chance(r, 0.6):
        paths = r.sample(("/a", "/b", "/c", "/d"), r.randrange(5))
        policy["files"] = [{"path": path, "actions": _actions(r)} for path in paths]
        if chance(r, 0.05):
            policy["files"].append({"actions": []})
        if paths and chance(r, 0.05):
            policy["files"].append({"path": paths[0], "actions": []})
    if chance(r, 0.4):
        policy["units"] = [
            {"name": f"{name}", "actions": _actions(r)}
            for name in r.sample(
                ("a.service", "b.timer", "c.socket", "d.path", "wrong"), r.choice((0, 1, 1, 2))
            )
        ]
    if chance(r, 0.4):
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
    return r.choice(_BAD if chance(r, 0.06) else _GOOD)


def status(r: random.Random, kind: str) -> Obj:
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
