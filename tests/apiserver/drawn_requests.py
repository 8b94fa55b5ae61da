"""Random sequences of requests on the kinds that the product writes: one seed, one kind, two names, two managers.

Most of what is drawn makes sense; some of it does not, in each of the ways in which people and programs go wrong.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.apiserver.drawn_bodies import Obj, chance, metadata, spec, status

_MACHINE, _MODULE = "machineconfiguration.alauda.io/v1alpha1", "cluster.alauda.io/v1alpha1"
KINDS = {
    "MachineConfig": (_MACHINE, "machineconfigs"),
    "MachineConfigPool": (_MACHINE, "machineconfigpools"),
    "MachineConfiguration": (_MACHINE, "machineconfigurations"),
    "ModuleInfo": (_MODULE, "moduleinfoes"),
}
"""API version and plural of the kinds that the product writes."""
MANAGERS = ("gitops-mc", "gitops-mc", "operator")


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
    body: Obj = {"apiVersion": KINDS[kind][0], "kind": kind, "metadata": {"name": name, **metadata(r)}}
    if not chance(r, 0.05):
        body["spec"] = spec(r, kind)
    return body


def _whole_status(r: random.Random, kind: str, name: str) -> Obj:
    """A body for the status endpoint. What there is beside status is ignored there, and not drawn: where it is of wrong
    types a real server forgets who owns what (its log: "SHOULD NOT HAPPEN"), which the embedded one does not imitate.
    """
    body: Obj = {"apiVersion": KINDS[kind][0], "kind": kind, "metadata": {"name": name, **metadata(r)}}
    return body | {"status": status(r, kind)}


def _merge(r: random.Random, kind: str, _name: str) -> Obj:
    patch: Obj = {}
    if chance(r, 0.8):
        patch["spec"] = _with_nulls(r, spec(r, kind))
    if chance(r, 0.4):
        patch["metadata"] = _with_nulls(r, metadata(r))
    return patch


def _with_nulls(r: random.Random, value: Obj) -> Obj:
    return {key: None if chance(r, 0.2) else item for key, item in value.items()}


def _operations(r: random.Random, kind: str, _name: str) -> list[Obj]:
    """Operations of a JSON patch; `test`s that hold and that do not."""
    drawn = (
        {"op": "test", "path": "/kind", "value": kind},
        {"op": "test", "path": "/metadata/name", "value": "another"},
        {"op": "add", "path": "/metadata/annotations", "value": {"p": "1"}},
        {"op": "add", "path": "/metadata/labels/x", "value": "1"},
        {"op": "remove", "path": "/metadata/labels"},
        {"op": "remove", "path": "/metadata/annotations/n"},
        {"op": "add", "path": "/spec", "value": spec(r, kind)},
        {"op": "replace", "path": "/spec/paused", "value": True},
        {"op": "add", "path": "/spec/paused", "value": False},
        {"op": "remove", "path": "/spec/maxUnavailable"},
        {"op": "copy", "from": "/metadata/name", "path": "/metadata/annotations/copied"},
    )
    return r.sample(drawn, r.randrange(1, 4))


def _status_patch(r: random.Random, kind: str, _name: str) -> Obj:
    patch: Obj = {"status": status(r, kind)}
    if chance(r, 0.3):
        patch["metadata"] = metadata(r)
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
