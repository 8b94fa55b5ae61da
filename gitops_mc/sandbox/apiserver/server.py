"""The server itself: one lock around a dispatch on path and verb."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType

from gitops_mc.app.ports import Request, Response
from gitops_mc.core.model import GLOBAL_CLUSTER
from gitops_mc.sandbox.apiserver import documents, reads, writes
from gitops_mc.sandbox.apiserver.access import User, forbidden
from gitops_mc.sandbox.apiserver.answers import JSON_HEADERS, StatusError, encode, readable, unauthorized
from gitops_mc.sandbox.apiserver.definitions import DEFINITIONS, resource_of
from gitops_mc.sandbox.apiserver.list_options import is_on
from gitops_mc.sandbox.apiserver.persist import remove
from gitops_mc.sandbox.apiserver.requests import BY_ID, Target, target_among, target_of, verb_of
from gitops_mc.sandbox.apiserver.resources import RESOURCES, Resource, Where
from gitops_mc.sandbox.apiserver.store import AcceptedWrite, Store, Watch
from gitops_mc.sandbox.apiserver.writing import Writing

ADMIN_TOKEN = "admin"  # noqa: S105  # opens an embedded server of tests and demos, nothing else
_NAMESPACES = ("cpaas-system", "default", "kube-system")


class ApiServer:
    """One Kubernetes API server, in memory, synchronous.

    Everything is deterministic: resourceVersions and uids come from counters and names, time from `now`. Built-in
    kinds are schemaless but for the lists that merge by key (conditions, containers, addresses ...): every field is
    accepted, ownership follows the structure, and only machine and module kinds are validated. Simpler than a real
    server: deletion ignores grace periods and owners, deleting a namespace leaves its objects.
    """

    def __init__(
        self,
        cluster: str,
        *,
        now: Callable[[], datetime],
        tokens: Mapping[str, User] = MappingProxyType({ADMIN_TOKEN: User("admin")}),
    ) -> None:
        self.cluster = cluster
        self._now = now
        self._tokens = dict(tokens)
        self._store = Store()
        self._lock = self._store.lock
        self._writes: list[AcceptedWrite] = []
        self._writes_seen: tuple[AcceptedWrite, ...] = ()
        self._served = {r.id: r for r in RESOURCES if self._from_the_start(r)}
        self._defined: dict[tuple[str, str], Resource] = {}
        """Kinds that were defined at run time."""
        for namespace in _NAMESPACES:
            self._seed(namespace)
        self._writes.clear()
        self._store.compact()

    def _from_the_start(self, resource: Resource) -> bool:
        if resource.where is Where.GLOBAL:
            return self.cluster == GLOBAL_CLUSTER
        return resource.where is Where.EVERYWHERE

    def _seed(self, namespace: str) -> None:
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
        request = Request("POST", "/api/v1/namespaces", body=encode(body))
        target = Target(BY_ID["namespaces"], "", "", "")
        self._write(request, target, {}, User("system:apiserver"), "create")

    # ------------------------------------------------------------------------------------------------ administration

    def install_machine_apis(self) -> None:
        """Serve the machine kinds, as the plugin's CRDs do. Until then they answer 404."""
        with self._lock:
            self._served |= {r.id: r for r in RESOURCES if r.where is Where.WITH_MACHINE_PLUGIN}

    def grant(self, token: str, user: User) -> None:
        """Accept a token, or change what its user may do."""
        with self._lock:
            self._tokens[token] = user

    def revoke(self, token: str) -> None:
        """From now on the token is answered with 401."""
        with self._lock:
            self._tokens.pop(token, None)

    def compact(self) -> None:
        """Forget history: older watches and continue tokens answer 410."""
        with self._lock:
            self._store.compact()

    @property
    def writes(self) -> tuple[AcceptedWrite, ...]:
        """All accepted, persisted writes so far, but those of the server itself."""
        with self._lock:
            if len(self._writes_seen) != len(self._writes):
                self._writes_seen = tuple(self._writes)
            return self._writes_seen

    def writes_after(self, seq: int) -> tuple[AcceptedWrite, ...]:
        """The accepted writes with a higher `seq`."""
        with self._lock:
            return tuple(self._writes[seq:])

    # ------------------------------------------------------------------------------------------------------ requests

    def handle(self, request: Request) -> Response:
        """Answer one request. A watch is answered with the events that are there at once."""
        with self._lock:
            try:
                found = self._dispatch(request)
            except StatusError as error:
                found = error.response()
            if isinstance(found, Watch):
                return Response(200, b"".join(found.poll()), JSON_HEADERS)
            return readable(found, request.query) if request.query else found

    def open_watch(self, request: Request) -> Response | Watch:
        """A Watch for a request that asks for one, otherwise, or when it is refused, the response."""
        with self._lock:
            try:
                return self._dispatch(request)
            except StatusError as error:
                return error.response()

    def _dispatch(self, request: Request) -> Response | Watch:
        user = self._tokens.get(request.token)
        if user is None:
            raise unauthorized()
        target = target_of(request.path)
        if target is None and self._defined:
            target = target_among(request.path, self._defined)
        if target is None or target.resource.id not in self._served:
            return documents.answer(tuple(self._served.values()), user, request)
        query = dict(request.query)
        verb = verb_of(request.method, target, query)
        resource = target.resource
        if not user.may(verb, resource.group, target.rule_name):
            raise forbidden(
                user,
                verb,
                group=resource.group,
                resource=target.rule_name,
                namespace=target.namespace,
                name=target.name,
            )
        match verb:
            case "get" if not is_on(query, "watch"):
                return reads.get(self._store, target, request, query, self._now)
            case "list":
                return reads.list_objects(self._store, target, request, query, self._now)
            case "get" | "watch":
                return reads.open_watch(self._store, target, request, query, self._now)
            case _:
                return self._write(request, target, query, user, verb)

    def _write(
        self, request: Request, target: Target, query: Mapping[str, str], user: User, verb: str
    ) -> Response:
        writing = Writing(
            store=self._store,
            cluster=self.cluster,
            log=self._writes,
            user=user,
            now=self._now(),
            target=target,
            request=request,
            query=query,
        )
        answer = writes.handle(writing, verb)
        if target.resource.id == DEFINITIONS and not writing.dry:
            self._define(writing)
        return answer

    def _define(self, writing: Writing) -> None:
        """Serve the kinds that are defined now. Objects of those that are no longer go, with finalizers or not."""
        rows = self._store.table(BY_ID[DEFINITIONS]).scan("")
        kinds = [resource_of(stored.obj) for _, stored in rows]
        gone = {r.id: r for r in self._defined.values()}
        for kind in kinds:
            gone.pop(kind.id, None)
        for resource in gone.values():
            for (namespace, name), live in list(self._store.table(resource).scan("")):
                target = Target(resource, namespace, name, "")
                remove(replace(writing, target=target), live, live.obj, "delete")
            del self._served[resource.id]
        self._defined = {(kind.api_version, kind.plural): kind for kind in kinds}
        self._served |= {kind.id: kind for kind in kinds}
