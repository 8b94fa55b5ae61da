"""A transport that counts what goes through it. It stands below whatever may hold a write back: what is not sent is not counted."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType

from gitops_mc.adapters.telemetry_metrics import Metrics
from gitops_mc.app.api import RESOURCES
from gitops_mc.app.ports import Request, Response, Transport
from gitops_mc.core.custom import FLEET_KIND, ROLLOUT_KIND
from gitops_mc.core.model import Kind

NO_ANSWER = "none"
_VERBS = MappingProxyType(
    {"GET": "read", "POST": "create", "PATCH": "patch", "PUT": "replace", "DELETE": "delete"}
)
_OTHER = "other"
_CONFLICT, _THROTTLED = 409, 429
_MANAGED = tuple((RESOURCES[kind.value].collection(), kind.value) for kind in Kind)
_KEPT = tuple(
    (f"/apis/{RESOURCES[kind].group_version}/", f"/{RESOURCES[kind].plural}")
    for kind in (FLEET_KIND, ROLLOUT_KIND)
)


@dataclass(frozen=True, slots=True)
class MeasuredTransport:
    """Counts requests, writes and saves of one fleet (empty: of the controller itself, which saves nothing). Changes nothing of them."""

    inner: Transport
    fleet: str
    metrics: Metrics
    seconds: Callable[[], float]
    """A clock that never jumps: `time.monotonic`."""

    def send(self, cluster: str, request: Request, *, timeout: float) -> Response:
        """As the port promises."""
        begun = self.seconds()
        status: int | None = None
        try:
            response = self.inner.send(cluster, request, timeout=timeout)
            status = response.status
        finally:
            verb = _VERBS.get(request.method, _OTHER)
            self.metrics.requested(self.fleet, cluster, verb, _code(status), self.seconds() - begun)
            self._count_write(cluster, request, status)
        return response

    def _count_write(self, cluster: str, request: Request, status: int | None) -> None:
        if request.method == "GET" or _is_dry(request):
            return
        kind = next((kind for path, kind in _MANAGED if _below(request.path, path)), None)
        if kind is not None:
            self.metrics.wrote(self.fleet, cluster, kind, _written(status))
        elif self.fleet and any(
            request.path.startswith(root) and plural in request.path for root, plural in _KEPT
        ):
            self.metrics.saved(self.fleet, _saved(status))


def _code(status: int | None) -> str:
    if status is None:
        return NO_ANSWER
    return f"{status // 100}xx" if 200 <= status < 600 else _OTHER


def _written(status: int | None) -> str:
    if status is None or status == _THROTTLED or status >= 500:
        return "failed"
    return "accepted" if status < 300 else "refused"


def _saved(status: int | None) -> str:
    if status is not None and status < 300:
        return "saved"
    return "conflict" if status == _CONFLICT else "failed"


def _below(path: str, collection: str) -> bool:
    return path == collection or path.startswith(f"{collection}/")


def _is_dry(request: Request) -> bool:
    """Whether the server is asked to change nothing: in the query, for a deletion in its body."""
    if any(name == "dryRun" for name, _ in request.query):
        return True
    return request.method == "DELETE" and bool(request.body) and "dryRun" in json.loads(request.body)
