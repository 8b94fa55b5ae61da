"""A Fleet and its ClusterRollouts on the global cluster, as they were read or written last.

One list of heads a look; a body only where somebody else has changed it. Every write tests the resourceVersion of what it was
decided on, so one that was decided on an older state is refused: that is how a former leader, and a human in between, are seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final

from gitops_mc.app.api import RESOURCES, ClusterApi, Part
from gitops_mc.core.custom import FLEET_KIND, GROUP_VERSION, ROLLOUT_KIND
from gitops_mc.core.errors import AlreadyExistsError, NotFoundError, RefusedError, StaleError
from gitops_mc.core.model import (
    FLEET_LABEL,
    GLOBAL_CLUSTER,
    JsonObject,
    annotations_of,
    labels_of,
    metadata,
    name_of,
    resource_version,
    uid_of,
)

FLEET: Final = RESOURCES[FLEET_KIND]
ROLLOUT: Final = RESOURCES[ROLLOUT_KIND]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What an object is to say: members of its spec (None: to be taken out), its status, and annotations to be taken off."""

    spec: Mapping[str, Any]
    status: JsonObject
    done: Mapping[str, str] = field(default_factory=dict)
    """Requests that have been carried out, with the value they had; one that was made anew meanwhile stays."""


@dataclass(slots=True)
class FleetObjects:
    """The objects of one Fleet. One thread at a time."""

    api: ClusterApi
    namespace: str
    name: str
    fleet: JsonObject = field(default_factory=dict)
    rollouts: dict[str, JsonObject] = field(default_factory=dict)
    """By cluster."""
    found: set[str] = field(default_factory=set)
    """Clusters whose object stood there although no look had shown it: all that it remembers is to be read."""
    claims: dict[str, str] = field(default_factory=dict)
    """Clusters that a Fleet anywhere has claimed before this one, and that Fleet (`<namespace>/<name>`)."""
    foreign: dict[str, str] = field(default_factory=dict)
    """Clusters that a ClusterRollout of another Fleet has claimed, and that Fleet (`<namespace>/<name>`), as long as
    that object stands."""

    def refresh(self) -> Mapping[str, JsonObject]:
        """Look; what somebody else has changed since (`""`: the Fleet), as it was known before. Raises NotFoundError when the Fleet is
        gone, and what the API raises; then nothing is known to have changed.
        """
        fleet = self.api.get(GLOBAL_CLUSTER, FLEET, self.name, namespace=self.namespace)
        every = self.api.list_metadata(GLOBAL_CLUSTER, ROLLOUT)
        heads = [h for h in every if self._is_ours(h)]
        moved = [
            name_of(h)
            for h in heads
            if resource_version(h) != resource_version(self.rollouts.get(name_of(h), {}))
        ]
        bodies = {name: self._rollout(name) for name in moved}
        changed = {name: self.rollouts.get(name, {}) for name, body in bodies.items() if body is not None}
        if resource_version(fleet) != resource_version(self.fleet):
            changed[""] = self.fleet
        self.claims = _claims([h for h in every if not self._is_ours(h)], heads)
        here = {name_of(h) for h in every if _namespace(h) == self.namespace}
        self.foreign = {name: owner for name, owner in self.foreign.items() if name in here}
        self.fleet = fleet
        self.rollouts = {
            name: body
            for name, body in sorted({**self.rollouts, **bodies}.items())
            if body is not None and name in {name_of(h) for h in heads}
        }
        return changed

    def claim(self, identity: str) -> None:
        """Name the installation that may act, where none is named; the next look shows whether it is this one."""
        changes = [{"op": "add", "path": "/spec/activeOn", "value": identity}]
        self.fleet = self._patched(FLEET, self.fleet, changes, Part.WHOLE)

    def show(self, status: JsonObject) -> None:
        """The Fleet's status, and nothing else of it. Raises as `keep_fleet`."""
        self.fleet = self._status(FLEET, self.fleet, Wanted({}, status))

    def show_rollout(self, cluster: str, status: JsonObject) -> None:
        """The status of a cluster's object, and nothing else of it. Raises as `keep_fleet`."""
        self.rollouts[cluster] = self._status(ROLLOUT, self.rollouts[cluster], Wanted({}, status))

    def keep_fleet(self, wanted: Wanted) -> None:
        """Write what differs. Raises StaleError when it has changed meanwhile, and what the API raises."""
        self.fleet = self._kept(FLEET, self.fleet, wanted)

    def drop(self, cluster: str) -> None:
        """Delete the object of a cluster, as it was read last. One that is gone is no error; raises StaleError and the like."""
        body = self.rollouts.get(cluster)
        if body is None:
            return
        with suppress(NotFoundError):
            self.api.delete(
                GLOBAL_CLUSTER,
                ROLLOUT,
                cluster,
                uid=uid_of(body),
                version=resource_version(body),
                namespace=self.namespace,
            )
        del self.rollouts[cluster]

    def keep_rollout(self, cluster: str, wanted: Wanted) -> None:
        """The same for a cluster, whose object is made where there is none. Raises RefusedError where another Fleet has it."""
        before = self.rollouts.get(cluster)
        if before is None:
            before = self._made(cluster, wanted)
        self.rollouts[cluster] = self._kept(ROLLOUT, before, wanted)
        self.foreign.pop(cluster, None)

    def _made(self, cluster: str, wanted: Wanted) -> JsonObject:
        """A new object. Where one stands that no look has shown (somebody took its label off), it is ours or another Fleet's;
        ours is labelled again, and nothing is written over what it remembers: StaleError, so that all is looked at again.
        """
        spec = {k: v for k, v in wanted.spec.items() if v is not None}
        body = {
            "apiVersion": GROUP_VERSION,
            "kind": ROLLOUT_KIND,
            "metadata": {"name": cluster, "namespace": self.namespace, "labels": {FLEET_LABEL: self.name}},
            "spec": {"fleet": self.name, "cluster": cluster, **spec},
        }
        try:
            return self.api.create(GLOBAL_CLUSTER, ROLLOUT, body, namespace=self.namespace)
        except AlreadyExistsError:
            found = self._rollout(cluster)
            if found is None:
                raise
        owner = str((found.get("spec") or {}).get("fleet") or "")
        if owner != self.name:
            self.foreign[cluster] = f"{self.namespace}/{owner}"
            raise RefusedError(f"Fleet {owner} has claimed {cluster}, and a cluster belongs to one Fleet")
        self.api.json_patch(
            GLOBAL_CLUSTER, ROLLOUT, cluster, _labelled(found, self.name), namespace=self.namespace
        )
        self.found.add(cluster)
        told = f"ClusterRollout {cluster} had lost the label {FLEET_LABEL}, and has it again"
        raise StaleError(told, status=HTTPStatus.CONFLICT)

    def _kept(self, what: Any, body: JsonObject, wanted: Wanted) -> JsonObject:
        """Both parts, in the order that is safe: holds before clocks; but what a human asked for is taken off last, so that
        a death in between carries it out again.
        """
        writes = [self._status, self._spec] if wanted.done else [self._spec, self._status]
        for write in writes:
            body = write(what, body, wanted)
        return body

    def _spec(self, what: Any, body: JsonObject, wanted: Wanted) -> JsonObject:
        changes = [*_spec_changes(body.get("spec") or {}, wanted.spec), *_taken_off(body, wanted.done)]
        return self._patched(what, body, changes, Part.WHOLE)

    def _status(self, what: Any, body: JsonObject, wanted: Wanted) -> JsonObject:
        if wanted.status == (body.get("status") or {}):
            return body
        changes = [{"op": "add", "path": "/status", "value": wanted.status}]
        return self._patched(what, body, changes, Part.STATUS)

    def _patched(self, what: Any, body: JsonObject, changes: Sequence[JsonObject], part: Part) -> JsonObject:
        if not changes:
            return body
        tested = [_test(body), *changes]
        return self.api.json_patch(
            GLOBAL_CLUSTER, what, name_of(body), tested, namespace=self.namespace, part=part
        )

    def _rollout(self, name: str) -> JsonObject | None:
        try:
            return self.api.get(GLOBAL_CLUSTER, ROLLOUT, name, namespace=self.namespace)
        except NotFoundError:
            return None

    def _is_ours(self, head: JsonObject) -> bool:
        return _namespace(head) == self.namespace and labels_of(head).get(FLEET_LABEL) == self.name


