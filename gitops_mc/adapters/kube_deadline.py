"""Connections whose answers are read against one deadline, headers included.

A socket's time-out is for one read; a server that sends a header, or a byte of one, now and then would hold a call for as
long as it likes. `urllib3` has no limit for that: only the first read, and ours of the body, are bounded.
"""

from __future__ import annotations

import http.client
import io
import time
from typing import TYPE_CHECKING, Any

from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection

if TYPE_CHECKING:
    import socket


class _Timed(io.RawIOBase):
    """What comes in on a socket until `deadline`; TimeoutError after it."""

    def __init__(self, sock: socket.socket, raw: Any, deadline: float | None) -> None:
        self._sock = sock
        self._raw = raw
        self._deadline = deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        if self._deadline is not None:
            left = self._deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError("timed out")
            self._sock.settimeout(left)
        read: int | None = self._raw.readinto(buffer)
        return read

    def close(self) -> None:
        self._raw.close()
        super().close()


class _TimedResponse(http.client.HTTPResponse):
    """Everything of an answer has to come within the time that the socket allows for the first read of it."""

    def __init__(self, sock: socket.socket, *args: Any, **more: Any) -> None:
        super().__init__(sock, *args, **more)
        allowed = sock.gettimeout()
        deadline = None if allowed is None else time.monotonic() + allowed
        self.fp = io.BufferedReader(_Timed(sock, self.fp.detach(), deadline))


class _TimedConnection(HTTPConnection):
    response_class = _TimedResponse


class _TimedSecureConnection(HTTPSConnection):
    response_class = _TimedResponse


class _TimedPool(HTTPConnectionPool):
    ConnectionCls = _TimedConnection


class _TimedSecurePool(HTTPSConnectionPool):
    ConnectionCls = _TimedSecureConnection


def read_in_time(pools: Any) -> None:
    """Make a pool manager's new connections such ones."""
    pools.pool_classes_by_scheme = {"http": _TimedPool, "https": _TimedSecurePool}
