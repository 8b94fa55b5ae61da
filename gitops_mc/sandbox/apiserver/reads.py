"""get, list and watch."""

from __future__ import annotations

import base64
import binascii
import json
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TypeAlias

from gitops_mc.app.ports import Request, Response
from gitops_mc.sandbox.apiserver.answers import JSON_HEADERS, StatusError, bad_request, details_of, encode, ok
from gitops_mc.sandbox.apiserver.list_options import check_listing, check_watching, is_on, number
from gitops_mc.sandbox.apiserver.negotiation import Form, form_of, not_a_list, not_one_object
from gitops_mc.sandbox.apiserver.requests import Target
from gitops_mc.sandbox.apiserver.resources import Resource
from gitops_mc.sandbox.apiserver.selectors import parse_fields, parse_labels
from gitops_mc.sandbox.apiserver.store import Key, Store, Stored, Watch, error_line
from gitops_mc.sandbox.apiserver.tables import table, table_writer

Now: TypeAlias = Callable[[], datetime]


def not_found(resource: Resource, name: str) -> StatusError:
    return StatusError(
        404,
        "NotFound",
        f'{resource.id} "{name}" not found',
        details=details_of(name, resource.group, resource.plural),
    )


def get(store: Store, target: Target, request: Request, query: Mapping[str, str], now: Now) -> Response:
    stored = store.table(target.resource).get((target.namespace, target.name))
    if stored is None:
        raise not_found(target.resource, target.name)
    match form_of(request.accept):
        case Form.OBJECT:
            return Response(200, stored.body(), JSON_HEADERS)
        case Form.PARTIAL:
            return Response(200, stored.partial(), JSON_HEADERS)
        case Form.TABLE:
            metadata = {"resourceVersion": str(stored.version)}
            return ok(table(target.resource, (stored.obj,), now(), query, metadata))
        case Form.PARTIAL_LIST:
            raise not_a_list()


def list_objects(
    store: Store, target: Target, request: Request, query: Mapping[str, str], now: Now
) -> Response:
    """A list is consistent: its resourceVersion is that of the last write, for all pages that of the first page."""
    if query:
        check_listing(query, store.version)
    resource = target.resource
    limit = number(query, "limit")
    version, after = store.version, None
    if token := query.get("continue"):
        version, after = _read_token(token)
        rows: Sequence[tuple[Key, Stored]] = store.snapshot(resource, version)
        rows = rows[bisect_right(rows, after, key=lambda row: row[0]) :]
    else:
        rows = list(selected(store, target, query))
    page, left = (rows[:limit], rows[limit:]) if limit else (rows, ())
    metadata: dict[str, str | int] = {"resourceVersion": str(version)}
    if left:
        if after is None:
            store.keep_snapshot(resource, rows)
        metadata["continue"] = _token(version, page[-1][0])
        if not (query.get("labelSelector") or query.get("fieldSelector")):
            metadata["remainingItemCount"] = len(left)
    match form_of(request.accept):
        case Form.OBJECT:
            if not resource.built_in:  # whose lists name it on their last page as well
                metadata.setdefault("continue", "")
            items = [stored.item(resource) for _, stored in page]
            return _listed(f"{resource.kind}List", resource.api_version, metadata, items)
        case Form.PARTIAL_LIST:
            items = [stored.partial() for _, stored in page]
            return _listed("PartialObjectMetadataList", "meta.k8s.io/v1", metadata, items)
        case Form.TABLE:
            return ok(table(resource, (stored.obj for _, stored in page), now(), query, metadata))
        case Form.PARTIAL:
            raise not_one_object()


def _listed(kind: str, api_version: str, metadata: Mapping[str, str | int], items: list[bytes]) -> Response:
    head = encode({"kind": kind, "apiVersion": api_version, "metadata": metadata})
    return Response(200, head[:-1] + b',"items":[' + b",".join(items) + b"]}", JSON_HEADERS)


def selected(store: Store, target: Target, query: Mapping[str, str]) -> Iterator[tuple[Key, Stored]]:
    table = store.table(target.resource)
    label_text, field_text = query.get("labelSelector", ""), query.get("fieldSelector", "")
    if not label_text and not field_text:
        yield from table.scan(target.namespace)
        return
    labels = parse_labels(label_text)
    fields = parse_fields(field_text, target.resource.selectable)
    for key, stored in table.scan(target.namespace):
        if labels(stored.labels) and fields(stored.obj):
            yield key, stored


def _token(version: int, key: Key) -> str:
    return base64.urlsafe_b64encode(json.dumps({"rv": version, "start": key}).encode()).decode()


def _read_token(token: str) -> tuple[int, Key]:
    try:
        found = json.loads(base64.urlsafe_b64decode(token))
        namespace, name = found["start"]
        return int(found["rv"]), (str(namespace), str(name))
    except (binascii.Error, ValueError, KeyError, TypeError) as error:
        raise bad_request("continue key is not valid: illegal base64 or JSON") from error


_INITIAL_END = {"k8s.io/initial-events-end": "true"}


def open_watch(store: Store, target: Target, request: Request, query: Mapping[str, str], now: Now) -> Watch:
    """A watch from `resourceVersion` on; without one, or from 0, it begins with everything there is.

    Too old a version is answered on the open stream: one ERROR event with a 410 Status, then the end.
    """
    check_watching(query)
    watch = Watch(
        store=store,
        resource=target.resource,
        namespace=target.namespace,
        labels=parse_labels(query.get("labelSelector", "")),
        fields=parse_fields(
            query.get("fieldSelector", "") + (f",metadata.name={target.name}" if target.name else ""),
            target.resource.selectable,
        ),
        write=_writer(target.resource, request, query, now),
        bookmarks="sent" if is_on(query, "allowWatchBookmarks") else "none",
        position=store.first_event + len(store.events),
        now=now,
        clock=now(),
    )
    since = number(query, "resourceVersion")
    number(query, "timeoutSeconds")  # whoever streams it keeps the time; what is no number is refused here
    initial = is_on(query, "sendInitialEvents")
    if since == 0 or initial:
        watch.pending = [watch.line("ADDED", stored) for _, stored in selected(store, target, query)]
        watch.sent = store.version
        if initial:
            watch.pending.append(watch.bookmark(_INITIAL_END))
    elif since < store.compacted:
        watch.pending = [error_line(f"too old resource version: {since} ({store.compacted})")]
        watch.closed = True
    else:
        watch.sent = since
        watch.position = store.first_event + bisect_right(store.events, since, key=lambda e: e.version)
    return watch


def _writer(
    resource: Resource, request: Request, query: Mapping[str, str], now: Now
) -> Callable[[Stored], bytes]:
    match form_of(request.accept):
        case Form.OBJECT:
            return Stored.body
        case Form.PARTIAL | Form.PARTIAL_LIST:
            return Stored.partial
        case Form.TABLE:
            return table_writer(resource, query, now)
