"""A fleet of any size that answers from memory: what one embedded cluster answers, told again under each name.

The fleet is a process of its own, so that what its answers cost counts for nobody; it knows no operator and no nodes that move, and
gives every cluster the same objects, with uids of its own.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit
from zlib import crc32

from gitops_mc.app.executor import Executor
from gitops_mc.app.ports import Request, Response, Transport
from gitops_mc.core.desired import load
from gitops_mc.core.model import GLOBAL_CLUSTER, Commit, DesiredCluster
from gitops_mc.core.policy import FleetPolicy
from gitops_mc.core.rollout.inputs import NO_ACTS, Fleet
from gitops_mc.core.rollout.memory import FleetMemory, from_json, to_json
from gitops_mc.core.rollout.moves import Done
from gitops_mc.sandbox.fleet import simple_fleet
from tests.scenarios.rollout_world import RolloutWorld, machine_config, source_files

MODEL = "edge-0000"
_UID = re.compile(rb'("uid": ?")([0-9a-f]{8})')
Key = tuple[str, str, tuple[tuple[str, str], ...], str]


@dataclass
class Model:
    """One cluster whose rollout is over: its files, its memory, its answers."""

    fleet: Fleet
    memory: FleetMemory
    answers: dict[tuple[str, Key], Response]


class _Recording:
    def __init__(self, inner: Transport, into: dict[tuple[str, Key], Response]) -> None:
        self._inner, self._into = inner, into

    def send(self, cluster: str, request: Request, *, timeout: float) -> Response:
        answer = self._inner.send(cluster, request, timeout=timeout)
        if request.method == "GET":
            self._into[cluster, key_of(request)] = answer
        return answer


def key_of(request: Request) -> Key:
    return request.method, request.path, tuple(sorted(request.query)), request.accept


def model(
    objects: int, *, workers: int = 3, ask: Callable[[Executor, Fleet], object] = lambda _, __: None
) -> Model:
    """A cluster with so many configs that have passed. `ask` asks whatever else it is to answer."""
    world = RolloutWorld(spec=simple_fleet(MODEL, workers=workers))
    world.files["fleet.yaml"] = (
        "apiVersion: gitops-mc.io/v1alpha1\nkind: FleetConfig\nmetadata: {name: bench}\nspec: {rollout: {waves: [{name: all, clusters: {}, maxConcurrent: 100%}]}}\n"
    )
    for number in range(objects):
        world.files[f"clusters/{MODEL}/{number:03}.yaml"] = machine_config(
            f"50-worker-thing-{number:03}", files={f"/etc/a/{number}.conf": "x" * 1000}
        )
    outlook = world.run()
    assert isinstance(outlook, Done), outlook
    answers: dict[tuple[str, Key], Response] = {}
    world.wrap = lambda inner: _Recording(inner, answers)
    executor = world.executor()
    executor.begin(world.git())
    executor.go_on(executor.decide(world.git(), world.memory(), NO_ACTS))
    ask(executor, world.git())
    return Model(world.git(), world.memory(), answers)


def names(clusters: int) -> list[str]:
    return [f"edge-{number:04}" for number in range(clusters)]


def renamed(data: bytes, name: str) -> bytes:
    mark = f"{crc32(name.encode()):08x}".encode()
    return _UID.sub(rb"\g<1>" + mark, data).replace(MODEL.encode(), name.encode())


def fleet_of(one: Model, clusters: int) -> tuple[Fleet, FleetMemory]:
    """As many clusters like the model, and the memory of a controller that has rolled them all."""
    (own,) = one.fleet.clusters
    files = {}
    for name in names(clusters):
        for manifest in own.manifests:
            files[f"clusters/{name}/{manifest.key.name}.yaml"] = json.dumps(manifest.body)
    state = load(source_files(files), cache={})
    plain = to_json(one.memory)
    remembered = json.dumps(plain["clusters"][MODEL]).encode()
    plain["clusters"] = {name: json.loads(renamed(remembered, name)) for name in names(clusters)}
    policy: FleetPolicy = one.fleet.policy
    found: tuple[DesiredCluster, ...] = state.clusters
    return Fleet(policy, found, Commit("a" * 40)), from_json(plain)


# ---------------------------------------------------------------------------------------------------------- the server


class _Server(asyncio.Protocol):
    """HTTP/1.1 with keep-alive, as much of it as one client needs."""

    def __init__(
        self, answers: dict[tuple[str, Key], Response], clusters: int, cache: dict[tuple[str, Key], bytes]
    ) -> None:
        self._answers, self._clusters, self._cache = answers, clusters, cache
        self._left = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._left += data
        while b"\r\n\r\n" in self._left:
            head, _, rest = self._left.partition(b"\r\n\r\n")
            lines = head.decode().split("\r\n")
            headers = {
                name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])
            }
            length = int(headers.get("content-length", "0"))
            if len(rest) < length:
                return
            self._left = rest[length:]
            method, target, _ = lines[0].split(" ")
            self._transport.write(self._answer(method, target, headers.get("accept", "")))  # type: ignore[attr-defined]

    def _answer(self, method: str, target: str, accept: str) -> bytes:
        parts = urlsplit(target)
        if parts.path.count("/") < 3:  # nothing of a cluster: whether it is a sandbox
            return b"HTTP/1.1 404 X\r\ncontent-length: 0\r\n\r\n"
        _, _, cluster, path = parts.path.split("/", 3)
        cluster = unquote(cluster)
        key: Key = (method, f"/{path}", tuple(sorted(parse_qsl(parts.query, keep_blank_values=True))), accept)
        found = self._cache.get((cluster, key))
        if found is None:
            found = self._cache[cluster, key] = self._made(cluster, key)
        return found

    def _made(self, cluster: str, key: Key) -> bytes:
        if cluster == GLOBAL_CLUSTER:
            answer = self._answers.get((cluster, key))
            body = b"" if answer is None else _multiplied(answer.body, self._clusters)
        else:
            answer = self._answers.get((MODEL, (key[0], key[1].replace(cluster, MODEL), key[2], key[3])))
            body = b"" if answer is None else renamed(answer.body, cluster)
        status = 404 if answer is None else answer.status
        head = f"HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        return head.encode() + body


def _multiplied(body: bytes, clusters: int) -> bytes:
    """A list of global: what is of the model's cluster, once for each."""
    if not body.startswith(b"{"):  # a 404 in plain text
        return body
    found = json.loads(body)
    if "items" not in found:
        return body
    items = []
    for item in found["items"]:
        text = json.dumps(item).encode()
        if MODEL.encode() not in text:
            items.append(item)
            continue
        items += [json.loads(renamed(text, name)) for name in names(clusters)]
    return json.dumps({**found, "items": items}).encode()


def _serve(answers: dict[tuple[str, Key], Response], clusters: int, told: Connection) -> None:
    async def run() -> None:
        cache: dict[tuple[str, Key], bytes] = {}
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: _Server(answers, clusters, cache), "127.0.0.1", 0)
        told.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())


@contextmanager
def served(one: Model, clusters: int, folder: Path) -> Iterator[tuple[str, Path]]:
    """The address of a gateway to so many clusters like the model, and a token file for it."""
    here, there = multiprocessing.Pipe()
    token = folder / "token"
    token.write_text("bench\n")
    plain = {k: Response(a.status, a.body, dict(a.headers)) for k, a in one.answers.items()}
    process = multiprocessing.get_context("spawn").Process(
        target=_serve, args=(plain, clusters, there), daemon=True
    )
    process.start()
    try:
        yield f"http://127.0.0.1:{here.recv()}", token
    finally:
        process.kill()
        process.join()
