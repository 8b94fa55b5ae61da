"""Connects ports to adapters. Nothing else does.

What only some commands need is imported where they need it: a command that reads files starts in half the time.
"""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, assert_never

from gitops_mc.app.use_cases.repository import Repository, past_contents
from gitops_mc.core.errors import GitopsMcError, SourceError
from gitops_mc.core.model import GLOBAL_CLUSTER

if TYPE_CHECKING:
    from gitops_mc.adapters.kube import GatewayTransport, KubeconfigTransport
    from gitops_mc.adapters.memory import FileMemory
    from gitops_mc.app.api import ClusterApi
    from gitops_mc.app.authoring_ports import WorkFolder
    from gitops_mc.app.ports import Clock, MemoryStore, Workers
    from gitops_mc.app.preview_ports import Pulls
    from gitops_mc.app.use_cases.planning import Session
    from gitops_mc.core.rollout.driver import Driver
    from gitops_mc.sandbox.options import SandboxOptions
    from gitops_mc.sandbox.serving import Serving

STATE_FILE = ".gitops-mc-state.json"
CALLS_AT_ONCE = 32


@dataclass(frozen=True, slots=True)
class GatewayAccess:
    """Every cluster through the platform's gateway, with one token."""

    url: str
    token_file: Path
    ca_file: Path | None = None


@dataclass(frozen=True, slots=True)
class KubeconfigAccess:
    """A context of a kubeconfig for each cluster, named like it unless `contexts` says otherwise."""

    path: Path
    contexts: Mapping[str, str] = field(default_factory=dict)


Access: TypeAlias = GatewayAccess | KubeconfigAccess


def open_repository(path: str, revision: str | None = None) -> Repository:
    """The configuration repository at `path`. Raises SourceError."""
    from gitops_mc.adapters.sources import open_source  # noqa: PLC0415 - see above

    return Repository(open_source(path, revision))


def open_pulls(path: str) -> Pulls:
    """Pull requests of the Git repository at `path`, which is only read. Raises SourceError when it is used."""
    from gitops_mc.adapters.git_pulls import GitPulls  # noqa: PLC0415 - see above

    return GitPulls(path)


def work_folder(path: str) -> WorkFolder:
    """The configuration repository as it lies in a folder that is written to; it may be new. Raises SourceError."""
    from gitops_mc.adapters.folder import FolderSource  # noqa: PLC0415
    from gitops_mc.adapters.sources import open_source  # noqa: PLC0415
    from gitops_mc.adapters.work_folder import WorkFolderFiles  # noqa: PLC0415

    if os.path.lexists(path) and not isinstance(open_source(path), FolderSource):
        raise SourceError(
            f"{path} is a bare Git repository", hint="clone it, and name the folder of the clone"
        )
    return WorkFolderFiles(path)


def watch_repository(path: str, revision: str | None) -> Iterator[tuple[str, ...]]:
    """Names of the files that changed, each time some did. KeyboardInterrupt ends it."""
    from gitops_mc.adapters.watching import changes  # noqa: PLC0415 - only where it is used: it loads a native library

    return changes(Path(path), revision)


def look_at_memory(path: Path) -> MemoryStore:
    """The remembered state, for those who write nothing."""
    from gitops_mc.adapters.memory import MemoryView  # noqa: PLC0415

    return MemoryView(path)


def driver_of(path: Path) -> Driver:
    """Whether a process carries out the rollout that this state file remembers."""
    from gitops_mc.adapters.memory import in_use  # noqa: PLC0415
    from gitops_mc.core.rollout.driver import Driver  # noqa: PLC0415

    return Driver.APPLY if in_use(path) else Driver.NOBODY


def open_memory(path: Path) -> FileMemory:
    """The remembered state, for one who writes; to be closed. Raises MemoryStoreError, also while another one writes."""
    from gitops_mc.adapters.memory import FileMemory  # noqa: PLC0415

    return FileMemory(path)


