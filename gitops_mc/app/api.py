"""The API of every cluster of the fleet, as raw JSON objects: what to send, how often, and what the answer means.

Reads are consistent: never `resourceVersion=0`, so an answer is never older than a write that came back before it.

Single calls are repeated, nothing larger, and only where a second run cannot hurt:

| call | repeated when the server refused it (429) | repeated when its effect is unknown (no answer, 5xx) |
|---|---|---|
| get, list, serves, can_i | yes | yes: they change nothing |
| apply with metadata.resourceVersion | yes | yes: if the first took effect the second is a StaleError |
| json_patch with a `test` of /metadata/resourceVersion | yes | yes: the same |
| delete (always with a uid) | yes | yes: if the first took effect the second is a NotFoundError |
| every dry run but create's | yes | yes |
| apply, json_patch without that | yes | no: between the two another may have written or deleted |
| create | no | no: it would make a second object |

So a StaleError or NotFoundError of a write may be the trace of our own first attempt: read again, decide again.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum
from itertools import chain
from typing import TYPE_CHECKING

from gitops_mc.app.api_calls import Call, Calls, Patience, Repeat
from gitops_mc.app.api_errors import PatchTests, is_object, where
from gitops_mc.app.api_paths import RESOURCES, Part, Resource, api_root, resource
from gitops_mc.app.permit import Permit, Permitted
from gitops_mc.app.ports import APPLY_PATCH, JSON, JSON_PATCH, METADATA_LIST, Request
from gitops_mc.core.errors import GoneError, NotFoundError, UnreachableError
from gitops_mc.core.model import FIELD_MANAGER, JsonObject, metadata, name_of, resource_version

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gitops_mc.app.ports import Clock, Transport

__all__ = [
    "RESOURCES",
    "Access",
    "ClusterApi",
    "DryRun",
    "Force",
    "Part",
    "Patience",
    "Resource",
    "resource",
]


_MISSING = object()


class Force(Enum):
    """Whether server-side apply takes fields over from other managers."""

    NEVER = "never"
    TAKE_OVER = "take over"


class DryRun(Enum):
    """Whether the server only says what it would do."""

    NO = "no"
    SERVER = "server"


@dataclass(frozen=True, slots=True)
class Access:
    """Whether the token's user may do something, and why, as the server puts it."""

    allowed: bool
    reason: str