def _claims(others: Sequence[JsonObject], ours: Sequence[JsonObject]) -> dict[str, str]:
    """Clusters that another Fleet has claimed before we did. An object without a label says nothing of whose it is."""
    since = {name_of(h): _age(h) for h in ours}
    found: dict[str, str] = {}
    for head in sorted(others, key=_age, reverse=True):
        owner, cluster = labels_of(head).get(FLEET_LABEL), name_of(head)
        if owner and (cluster not in since or _age(head) < since[cluster]):
            found[cluster] = f"{_namespace(head)}/{owner}"
    return found


def _age(head: JsonObject) -> tuple[str, str]:
    """Orders objects by when they were made; the uid where that was in the same second."""
    return str(metadata(head).get("creationTimestamp") or ""), uid_of(head)


def _namespace(head: JsonObject) -> str:
    return str(metadata(head).get("namespace") or "")


def _test(body: JsonObject) -> JsonObject:
    return {"op": "test", "path": "/metadata/resourceVersion", "value": resource_version(body)}


def _labelled(body: JsonObject, fleet: str) -> list[JsonObject]:
    labels = {**((body.get("metadata") or {}).get("labels") or {}), FLEET_LABEL: fleet}
    return [_test(body), {"op": "add", "path": "/metadata/labels", "value": labels}]


def _spec_changes(before: Mapping[str, Any], wanted: Mapping[str, Any]) -> Iterator[JsonObject]:
    for name, value in wanted.items():
        if value is None and name in before:
            yield {"op": "remove", "path": f"/spec/{name}"}
        elif value is not None and before.get(name) != value:
            yield {"op": "add", "path": f"/spec/{name}", "value": value}


def _taken_off(body: JsonObject, done: Mapping[str, str]) -> Iterator[JsonObject]:
    carried = annotations_of(body)
    for name, value in done.items():
        if carried.get(name) == value:
            yield {
                "op": "remove",
                "path": f"/metadata/annotations/{name.replace('~', '~0').replace('/', '~1')}",
            }