@contextmanager
def session(
    access: Access,
    clusters: tuple[str, ...],
    store: MemoryStore,
    repository: Repository,
    stop: threading.Event | None = None,
) -> Iterator[Session]:
    """The clusters within reach until the end of the `with`. Raises UsageError for what cannot be right.

    Once `stop` is set nothing waits any more and no write is sent. With a sandbox time is the sandbox's.
    """
    from gitops_mc.app.executor import Executor  # noqa: PLC0415
    from gitops_mc.app.use_cases.planning import Session  # noqa: PLC0415

    with reading_many(access, clusters, stop) as (api, clock, workers):
        executor = Executor(api, clock, workers, store, past=past_contents(repository.source))
        yield Session(api, clock, workers, executor)


@contextmanager
def reading_many(
    access: Access, clusters: tuple[str, ...], stop: threading.Event | None = None
) -> Iterator[tuple[ClusterApi, Clock, Workers]]:
    """As `reading`, with workers for those who ask many clusters at once."""
    from gitops_mc.adapters.system import ThreadWorkers  # noqa: PLC0415

    with reading(access, clusters, stop) as (api, clock):
        workers = ThreadWorkers(CALLS_AT_ONCE)
        try:
            yield api, clock, workers
        finally:
            workers.close()


@contextmanager
def reading(
    access: Access, clusters: tuple[str, ...], stop: threading.Event | None = None
) -> Iterator[tuple[ClusterApi, Clock]]:
    """As `session`, for those who need no more than the API of the clusters, and the time there."""
    from gitops_mc.app.api import ClusterApi  # noqa: PLC0415
    from gitops_mc.app.stopping import ReadOnlyOnce  # noqa: PLC0415

    stop = stop or threading.Event()
    clock = clock_of(access, stop)
    transport = transport_of(access, clusters)
    jitter = random.Random().random  # noqa: S311 - spreads retries, guards nothing
    try:
        yield ClusterApi(ReadOnlyOnce(transport, stop.is_set), clock, jitter=jitter), clock
    finally:
        transport.close()


def transport_of(access: Access, clusters: tuple[str, ...]) -> GatewayTransport | KubeconfigTransport:
    """The way to these clusters, and to global. Raises UsageError."""
    from gitops_mc.adapters.kube import GatewayTransport, KubeconfigTransport  # noqa: PLC0415 - slow to load

    match access:
        case GatewayAccess(url, token_file, ca_file):
            return GatewayTransport(url, token_file, ca_file)
        case KubeconfigAccess(path, contexts):
            named = {name: name for name in (*clusters, GLOBAL_CLUSTER)}
            return KubeconfigTransport(path, {**named, **contexts})
        case _:
            assert_never(access)


def clock_of(access: Access, stop: threading.Event) -> Clock:
    """The machine's time, or that of a sandbox."""
    from gitops_mc.adapters.sandbox_clock import first_server, sandbox_clock  # noqa: PLC0415
    from gitops_mc.adapters.system import SystemClock  # noqa: PLC0415

    url = access.url if isinstance(access, GatewayAccess) else first_server(access.path)
    return sandbox_clock(url, stop) or SystemClock(stop)


@dataclass(frozen=True, slots=True)
class Sandbox:
    """A sandbox that runs, and the clock it runs on."""

    serving: Serving
    clock: Clock


def start_sandbox(options: SandboxOptions, speed: float, folder: Path, stop: threading.Event) -> Sandbox:
    """Start an embedded fleet whose time runs `speed` times as fast as the machine's, until `stop` is set."""
    from gitops_mc.adapters.system import ScaledClock  # noqa: PLC0415
    from gitops_mc.sandbox.serving import serve  # noqa: PLC0415 - brings a web server along

    clock = ScaledClock(speed, stop=stop)
    return Sandbox(serve(options, clock, speed, folder, stop), clock)


def example_files() -> dict[str, bytes]:
    """The example fleet repository, by path: as it was packaged, or from the checkout."""
    package = Path(__file__).parents[1]
    root = next(
        (r for r in (package / "examples", package.parent / "examples" / "fleet") if r.is_dir()), None
    )
    if root is None:
        raise GitopsMcError("the example repository is not there", hint="run it from a checkout")
    found = sorted(path for path in root.rglob("*") if path.is_file())
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in found}
