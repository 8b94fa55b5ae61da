"""One real API server in the shape in which the sandbox knows its own: `handle` a request, `open_watch`.

So the sandbox's gateway, its operators and the product's transports work on a real server as they are. Bytes go through
unread: nothing of an answer is made here.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlencode

import urllib3

from gitops_mc.app.ports import JSON, Request, Response
from gitops_mc.core.model import JsonObject
from tests.apiserver.rights import ADMIN

_TIMEOUT = urllib3.Timeout(connect=5, read=30)
_WATCH_TIMEOUT = urllib3.Timeout(connect=5, read=None)
_CONNECTIONS = 32
_KEPT_HEADERS = ("content-type", "retry-after", "audit-id", "warning", "allow")

_COLLECTIONS: Mapping[str, str] = {
    "Namespace": "/api/v1/namespaces",
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
}


class RealServer:
    """Calls to one kube-apiserver, under the token of each request. `ca_file` signs its certificate."""

    def __init__(self, cluster: str, url: str, ca_file: Path) -> None:
        self.cluster = cluster
        self.url = url
        self.ca_file = ca_file
        self._pool: urllib3.PoolManager | None = None

    def handle(self, request: Request) -> Response:
        """The server's answer. Raises urllib3's HTTPError when there is none."""
        answer = self._send(request, {}, _TIMEOUT, preload=True)
        return Response(answer.status, answer.data, _kept(answer))

    def handle_as(self, request: Request, user: str, groups: tuple[str, ...]) -> Response:
        """The answer to somebody who has no token: the administrator asks in his name."""
        asked = _under(request, ADMIN.token)
        answer = self._send(asked, _in_the_name_of(user, groups), _TIMEOUT, preload=True)
        return Response(answer.status, answer.data, _kept(answer))

    def as_admin(self, request: Request) -> Response:
        return self.handle(_under(request, ADMIN.token))

    def open_watch(self, request: Request) -> Response | StreamedWatch:
        return self._watch(request, {})

    def open_watch_as(self, request: Request, user: str, groups: tuple[str, ...]) -> Response | StreamedWatch:
        return self._watch(_under(request, ADMIN.token), _in_the_name_of(user, groups))

    def _watch(self, request: Request, more: Mapping[str, str]) -> Response | StreamedWatch:
        answer = self._send(request, more, _WATCH_TIMEOUT, preload=False)
        if answer.status != 200:
            return Response(answer.status, answer.read(), _kept(answer))
        return StreamedWatch(answer)

    def ready(self) -> bool:
        return self.as_admin(Request("GET", "/readyz")).status == 200

    def create(self, body: JsonObject) -> None:
        """As the administrator; what is there already stays as it is."""
        answer = self.as_admin(Request("POST", _COLLECTIONS[body["kind"]], body=self.encode(body)))
        assert answer.status in (201, 409), answer.body.decode()

    @staticmethod
    def encode(body: object) -> bytes:
        return json.dumps(body).encode()

    def close(self) -> None:
        if self._pool is not None:
            self._pool.clear()

    def _send(
        self, request: Request, more: Mapping[str, str], timeout: urllib3.Timeout, *, preload: bool
    ) -> urllib3.BaseHTTPResponse:
        if self._pool is None:  # the server makes its certificate when it starts
            if not self.ca_file.is_file():
                raise FileNotFoundError(self.ca_file)
            self._pool = urllib3.PoolManager(
                _CONNECTIONS, maxsize=_CONNECTIONS, ca_certs=str(self.ca_file), retries=False
            )
        headers = {"accept": request.accept, **more}
        if request.token:
            headers["authorization"] = f"Bearer {request.token}"
        if request.body or request.method in ("POST", "PUT", "PATCH"):
            headers["content-type"] = request.content_type or JSON
        query = f"?{urlencode(request.query)}" if request.query else ""
        return self._pool.request(
            request.method,
            f"{self.url}{request.path}{query}",
            body=request.body or None,
            headers=headers,
            timeout=timeout,
            redirect=False,
            preload_content=preload,
        )


class StreamedWatch:
    """A watch whose lines are read as they come, in a thread of its own that ends with it."""

    def __init__(self, answer: urllib3.BaseHTTPResponse) -> None:
        self.closed = False
        self._answer = answer
        self._lines: deque[bytes] = deque()
        threading.Thread(target=self._read, name="watch", daemon=True).start()

    def poll(self) -> tuple[bytes, ...]:
        lines = []
        while self._lines:
            lines.append(self._lines.popleft())
        return tuple(lines)

    def close(self) -> None:
        self.closed = True
        with suppress(OSError, ValueError):  # it has ended by itself
            self._answer.shutdown()

    def _read(self) -> None:
        try:
            for chunk in self._answer.stream(amt=None):
                self._lines.append(chunk)
        except (urllib3.exceptions.HTTPError, OSError, ValueError):
            pass  # closed on one side or the other: the end of a watch, either way
        finally:
            self.closed = True
            self._answer.close()


def _in_the_name_of(user: str, groups: tuple[str, ...]) -> Mapping[str, str]:
    """Headers of impersonation; of groups one is enough here."""
    return {"Impersonate-User": user} | ({"Impersonate-Group": groups[0]} if groups else {})


def _under(request: Request, token: str) -> Request:
    return Request(
        request.method,
        request.path,
        request.query,
        request.body,
        request.content_type,
        request.accept,
        token,
    )


def _kept(answer: urllib3.BaseHTTPResponse) -> Mapping[str, str]:
    return {name: answer.headers[name] for name in _KEPT_HEADERS if name in answer.headers}
