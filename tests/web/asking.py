"""Asking a served application over loopback: bytes out, bytes in."""

from __future__ import annotations

import http.client
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from starlette.types import ASGIApp

from gitops_mc.web.serving import Running, serve


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    text: str
    headers: Mapping[str, str]


@contextmanager
def served(app: ASGIApp, idle_limit: float = 15.0) -> Iterator[Running]:
    running = serve(app, "127.0.0.1", 0, idle_limit=idle_limit)
    try:
        yield running
    finally:
        running.stop(2.0)


def ask(
    running: Running, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
) -> Answer:
    connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=10)
    try:
        connection.request(method, path, body or None, dict(headers or {}))
        answer = connection.getresponse()
        told = {name.lower(): value for name, value in answer.getheaders()}
        return Answer(answer.status, answer.read().decode(), told)
    finally:
        connection.close()


def raw(running: Running, sent: bytes, *, within: float = 10.0) -> bytes:
    """Send bytes, whatever they are, and return all that comes until the other side closes."""
    with socket.create_connection(("127.0.0.1", running.port), timeout=within) as connection:
        found = b""
        try:
            connection.sendall(sent)
            while piece := connection.recv(65536):
                found += piece
        except ConnectionError:
            pass
        return found
