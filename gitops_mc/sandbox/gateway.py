"""The embedded fleet over HTTP, on loopback, in the shape of the platform's gateway. Thin: every answer is an API server's.

| path | goes to |
|---|---|
| `/kubernetes/<cluster>/...` | that cluster's API server |
| `/apis/cluster.alauda.io/v1alpha1/moduleinfoes...` | the global cluster's |
| `/auth/v1/clusters` | the global cluster's `clusters.platform.tkestack.io`, in the inventory's own words |
| `/as/<token>/kubernetes/<cluster>/...` | that cluster's API server, for clients without an Authorization header |
| `/sandbox/clock` | the time in here and how fast it runs, where the fleet has a clock: `{"now": "...", "speed": 60.0}` |

Tokens are passed through; whether they are good is for each API server to say. The row with `/as/` is for kubectl, which
sends a token over TLS only, and this is plain HTTP on loopback: the kubeconfig written here uses it.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote

import uvicorn
import yaml
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request as HttpRequest
from starlette.responses import Response as HttpResponse
from starlette.responses import StreamingResponse
from starlette.routing import Route

from gitops_mc.app.ports import JSON, Request, Response
from gitops_mc.core.model import GLOBAL_CLUSTER, PLATFORM_GROUP_VERSION, JsonObject
from gitops_mc.sandbox.apiserver.list_options import is_on
from gitops_mc.sandbox.behind import Server, WatchLines

_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]
_LONGEST_WATCH = 1800
"""Seconds; what a real API server ends a watch after at the least, when it is asked for no other time."""
_LOOK_FOR_NEWS = 0.05
_STOP_WITHIN = 5.0


@dataclass(frozen=True, slots=True)
class RunningGateway:
    """A gateway that serves. `url` has no trailing slash."""

    url: str
    stop: Callable[[], None]
    """Ends watches and connections; returns when the port is free."""


@dataclass(frozen=True, slots=True)
class SandboxTime:
    """What `/sandbox/clock` tells: whoever rolls out in here has to live on the same clock."""

    now: Callable[[], datetime]
    speed: float


def start(servers: Mapping[str, Server], port: int = 0, time: SandboxTime | None = None) -> RunningGateway:
    """Serve these clusters on 127.0.0.1; port 0 takes a free one. `servers` may grow later: it is looked up at each request.

    Raises OSError when the port is taken.
    """
    listening = _listening(port)
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    stopping = threading.Event()
    config = uvicorn.Config(
        _Skin(servers, url, stopping, time).app(),
        log_config=None,
        log_level="critical",
        access_log=False,
        lifespan="off",
        ws="none",
        timeout_keep_alive=120,  # longer than a client keeps an idle connection, or its next write meets a closed one
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([listening],), name="gateway", daemon=True)
    thread.start()

    def stop() -> None:
        stopping.set()
        server.should_exit = True
        thread.join(_STOP_WITHIN)
        listening.close()

    return RunningGateway(url, stop)


def write_kubeconfig(path: Path, url: str, clusters: Iterable[str], token: str) -> None:
    """A kubeconfig with one context per cluster, named like it; the first one is current. Readable by its owner only."""
    names = tuple(clusters)
    root = f"{url}/as/{quote(token, safe='')}"
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": n, "cluster": {"server": cluster_url(root, n)}} for n in names],
        "users": [{"name": "sandbox", "user": {"token": token}}],
        "contexts": [{"name": n, "context": {"cluster": n, "user": "sandbox"}} for n in names],
        "current-context": names[0] if names else "",
    }
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        os.fchmod(descriptor, 0o600)
        yaml.safe_dump(config, stream, sort_keys=False)


def _listening(port: int) -> socket.socket:
    """On loopback. The protocol is named, for asyncio turns Nagle's delay off (40 ms an answer) only where it is."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", port))
        listening.listen(256)
    except OSError:
        listening.close()
        raise
    return listening


def cluster_url(url: str, cluster: str) -> str:
    return f"{url}/kubernetes/{quote(cluster, safe='')}"


