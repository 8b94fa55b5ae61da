"""People with kubectl: what somebody does by hand to a cluster, now or at a set time."""

from __future__ import annotations

import heapq
import json
from collections.abc import Callable
from datetime import datetime

from gitops_mc.core.model import JsonObject, annotations_of, metadata, name_of
from gitops_mc.sandbox.client import ApiClient, Handler, Touch
from gitops_mc.sandbox.faults import FOREVER

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


class Person:
    """Somebody at one cluster. Writes carry the field managers that kubectl uses."""

    def __init__(self, server: Handler, token: str) -> None:
        self._edit = ApiClient(server, token, "kubectl-edit")
        self._apply = ApiClient(server, token, "kubectl-client-side-apply")

    def get(self, resource: str, name: str, namespace: str = "") -> JsonObject | None:
        return self._edit.get(resource, name, namespace)

    def list_all(self, resource: str) -> list[JsonObject]:
        return self._edit.list_all(resource)

    def cordon(self, node: str) -> None:
        self._edit.merge("nodes", node, {"spec": {"unschedulable": True}})

    def uncordon(self, node: str) -> None:
        self._edit.merge("nodes", node, {"spec": {"unschedulable": None}})

    def label_node(self, node: str, **labels: str | None) -> None:
        """Set labels; None removes one. Names that are no Python words go in by `**{...}`."""
        self._edit.merge("nodes", node, {"metadata": {"labels": labels}})

    def pause(self, pool: str) -> None:
        self._edit.merge("machineconfigpools", pool, {"spec": {"paused": True}})

    def unpause(self, pool: str) -> None:
        self._edit.merge("machineconfigpools", pool, {"spec": {"paused": False}})

    def edit(self, resource: str, name: str, patch: JsonObject, namespace: str = "") -> JsonObject:
        """`kubectl edit`: a merge patch."""
        return self._edit.merge(resource, name, patch, namespace)

    def apply(self, resource: str, body: JsonObject) -> JsonObject:
        """`kubectl apply`, client side: creates, or patches, notes what was applied, and removes what it applied before
        and no longer says.
        """
        noted = json.dumps(body, sort_keys=True) + "\n"
        meta = metadata(body)
        notes = {**(meta.get("annotations") or {}), _LAST_APPLIED: noted}
        written = {**body, "metadata": {**meta, "annotations": notes}}
        live = self._apply.get(resource, name_of(body))
        if live is None:
            return self._apply.create(resource, written)
        before = json.loads(annotations_of(live).get(_LAST_APPLIED, "{}"))
        return self._apply.merge(resource, name_of(body), _dropping(before, written))

    def delete(self, resource: str, name: str, namespace: str = "") -> None:
        self._edit.delete(resource, name, namespace)


def _dropping(before: JsonObject, body: JsonObject) -> JsonObject:
    """A merge patch that sets a body and removes what only the former one had."""
    patch: JsonObject = {key: None for key in before if key not in body}
    for key, value in body.items():
        former = before.get(key)
        if isinstance(value, dict) and isinstance(former, dict):
            patch[key] = _dropping(former, value)
        else:
            patch[key] = value
    return patch


class Agenda:
    """The actor that does things at set times, in the order of time and then of planning."""

    name = "agenda"
    interests: frozenset[tuple[str, str]] = frozenset()

    def __init__(self) -> None:
        self._items: list[tuple[datetime, int, Callable[[], object]]] = []
        self._count = 0

    def add(self, when: datetime, act: Callable[[], object]) -> None:
        self._count += 1
        heapq.heappush(self._items, (when, self._count, act))

    def notice(self, touch: Touch) -> None:
        """It follows the clock alone."""

    def step(self, now: datetime) -> datetime:
        while self._items and self._items[0][0] <= now:
            heapq.heappop(self._items)[2]()
        return self._items[0][0] if self._items else FOREVER
