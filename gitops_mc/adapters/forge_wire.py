"""How the forges' libraries reach a forge: every request once, in time, and never on to where somebody redirects it.

Both libraries speak over `requests`. What they would do by themselves is taken from them here, below them: PyGithub follows a 301
with the token, takes a 307 for success, and waits on a 202; python-gitlab sends its token after any redirection to any host, and
sleeps as long as a 429 says, up to ten times. An answer that is not a good one never gets to them: it is translated here, once.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from requests import exceptions as failures
from requests.adapters import HTTPAdapter
from urllib3 import Retry

from gitops_mc import __version__
from gitops_mc.adapters.forge_errors import answered, too_long
from gitops_mc.adapters.kube_deadline import read_in_time
from gitops_mc.adapters.kube_errors import unreachable
from gitops_mc.core.errors import UnreachableError

if TYPE_CHECKING:
    from requests import PreparedRequest, Response

USER_AGENT: Final = f"gitops-mc/{__version__}"
LONGEST_ANSWER: Final = 32 << 20
"""Bytes, unpacked. A page of pull requests with the longest texts that forges take is shorter."""
_PIECE: Final = 64 << 10


class Once(HTTPAdapter):
    """A transport of `requests` that sends once and gives good answers in JSON. Raises ApiError and UnreachableError."""

    def __init__(self, timeout: float) -> None:
        """`timeout`: the seconds that its requests are sent with, for what errors say."""
        self._timeout = timeout
        super().__init__(max_retries=Retry(0, read=False), pool_connections=1, pool_maxsize=1)

    def init_poolmanager(self, *args: Any, **more: Any) -> None:
        """The library's own; its connections read against a deadline."""
        super().init_poolmanager(*args, **more)
        read_in_time(self.poolmanager)

    def send(self, request: PreparedRequest, *args: Any, **more: Any) -> Response:
        """As `requests` asks for it."""
        host = urlsplit(request.url or "").netloc
        try:
            response = super().send(request, *args, **more)
            body = _whole(response, host)  # all of it: what breaks off breaks off here
        except (failures.RequestException, OSError) as error:
            found = unreachable(error, host, self._timeout, "a CA that is trusted here")
            raise UnreachableError(found.message, hint=_way_out(found)) from error
        told = _decoded(body)
        if response.status_code in {200, 201} and (told is not None or not body.strip()):
            return response
        if response.status_code == 304 and "If-None-Match" in request.headers:
            return response
        raise answered(host, response.status_code, response.headers, told)


def _whole(response: Response, host: str) -> bytes:
    """What it says, within reason; read, so that the libraries find it there."""
    body = bytearray()
    for piece in response.iter_content(_PIECE):
        body += piece
        if len(body) > LONGEST_ANSWER:
            response.close()
            raise too_long(host, LONGEST_ANSWER)
    response._content = bytes(body)  # noqa: SLF001 - where `requests` itself puts it
    return response.content


def _way_out(error: UnreachableError) -> str:
    """Of what can be mended in a Fleet; the other hints speak of commands."""
    if "not signed by" in error.message:
        return (
            "name a ConfigMap with the CA that signed the forge's certificate under ca.crt: spec.forge.caRef"
        )
    return error.hint


def _decoded(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None