class _Skin:
    """From HTTP to `Request`, and from `Response` to HTTP."""

    def __init__(
        self,
        servers: Mapping[str, Server],
        url: str,
        stopping: threading.Event,
        time: SandboxTime | None = None,
    ) -> None:
        self._servers = servers
        self._url = url
        self._stopping = stopping
        self._time = time

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/auth/v1/clusters", self._inventory, methods=["GET"]),
                Route("/sandbox/clock", self._clock, methods=["GET"]),
                Route("/kubernetes/{rest:path}", self._cluster, methods=_METHODS),
                Route("/as/{token}/kubernetes/{rest:path}", self._cluster, methods=_METHODS),
                Route("/apis/cluster.alauda.io/v1alpha1/{rest:path}", self._root, methods=_METHODS),
            ]
        )

    async def _cluster(self, http: HttpRequest) -> HttpResponse:
        name, _, rest = _raw_path(http).partition("/kubernetes/")[2].partition("/")
        server = self._servers.get(unquote(name))
        if server is None:
            return _no_such_path()
        return await self._answer(server, http, f"/{rest}")

    async def _root(self, http: HttpRequest) -> HttpResponse:
        path = _raw_path(http)
        server = self._servers.get(GLOBAL_CLUSTER)
        if server is None or path.split("/")[4] != "moduleinfoes":
            return _no_such_path()
        return await self._answer(server, http, path)

    async def _clock(self, _http: HttpRequest) -> HttpResponse:
        if self._time is None:
            return _no_such_path()
        told = {"now": self._time.now().isoformat(), "speed": self._time.speed}
        return HttpResponse(json.dumps(told), media_type=JSON)

    async def _inventory(self, http: HttpRequest) -> HttpResponse:
        server = self._servers.get(GLOBAL_CLUSTER)
        if server is None:
            return _no_such_path()
        listing = Request("GET", f"/apis/{PLATFORM_GROUP_VERSION}/clusters", token=_token(http))
        answer = await run_in_threadpool(server.handle, listing)
        if answer.status != 200:
            return _http(answer)
        found = json.loads(answer.body)
        body = {
            "kind": "ClusterList",
            "apiVersion": "clusterregistry.k8s.io/v1alpha1",
            "metadata": {"resourceVersion": found["metadata"]["resourceVersion"]},
            "items": [_registered(item, self._url) for item in found["items"]],
        }
        return HttpResponse(json.dumps(body), media_type=JSON)

    async def _answer(self, server: Server, http: HttpRequest, path: str) -> HttpResponse:
        query = tuple(parse_qsl(http.url.query, keep_blank_values=True))
        request = Request(
            method=http.method,
            path=path,
            query=query,
            body=await http.body(),
            content_type=http.headers.get("content-type", JSON),
            accept=http.headers.get("accept", JSON),
            token=_token(http),
        )
        asked = dict(query)
        if http.method == "GET" and is_on(asked, "watch"):
            watch = await run_in_threadpool(server.open_watch, request)
            if isinstance(watch, Response):
                return _http(watch)
            return StreamingResponse(self._lines(watch, _seconds(asked)), media_type=JSON)
        return _http(await run_in_threadpool(server.handle, request))

    async def _lines(self, watch: WatchLines, seconds: float) -> AsyncIterator[bytes]:
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        try:
            while True:
                closed = watch.closed
                lines = await run_in_threadpool(watch.poll)
                if lines:
                    yield b"".join(lines)
                if closed or self._stopping.is_set() or loop.time() >= end:
                    return
                await asyncio.sleep(_LOOK_FOR_NEWS)
        finally:
            watch.close()


def _raw_path(http: HttpRequest) -> str:
    """The path as it was sent: an encoded slash in a name stays one."""
    raw: bytes = http.scope["raw_path"]
    return raw.decode("ascii").partition("?")[0]


def _token(http: HttpRequest) -> str:
    scheme, _, token = http.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return token.strip()
    return str(http.path_params.get("token", ""))


def _seconds(query: Mapping[str, str]) -> float:
    asked = query.get("timeoutSeconds", "")
    return float(asked) if asked.isascii() and asked.isdigit() and int(asked) > 0 else _LONGEST_WATCH


def _http(answer: Response) -> HttpResponse:
    return HttpResponse(answer.body, answer.status, headers=dict(answer.headers))


def _no_such_path() -> HttpResponse:
    """What a gateway says of a cluster it does not know: plain text, not a Status of an API server."""
    return HttpResponse("404 page not found\n", 404, media_type="text/plain")


def _registered(cluster: JsonObject, url: str) -> JsonObject:
    metadata = cluster["metadata"]
    return {
        "metadata": {
            k: metadata[k]
            for k in ("name", "uid", "creationTimestamp", "labels", "annotations")
            if k in metadata
        },
        "spec": {
            "kubernetesApiEndpoints": {
                "serverEndpoints": [
                    {"clientCIDR": "0.0.0.0/0", "serverAddress": cluster_url(url, metadata["name"])}
                ]
            }
        },
        "status": {"conditions": (cluster.get("status") or {}).get("conditions") or []},
    }
