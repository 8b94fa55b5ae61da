"""What the story of the controller is played on: an embedded fleet behind its gateway, and two real processes."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import yaml

from gitops_mc.adapters.git_commits import CommittedRepository
from gitops_mc.adapters.private_files import write_privately
from gitops_mc.adapters.system import ScaledClock
from gitops_mc.app.api import RESOURCES, ClusterApi
from gitops_mc.app.controller.lease import LEASE
from gitops_mc.app.controller.objects import FLEET, ROLLOUT
from gitops_mc.app.use_cases.demo.push import PushStage
from gitops_mc.app.use_cases.demo.story import BAD_LINE, INSTALLED_BY_HAND, NEWCOMER
from gitops_mc.core.custom import GROUP_VERSION
from gitops_mc.core.custom.requests import PREFIX
from gitops_mc.core.errors import GitopsMcError, NotFoundError
from gitops_mc.core.model import GLOBAL_CLUSTER, JsonObject, annotations_of, name_of, resource_version
from gitops_mc.sandbox import demo_fleet
from gitops_mc.sandbox.behind import Behind
from gitops_mc.sandbox.gateway import SandboxTime, start
from gitops_mc.sandbox.running import run_in_thread
from gitops_mc.sandbox.witness import NodeWitness

NAMESPACE: Final = "gitops-mc"
_FLEET: Final = "prod"
_REPLICAS: Final = ("controller-a", "controller-b")
_LEASE_SECONDS: Final = 6
_ENDS_WITHIN: Final = 15.0


def definition_files() -> tuple[Path, ...]:
    """Our CustomResourceDefinitions: as they were packaged, or from the checkout."""
    package = Path(__file__).parents[1]
    roots = (package / "crds", package.parent / "deploy" / "crds")
    found = next((sorted(r.glob("*.yaml")) for r in roots if r.is_dir()), [])
    if not found:
        raise GitopsMcError(
            "the definitions of Fleet and ClusterRollout are not there", hint="run it from a checkout"
        )
    return tuple(found)


@contextmanager
def push_stage(folder: Path, speed: float) -> Iterator[PushStage]:
    """Until the end of the `with`. Every process that is started ends with it."""
    stop = threading.Event()
    clock = ScaledClock(speed, stop=stop)
    fleet = demo_fleet.build(clock.now, INSTALLED_BY_HAND, NEWCOMER, BAD_LINE)
    gateway = start(
        Behind(fleet.servers, lambda inner: fleet.faulty(inner, clock)), 0, SandboxTime(clock.now, speed)
    )
    thread = run_in_thread(fleet, clock, stop)
    token = folder / "token"
    write_privately(token, fleet.token.encode())
    api = ClusterApi(fleet.transport(clock), clock, jitter=random.Random(0).random)  # noqa: S311 - spreads retries
    committed = CommittedRepository(folder / "fleet.git")
    _prepare(api, folder / "fleet.git")
    processes = {name: _process(name, folder, gateway.url, token) for name in _REPLICAS}
    objects = _Objects(api)
    try:
        yield PushStage(
            clock=clock,
            commit=lambda files, message: committed.commit(files, message, clock.now()),
            fleet=objects.fleet,
            rollouts=objects.rollouts,
            annotate=objects.annotate,
            leader=objects.leader,
            kill=lambda name: processes[name].kill(),
            notes=NodeWitness(fleet).notes,
            writes=lambda: {name: len(fleet.writes(name)) for name in fleet.servers},
        )
    finally:
        for process in processes.values():
            process.send_signal(signal.SIGTERM)
        for process in processes.values():
            with suppress(subprocess.TimeoutExpired):
                process.wait(_ENDS_WITHIN)
            process.kill()
            process.wait()
        stop.set()
        gateway.stop()
        thread.join()


def _process(name: str, folder: Path, url: str, token: Path) -> subprocess.Popen[bytes]:
    command = [
        *(sys.executable, "-m", "gitops_mc.cli", "controller", "--gateway", url, "--token-file", str(token)),
        *("--identity", name, "--cache", str(folder / name), "--lease-duration", str(_LEASE_SECONDS)),
        *("--namespace", NAMESPACE, "--allow-unprotected-git"),
    ]
    log = os.open(folder / f"{name}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)  # noqa: S603 - our own program
    finally:
        os.close(log)


def _prepare(api: ClusterApi, repository: Path) -> None:
    """The definitions, a namespace, and the Fleet that follows the repository."""
    for file in definition_files():
        body = yaml.safe_load(file.read_text(encoding="utf-8"))
        api.create(GLOBAL_CLUSTER, RESOURCES["CustomResourceDefinition"], body)
    api.create(
        GLOBAL_CLUSTER,
        RESOURCES["Namespace"],
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
    )
    source = {"url": repository.resolve().as_uri(), "ref": "main", "interval": "30s"}
    body = {
        "apiVersion": GROUP_VERSION,
        "kind": FLEET.kind,
        "metadata": {"name": _FLEET},
        "spec": {"source": source},
    }
    api.create(GLOBAL_CLUSTER, FLEET, body, namespace=NAMESPACE)


class _Objects:
    """What anybody with kubectl sees and does."""

    def __init__(self, api: ClusterApi) -> None:
        self._api = api

    def fleet(self) -> JsonObject:
        return self._api.get(GLOBAL_CLUSTER, FLEET, _FLEET, namespace=NAMESPACE)

    def rollouts(self) -> Mapping[str, JsonObject]:
        return {name_of(b): b for b in self._api.list(GLOBAL_CLUSTER, ROLLOUT, namespace=NAMESPACE)}

    def leader(self) -> str:
        try:
            lease = self._api.get(GLOBAL_CLUSTER, LEASE, "gitops-mc", namespace=NAMESPACE)
        except NotFoundError:
            return ""
        return str((lease.get("spec") or {}).get("holderIdentity") or "")

    def annotate(self, verb: str, value: str) -> None:
        body = self.fleet()
        notes = {**annotations_of(body), f"{PREFIX}{verb}": value}
        patch: list[JsonObject] = [
            {"op": "test", "path": "/metadata/resourceVersion", "value": resource_version(body)},
            {"op": "add", "path": "/metadata/annotations", "value": notes},
        ]
        self._api.json_patch(GLOBAL_CLUSTER, FLEET, _FLEET, patch, namespace=NAMESPACE)
