"""One keep-alive pool of the Kubernetes client, and one call over it: bytes out, bytes in, all of it bounded in time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from gitops_mc import __version__
from gitops_mc.adapters.kube_errors import unreachable
from gitops_mc.app.ports import Response
from gitops_mc.core.errors import ApiError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from gitops_mc.app.ports import Request

LARGEST_ANSWER = 256 * 1024 * 1024
"""Bytes after decompression; an answer beyond it is an error while it is read, not a full memory."""

_CHUNK = 256 * 1024


def configuration(url: str, ca_file: Path | None, connections: int, proxy: str) -> Any:
    """The client's settings. `proxy` `""` is none at all: given None the client takes one from the environment."""
    from kubernetes.client import Configuration  # noqa: PLC0415 - half a second, only where it is used

    made = Configuration(
        host=url,
        ssl_ca_cert=str(ca_file) if ca_file else None,
        connection_pool_maxsize=connections,
        proxy=proxy,
        no_proxy="",
    )
    made.keep_alive = True
    return made


class Wire:
    """Connections made as `settings` (the client's Configuration) say. Safe to use from several threads."""

    def __init__(self, settings: Any, trusted: str, largest: int) -> None:
        """`trusted` names the CAs, for messages. Raises UsageError when certificates cannot be loaded."""
        from kubernetes.client.rest import RESTClientObject  # noqa: PLC0415 - half a second, only where it is used

        from gitops_mc.adapters.kube_deadline import read_in_time  # noqa: PLC0415 - comes with the client

        try:
            self._pool = RESTClientObject(settings).pool_manager
        except (OSError, ValueError) as error:
            raise UsageError(f"connections with {trusted} cannot be set up: {error}") from error
        read_in_time(self._pool)
        self._trusted = trusted
        self._largest = largest

    def close(self) -> None:
        self._pool.clear()

    def carry(self, call: str, url: str, request: Request, authorization: str, *, timeout: float) -> Response:
        """`call` names the call in errors; `timeout` seconds for connecting and sending, and for reading the answer,
        headers and all; looking up the host's name is the resolver's own time. Raises UnreachableError, and ApiError for an answer that is too large.
        """
        from urllib3 import Timeout  # noqa: PLC0415 - comes with the client
        from urllib3.exceptions import HTTPError  # noqa: PLC0415

        answer = None
        try:
            answer = self._pool.request(
                request.method,
                f"{url}?{urlencode(request.query)}" if request.query else url,
                body=request.body or None,
                headers=_headers(request, authorization),
                timeout=Timeout(total=timeout),
                retries=False,
                redirect=False,
                preload_content=False,
            )
            body = self._read(answer, call)
            answer.release_conn()
        except (HTTPError, OSError) as error:
            raise unreachable(error, call, timeout, self._trusted) from error
        finally:
            if answer is not None:
                answer.close()  # closes the connection only if it has not been given back: half read, it is of no use
        return Response(answer.status, body, {k.lower(): v for k, v in answer.headers.items()})

    def _read(self, answer: Any, call: str) -> bytes:
        chunks = []
        size = 0
        while chunk := answer.read1(_CHUNK, decode_content=True):
            size += len(chunk)
            if size > self._largest:
                message = f"{call}: the answer is larger than {self._largest} bytes"
                raise ApiError(message, status=answer.status)
            chunks.append(chunk)
        return b"".join(chunks)


def _headers(request: Request, authorization: str) -> dict[str, str]:
    headers = {
        "Accept": request.accept,
        "Accept-Encoding": "gzip",
        "User-Agent": f"gitops-mc/{__version__}",
    }
    if request.body:
        headers["Content-Type"] = request.content_type
    if authorization:
        headers["Authorization"] = authorization
    return headers