class ClusterApi:
    """Every call raises an error of `gitops_mc.core.errors`; the message names cluster, method and path."""

    def __init__(
        self,
        transport: Transport,
        clock: Clock,
        *,
        jitter: Callable[[], float],
        patience: Patience | None = None,
    ) -> None:
        """`jitter` gives numbers in [0, 1): `random.Random(seed).random`, seeded for a reproducible run."""
        self._patience = patience or Patience()
        self._transport, self._clock, self._jitter = transport, clock, jitter
        self._calls = Calls(transport, clock, jitter, self._patience)

    def under(self, permit: Permit) -> ClusterApi:
        """The same, whose writes, every try of them, raise OrderedToStopError once the permit is revoked."""
        transport = Permitted(self._transport, permit)
        return ClusterApi(transport, self._clock, jitter=self._jitter, patience=self._patience)

    # ------------------------------------------------------------------------------------------------------- reads

    def get(self, cluster: str, what: Resource, name: str, *, namespace: str = "") -> JsonObject:
        """One object as it is now. NotFoundError: the server says that it is not there."""
        request = Request("GET", what.item(name, namespace))
        found = self._calls.answer(cluster, Call(request, what.kind))
        if not is_object(found):
            raise UnreachableError(f"{where(cluster, request)}: the answer is not an object with a name")
        return found

    def list(
        self, cluster: str, what: Resource, *, namespace: str = "", labels: str = "", fields: str = ""
    ) -> tuple[JsonObject, ...]:
        """All objects, every page, as of one moment. Items stand as the server sent them (a built-in kind's items carry
        no `kind`). `labels` and `fields` are selectors as the API writes them.
        """
        return self._list(cluster, what, namespace, _selectors(labels, fields), JSON)

    def each(
        self, cluster: str, what: Resource, *, namespace: str = "", labels: str = "", fields: str = ""
    ) -> Iterator[JsonObject]:
        """As `list`, one by one, with one page in memory at a time: for what is too much to be held. GoneError in the middle of
        it: what came so far is of no use, begin anew.
        """
        selectors = _selectors(labels, fields)
        request = Request("GET", what.collection(namespace), selectors, accept=JSON)
        for page in self._pages(cluster, request):
            yield from page

    def list_metadata(
        self, cluster: str, what: Resource, *, namespace: str = "", labels: str = ""
    ) -> tuple[JsonObject, ...]:
        """Only `metadata` of every object: cheap where bodies are large (rendered configs)."""
        return self._list(cluster, what, namespace, _selectors(labels, ""), METADATA_LIST)

    def serves(self, cluster: str, group_version: str) -> bool:
        """Whether the cluster serves an API (`machineconfiguration.alauda.io/v1alpha1`). 404 is no; silence is an error."""
        try:
            self._calls.answer(cluster, Call(Request("GET", api_root(group_version)), "APIResourceList"))
        except NotFoundError:
            return False
        return True

    def can_i(
        self, cluster: str, verb: str, what: Resource, *, namespace: str = "", name: str = ""
    ) -> Access:
        """Ask the server what our own token may do (SelfSubjectAccessReview); it changes nothing, so it is repeated."""
        review = resource("SelfSubjectAccessReview")
        attributes = {"verb": verb, "group": what.group, "resource": what.plural}
        attributes |= {k: v for k, v in (("namespace", namespace), ("name", name)) if v}
        body = {
            "apiVersion": review.group_version,
            "kind": review.kind,
            "spec": {"resourceAttributes": attributes},
        }
        request = Request("POST", review.collection(), body=_encode(body))
        answer = self._calls.answer(cluster, Call(request, review.kind))
        status = answer.get("status") or {}
        return Access(allowed=status.get("allowed") is True, reason=str(status.get("reason") or ""))

    # ------------------------------------------------------------------------------------------------------ writes

    def create(
        self,
        cluster: str,
        what: Resource,
        body: JsonObject,
        *,
        namespace: str = "",
        dry_run: DryRun = DryRun.NO,
    ) -> JsonObject:
        """The object as created. Sent once. AlreadyExistsError; a field outside the schema is an InvalidError."""
        query = (("fieldManager", FIELD_MANAGER), ("fieldValidation", "Strict"), *_dry(dry_run))
        request = Request("POST", what.collection(namespace), query, _encode(body))
        return self._calls.answer(cluster, Call(request, what.kind, Repeat.NEVER))

    def apply(
        self,
        cluster: str,
        what: Resource,
        body: JsonObject,
        *,
        namespace: str = "",
        force: Force = Force.NEVER,
        dry_run: DryRun = DryRun.NO,
    ) -> JsonObject:
        """Server-side apply under our field manager; the object as it then is (or would be).

        An update carries metadata.uid and metadata.resourceVersion of what it was decided on: without them it is
        a create, and a deleted object would come back. ApplyConflictError, StaleError, InvalidError,
        MalformedApplyError.
        """
        forced = (("force", "true"),) if force is Force.TAKE_OVER else ()
        query = (("fieldManager", FIELD_MANAGER), *forced, *_dry(dry_run))
        request = Request("PATCH", what.item(name_of(body), namespace), query, _encode(body), APPLY_PATCH)
        return self._calls.answer(
            cluster, Call(request, what.kind, _repeat(resource_version(body) != "", dry_run))
        )

    def json_patch(
        self,
        cluster: str,
        what: Resource,
        name: str,
        operations: Sequence[JsonObject],
        *,
        namespace: str = "",
        part: Part = Part.WHOLE,
        dry_run: DryRun = DryRun.NO,
    ) -> JsonObject:
        """RFC 6902. A `test` that fails is a StaleError (as is any other operation that does not fit, in a patch
        that tests: the server does not tell them apart).
        """
        tested = tuple(op for op in operations if op.get("op") == "test")
        query = (("fieldManager", FIELD_MANAGER), *_dry(dry_run))
        body = _encode(list(operations))
        request = Request("PATCH", what.item(name, namespace, part), query, body, JSON_PATCH)
        guarded = any(op.get("path") == "/metadata/resourceVersion" for op in tested)
        tests = PatchTests.SOME if tested else PatchTests.NONE
        return self._calls.answer(cluster, Call(request, what.kind, _repeat(guarded, dry_run), tests))

    def delete(
        self,
        cluster: str,
        what: Resource,
        name: str,
        *,
        uid: str,
        version: str,
        namespace: str = "",
        dry_run: DryRun = DryRun.NO,
    ) -> None:
        """Delete exactly the object that was read: `uid` and `version` (its resourceVersion) are preconditions.

        When it returns the server has taken the order; finalizers may keep the object for a while. StaleError:
        it is another object, or it has changed. NotFoundError: it is gone already (perhaps by our own first try).
        """
        if not uid or not version:
            raise ValueError(
                f"{what.kind} {name}: a deletion needs the uid and resourceVersion that were read"
            )
        options: JsonObject = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": {"uid": uid, "resourceVersion": version},
            "propagationPolicy": "Background",
        }
        if dry_run is DryRun.SERVER:
            options["dryRun"] = [
                "All"
            ]  # a server that is sent options does not look at the query: it would delete
        request = Request("DELETE", what.item(name, namespace), body=_encode(options))
        self._calls.answer(cluster, Call(request, "*"))  # the object, or a Status, as the server likes

    # ----------------------------------------------------------------------------------------------------- carrying

    def _list(
        self,
        cluster: str,
        what: Resource,
        namespace: str,
        selectors: tuple[tuple[str, str], ...],
        accept: str,
    ) -> tuple[JsonObject, ...]:
        request = Request("GET", what.collection(namespace), selectors, accept=accept)
        for _ in range(self._patience.restarts):
            try:
                return tuple(chain.from_iterable(self._pages(cluster, request)))
            except GoneError:
                continue  # the continue token expired: what was read so far is of no use, the list begins anew
        return tuple(chain.from_iterable(self._pages(cluster, request)))

    def _pages(self, cluster: str, first: Request) -> Iterator[Sequence[JsonObject]]:
        token = ""
        while True:
            more = (("continue", token),) if token else ()
            query = (*first.query, ("limit", str(self._patience.page)), *more)
            request = Request("GET", first.path, query, accept=first.accept)
            page = self._calls.answer(cluster, Call(request, "*List"))
            found = page.get("items", _MISSING)
            if not isinstance(found, list | None) or not all(map(is_object, found or ())):
                raise UnreachableError(f"{where(cluster, first)}: the answer is not a list of objects")
            yield found or ()  # Go writes an empty list as null
            following = str(metadata(page).get("continue") or "")
            if not following:
                return
            if following == token:
                raise UnreachableError(
                    f"{where(cluster, first)}: the server gives the same page again and again"
                )
            token = following


def _encode(body: object) -> bytes:
    return json.dumps(body, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def _dry(dry_run: DryRun) -> tuple[tuple[str, str], ...]:
    return (("dryRun", "All"),) if dry_run is DryRun.SERVER else ()


def _selectors(labels: str, fields: str) -> tuple[tuple[str, str], ...]:
    return tuple((k, v) for k, v in (("labelSelector", labels), ("fieldSelector", fields)) if v)


def _repeat(guarded: object, dry_run: DryRun) -> Repeat:
    return Repeat.ALWAYS if guarded or dry_run is DryRun.SERVER else Repeat.WHEN_REFUSED
