"""Connects Fleets to their forges: what `spec.forge` leads to, with the credentials that it names."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from shutil import rmtree
from typing import Final, Protocol

from gitops_mc.adapters.forge_github import Access, App, Token
from gitops_mc.adapters.forge_github_pulls import GiteaPulls, GithubPulls
from gitops_mc.adapters.forge_gitlab_pulls import GitlabPulls
from gitops_mc.adapters.private_files import PrivateFiles
from gitops_mc.adapters.system import ThreadWorkers
from gitops_mc.app.forge_ports import NoForge
from gitops_mc.app.pull_ports import PullRequests
from gitops_mc.bootstrap.means import Data
from gitops_mc.core.custom.fleet_spec import FleetSpecError, Ref, fleet_spec
from gitops_mc.core.custom.forge_spec import ForgeKind, ForgeSpec, Place, place_of
from gitops_mc.core.errors import UsageError
from gitops_mc.core.model import JsonObject

AT_ONCE: Final = 4
"""Forges that are asked at the same time: one that hangs leaves room for those of other Fleets."""
_NO_WAIT: Final = 0.0


@dataclass(frozen=True, slots=True)
class _Made:
    """A forge, and what it was made from."""

    spec: ForgeSpec
    place: Place
    credentials: str
    forge: PullRequests
    ca: Path | None


@dataclass(slots=True)
class Forges:
    """The `OpenForge` port."""

    data: Data
    folder: Path
    """For certificates; nobody else writes there."""
    body_of: Callable[[str], JsonObject]
    """The Fleet of a title, as it was read last; empty: it has not been read."""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _made: dict[str, _Made] = field(default_factory=dict)

    def __call__(self, fleet: str) -> PullRequests | NoForge:
        """As the port promises."""
        body = self.body_of(fleet)
        if not body:
            return NoForge.NOT_KNOWN
        spec = fleet_spec(body)
        if spec.forge is None:
            self.leave(fleet)
            return NoForge.NONE_NAMED
        place = place_of(spec.forge, spec.source.url)
        access = self._access(spec.forge)
        ca = self.data.certificates(spec.forge.ca) if spec.forge.ca is not None else b""
        credentials = sha256(repr(access).encode() + ca).hexdigest()
        with self._lock:
            before = self._made.get(fleet)
        if before and (before.spec, before.place, before.credentials) == (spec.forge, place, credentials):
            return before.forge
        file = self._file(fleet, ca)
        forge = _forge(spec.forge.kind, place, access, file)
        with self._lock:
            self._made[fleet] = _Made(spec.forge, place, credentials, forge, file)
        if before is not None:
            before.forge.close()
            if before.ca is not None and before.ca != file:
                before.ca.unlink(missing_ok=True)
        return forge

    def leave(self, fleet: str) -> None:
        """As the port promises."""
        with self._lock:
            made = self._made.pop(fleet, None)
        if made is not None:
            made.forge.close()
        rmtree(self._folder(fleet), ignore_errors=True)

    def _access(self, spec: ForgeSpec) -> Access:
        if spec.app is not None:
            key = self.data.value(spec.app.key).decode("utf-8", "replace")
            return App(spec.app.app, spec.app.installation, key)
        if spec.token is None:
            raise FleetSpecError("spec.forge names no credentials", hint="tokenRef: {name: SECRET, key: KEY}")
        return Token(_token(self.data.value(spec.token), spec.token))

    def _file(self, fleet: str, ca: bytes) -> Path | None:
        """Named after what it holds: connections that are being made read it."""
        if not ca:
            return None
        return PrivateFiles(self._folder(fleet)).write(f"ca-{sha256(ca).hexdigest()[:16]}.crt", ca)

    def _folder(self, fleet: str) -> Path:
        return self.folder / sha256(fleet.encode()).hexdigest()[:16]


def _token(held: bytes, ref: Ref) -> str:
    """It becomes a header: nothing but printable ASCII, in one word."""
    text = held.decode("utf-8", "replace").strip()
    if not text or not text.isascii() or not text.isprintable() or " " in text:
        raise UsageError(
            f"Secret {ref.name} holds no token under {ref.key}",
            hint="one word, as the forge has shown it once",
        )
    return text


def _forge(kind: ForgeKind, place: Place, access: Access, ca: Path | None) -> PullRequests:
    match kind, access:
        case ForgeKind.GITLAB, Token(token):
            return GitlabPulls(place, token, ca)
        case ForgeKind.GITHUB, _:
            return GithubPulls(place, access, ca)
        case ForgeKind.GITEA, Token():
            return GiteaPulls(place, access, ca)
        case _:
            raise FleetSpecError("spec.forge.appRef is for GitHub", hint="tokenRef: {name: SECRET, key: KEY}")


class Telling(Protocol):
    """What is to be told to forges."""

    def jobs(self) -> Mapping[str, Callable[[], None]]:
        """What is to be done now, by Fleet; each job takes as long as its forge does."""
        ...


@dataclass(slots=True)
class ForgeJobs:
    """Runs what is to be told to forges, on threads of its own."""

    told: Telling
    crashed: Callable[[str, BaseException], object]
    _workers: ThreadWorkers = field(default_factory=lambda: ThreadWorkers(AT_ONCE))

    def run(self) -> None:
        """Begin what is due; returns at once. One of a Fleet that still runs is not begun again."""
        for fleet, error in self._workers.map(self.told.jobs(), within=_NO_WAIT).items():
            if isinstance(error, Exception):
                self.crashed(f"the forge of {fleet}", error)

    def close(self) -> None:
        """Begin nothing more: what is not told is told by the next process."""
        self._workers.close()
