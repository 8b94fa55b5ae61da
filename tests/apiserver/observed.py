"""A real API server as the sandbox's fleet wants one: users by token, the machine APIs on demand, a log of writes."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from gitops_mc.app.ports import APPLY_PATCH, JSON_PATCH, Request, Response
from gitops_mc.sandbox.apiserver import AcceptedWrite, User
from gitops_mc.sandbox.apiserver.requests import target_of
from gitops_mc.sandbox.apiserver.store import WriteVerb
from gitops_mc.sandbox.behind import WatchLines
from tests.apiserver.carrier import RealServer
from tests.apiserver.clusters import install, machine_definitions
from tests.apiserver.rights import BOUND, MASTERS

_VERBS: dict[str, WriteVerb] = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_Key = tuple[str, str, str]


class ObservedServer:
    """Everybody who calls it does so in his own name: who has a role on the cluster with the rights of that, anybody else
    with all rights. `writes` are the writes made through here, in the order in which the server accepted them; `before`
    is what the last of them left, None for an object that none of them has touched.
    """

    def __init__(self, real: RealServer, now: Callable[[], datetime]) -> None:
        self.cluster = real.cluster
        self._real = real
        self._now = now
        self._users: dict[str, User] = {}
        self._own: set[str] = set()
        """Tokens that the real server knows itself."""
        self._writes: list[AcceptedWrite] = []
        self._last: dict[_Key, dict[str, Any]] = {}
        self._one_write_at_a_time = threading.Lock()
        self.refused: list[Refused] = []

    def grant(self, token: str, user: User) -> None:
        self._users[token] = user

    def admit(self, token: str, user: User) -> None:
        """Take somebody in whose token the real server knows: it is asked with that, and nobody asks in his name."""
        self._users[token] = user
        self._own.add(token)

    def install_machine_apis(self) -> None:
        install(self._real, *machine_definitions())

    @property
    def writes(self) -> tuple[AcceptedWrite, ...]:
        return tuple(self._writes)

    def writes_after(self, seq: int) -> tuple[AcceptedWrite, ...]:
        return tuple(self._writes[seq:])

    def open_watch(self, request: Request) -> Response | WatchLines:
        user = self._users.get(request.token)
        if user is None:
            return self._real.open_watch(request)
        return self._real.open_watch_as(request, user.name, _groups(user))

    def handle(self, request: Request) -> Response:
        user = self._users.get(request.token)
        if user is None:
            return self._real.handle(request)
        if request.method == "GET":
            response = self._asked(request, user)
        else:
            with self._one_write_at_a_time:
                response = self._asked(request, user)
                if response.status < 300 and not _is_tried(request):
                    self._note(request, user, json.loads(response.body))
        if response.status >= 400 and not _is_normal(request, response):
            self.refused.append(
                Refused(
                    self.cluster,
                    user.name,
                    request.method,
                    request.path,
                    response.status,
                    response.body.decode(errors="replace"),
                )
            )
        return response

    def _asked(self, request: Request, user: User) -> Response:
        if request.token in self._own:
            return self._real.handle(request)
        return self._real.handle_as(request, user.name, _groups(user))

    def _note(self, request: Request, user: User, answer: dict[str, Any]) -> None:
        target = target_of(request.path)
        if target is None:  # a review: it is no object
            return
        name = target.name or answer["metadata"]["name"]
        key = (target.resource.id, target.namespace, name)
        after = None if _is_gone(request, answer) else answer
        before = self._last.get(key)
        if after is not None and before is not None and _version(after) == _version(before):
            return
        if after is None:
            self._last.pop(key, None)
        else:
            self._last[key] = after
        self._writes.append(
            AcceptedWrite(
                seq=len(self._writes) + 1,
                time=self._now(),
                user=user.name,
                manager=dict(request.query).get("fieldManager", ""),
                verb="apply" if request.content_type == APPLY_PATCH else _VERBS[request.method],
                resource=target.resource.id,
                namespace=target.namespace,
                name=name,
                subresource=target.subresource,
                resource_version=_version(after or before or {}),
                before=before,
                after=after,
            )
        )


@dataclass(frozen=True, slots=True)
class Refused:
    """A request that the server has refused, and not because of what others did in the meantime."""

    cluster: str
    user: str
    method: str
    path: str
    status: int
    answer: str


def _groups(user: User) -> tuple[str, ...]:
    return () if user.name in BOUND else (MASTERS,)


def _is_tried(request: Request) -> bool:
    """Whether it is a dry run: options in the body of a deletion take the place of those in the query."""
    if request.method == "DELETE" and request.body:
        return bool(json.loads(request.body).get("dryRun"))
    return dict(request.query).get("dryRun") == "All"


def _is_normal(request: Request, response: Response) -> bool:
    """What is not there, and what others were faster with (of a JSON patch that tests: 422), is no error of who asks."""
    return response.status in (404, 409) or (request.content_type == JSON_PATCH and response.status == 422)


def _is_gone(request: Request, answer: dict[str, Any]) -> bool:
    """Whether the object is gone with this write: deleted at once, or rid of the last that held it."""
    metadata = answer.get("metadata") or {}
    leaving = bool(metadata.get("deletionTimestamp")) and not metadata.get("finalizers")
    return leaving or (request.method == "DELETE" and not metadata.get("deletionTimestamp"))


def _version(obj: dict[str, Any]) -> str:
    return str((obj.get("metadata") or {}).get("resourceVersion", ""))
