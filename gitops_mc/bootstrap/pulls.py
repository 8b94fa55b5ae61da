"""Connects the Fleets that want previews to their forges, and to the heads of their pull requests in Git."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from gitops_mc.adapters.git_address import Unprotected, address_of
from gitops_mc.adapters.git_folder import discard
from gitops_mc.adapters.git_pull_heads import GITHUB_HEADS, GITLAB_HEADS, PullHeads
from gitops_mc.adapters.git_shelf import Shelf
from gitops_mc.app.controller.previews_shown import PreviewsShown
from gitops_mc.app.forge_ports import NoForge
from gitops_mc.app.looks import Look
from gitops_mc.app.pull_ports import PullDesk
from gitops_mc.app.reading import ReadingCache
from gitops_mc.app.telemetry_ports import Board, PollerView
from gitops_mc.bootstrap.forges import Forges
from gitops_mc.bootstrap.means import Data, git_access
from gitops_mc.core.custom.fleet_spec import FleetSpec, FleetSpecError, GitSource, fleet_spec
from gitops_mc.core.custom.forge_spec import ForgeKind
from gitops_mc.core.errors import SourceError
from gitops_mc.core.preview.matters import live_digest

_HEADS: Final[Mapping[ForgeKind, str]] = {
    ForgeKind.GITHUB: GITHUB_HEADS,
    ForgeKind.GITEA: GITHUB_HEADS,
    ForgeKind.GITLAB: GITLAB_HEADS,
}


@dataclass(frozen=True, slots=True)
class Held:
    """The heads of one Fleet, what they were made from, and what of them has been parsed: most of it is the same again."""

    source: GitSource
    kind: ForgeKind
    heads: PullHeads
    parsed: ReadingCache = field(default_factory=ReadingCache)


@dataclass(slots=True)
class PullCaches:
    """Where the heads of pull requests are fetched to, of each Fleet in a cache of its own."""

    shelf: Shelf
    """Of nobody else: what stands there is thrown away when a process begins."""
    data: Data
    unprotected: frozenset[Unprotected]
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _held: dict[str, Held] = field(default_factory=dict)

    def of(self, spec: FleetSpec) -> Held:
        """Made anew where the Fleet follows another source. Raises FleetSpecError where it names no forge, and SourceError."""
        if spec.forge is None:
            raise FleetSpecError(
                "spec.previews needs spec.forge", hint="which says whose pull requests they are"
            )
        with self._lock:
            before = self._held.get(spec.title)
        if before is not None:
            if (before.source, before.kind) == (spec.source, spec.forge.kind):
                return before
            before.heads.leave()
        said = spec.source
        address = address_of(said.url, self.unprotected)
        heads = PullHeads(
            said.url,
            self.shelf.place(spec.name, address.url, said.ref),
            _HEADS[spec.forge.kind],
            lambda: git_access(self.data, said),
            ref=said.ref,
            unprotected=self.unprotected,
        )
        with self._lock:
            held = self._held[spec.title] = Held(said, spec.forge.kind, heads)
        return held

    def leave(self, fleet: str) -> None:
        """What was fetched for a Fleet goes."""
        with self._lock:
            held = self._held.pop(fleet, None)
        if held is not None:
            held.heads.leave()

    def sweep(self) -> None:
        """What a process before this one has left. Raises nothing: what cannot be removed stays."""
        with suppress(OSError):
            for caches in self.shelf.caches().values():
                for cache in caches:
                    with suppress(OSError, SourceError):
                        discard(cache)


@dataclass(slots=True)
class PullDesks:
    """The `OpenPullDesk` port."""

    forges: Forges
    """Of nobody else: one thread at a time uses a forge."""
    caches: PullCaches

    def __call__(self, fleet: str) -> PullDesk | NoForge:
        """As the port promises."""
        body = self.forges.body_of(fleet)
        if not body:
            return NoForge.NOT_KNOWN
        spec = fleet_spec(body)
        if spec.previews is None:
            self.leave(fleet)
            return NoForge.NONE_NAMED
        forge = self.forges(fleet)
        return forge if isinstance(forge, NoForge) else PullDesk(forge, spec.previews)

    def leave(self, fleet: str) -> None:
        """As the port promises."""
        self.forges.leave(fleet)
        self.caches.leave(fleet)


@dataclass(slots=True)
class LiveDigests:
    """What the clusters of a Fleet come to, as a digest: a preview that shows another one is out of date. Any thread."""

    _digests: dict[str, str] = field(default_factory=dict)

    def __call__(self, fleet: str) -> str:
        """Empty as long as nothing has been seen."""
        return self._digests.get(fleet, "")

    def looked(self, fleet: str, look: Look) -> None:
        """A pass has been decided."""
        self._digests[fleet] = live_digest(look.decision, look.live)

    def left(self, fleet: str) -> None:
        """It is gone."""
        self._digests.pop(fleet, None)


@dataclass(slots=True)
class PullBoard:
    """Hears of passes and polls for both: how the clusters stand, and what is to be previewed."""

    told: Board
    live: LiveDigests
    shown: PreviewsShown

    def looked(self, fleet: str, look: Look) -> None:
        """As the port promises."""
        self.live.looked(fleet, look)
        self.told.looked(fleet, look)

    def polled(self, fleet: str, poller: PollerView) -> None:
        """As the port promises."""
        self.told.polled(fleet, poller)

    def left(self, fleet: str) -> None:
        """As the port promises."""
        self.live.left(fleet)
        self.shown.left(fleet)
        self.told.left(fleet)
