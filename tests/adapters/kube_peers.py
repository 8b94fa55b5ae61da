"""Servers on real sockets that answer, or misbehave, as they are told."""

from __future__ import annotations

import socket
import ssl
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gitops_mc.adapters.kube import GatewayTransport, KubeconfigTransport
from gitops_mc.app.ports import Request, Response
from gitops_mc.core.errors import UnreachableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


TLS = Path(__file__).parents[1] / "data" / "tls"
GET = Request("GET", "/apis/apps/v1/deployments")
SECRET = "s3cr3t-t0k3n"
QUICK = 5.0
"""Seconds; nothing takes as long unless it is broken."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A request as it arrived."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    connection: int

    @property
    def token(self) -> str:
        return self.headers.get("authorization", "").removeprefix("Bearer ")


@dataclass
class Peer:
    """An HTTP server that answers as it is told and remembers what it was asked."""

    answer: Callable[[Seen], Response] = lambda _: Response(200, b"{}")
    seen: list[Seen] = field(default_factory=list)
    url: str = ""


class _Quiet(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up amid an answer is what some tests are about."""


@contextmanager
def serving(peer: Peer, certificate: str = "") -> Iterator[Peer]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _any(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            headers = {k.lower(): v for k, v in self.headers.items()}
            seen = Seen(self.command, self.path, headers, body, self.client_address[1])
            peer.seen.append(seen)
            answer = peer.answer(seen)
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body)

        do_GET = do_POST = do_PATCH = do_DELETE = do_PUT = _any  # noqa: N815 - the library's names

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's name
            pass

    server = _Quiet(("127.0.0.1", 0), Handler)
    scheme = "http"
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(TLS / certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        scheme = "https"
    peer.url = f"{scheme}://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield peer
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def raw(talk: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server that misbehaves at will, once per connection; gives its URL."""
    listening = socket.create_server(("127.0.0.1", 0))

    def accept() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with connection:
                try:
                    talk(connection)
                except OSError:
                    continue

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        listening.close()


def failure(transport: GatewayTransport | KubeconfigTransport, timeout: float = QUICK) -> UnreachableError:
    with pytest.raises(UnreachableError) as caught:
        transport.send("edge-01", GET, timeout=timeout)
    assert SECRET not in f"{caught.value} {caught.value.hint} {caught.value.__cause__!r}"
    assert caught.value.message.startswith("edge-01: GET /apis/apps/v1/deployments: ")
    return caught.value


def accepting(token: str) -> Callable[[Seen], Response]:
    return lambda seen: Response(200 if seen.token == token else 401, b"{}")
