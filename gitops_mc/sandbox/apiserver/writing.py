"""What a write has in hand, and the refusals that all writes share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from gitops_mc.app.ports import Request
from gitops_mc.sandbox.apiserver.access import User
from gitops_mc.sandbox.apiserver.answers import Cause, StatusError, details_of, invalid
from gitops_mc.sandbox.apiserver.managed import Actor
from gitops_mc.sandbox.apiserver.requests import Target
from gitops_mc.sandbox.apiserver.resources import Resource
from gitops_mc.sandbox.apiserver.store import AcceptedWrite, Store, Stored


@dataclass(frozen=True, slots=True)
class Writing:
    """One write under way: who, when, what, and how."""

    store: Store
    cluster: str
    log: list[AcceptedWrite]
    user: User
    now: datetime
    target: Target
    request: Request
    query: Mapping[str, str]
    warnings: list[str] = field(default_factory=list)
    """What the answer warns of."""

    @property
    def resource(self) -> Resource:
        return self.target.resource

    @property
    def dry(self) -> bool:
        return self.query.get("dryRun") == "All"

    @property
    def manager(self) -> str:
        """The user's name stands in for the User-Agent that a real server takes when no fieldManager is given."""
        return self.query.get("fieldManager") or self.user.name

    @property
    def stamp(self) -> str:
        return self.now.strftime("%Y-%m-%dT%H:%M:%SZ")

    def actor(self) -> Actor:
        return Actor(self.manager, self.resource.api_version, self.target.subresource, self.stamp)

    def live(self) -> Stored | None:
        return self.store.table(self.resource).get((self.target.namespace, self.target.name))


def invalid_object(resource: Resource, name: str, causes: list[Cause]) -> StatusError:
    return invalid(resource.kind, resource.group, name, [(c, f"{c.field}: {c.message}") for c in causes])


def conflict(resource: Resource, name: str, detail: str) -> StatusError:
    return StatusError(
        409,
        "Conflict",
        f'Operation cannot be fulfilled on {resource.id} "{name}": {detail}',
        details=details_of(name, resource.group, resource.plural),
    )


_MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


def check_version(writing: Writing, live: Stored, metadata: dict[str, Any]) -> None:
    """The resourceVersion a write was decided on, if it says one, and the uid, which never changes."""
    version, uid = metadata.get("resourceVersion"), metadata.get("uid")
    if version not in (None, "", "0", live.obj["metadata"]["resourceVersion"]):
        raise conflict(writing.resource, writing.target.name, _MODIFIED)
    if uid not in (None, "", live.obj["metadata"]["uid"]):
        cause = Cause("FieldValueInvalid", "metadata.uid", f'Invalid value: "{uid}": field is immutable')
        raise invalid_object(writing.resource, writing.target.name, [cause])
