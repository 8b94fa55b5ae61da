"""Caches of repositories that no Fleet follows any more, and how they go: a volume is no place to keep all that ever was."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gitops_mc.adapters.git_address import Unprotected, address_of
from gitops_mc.adapters.git_folder import discard
from gitops_mc.adapters.git_shelf import Shelf
from gitops_mc.app.api import ClusterApi
from gitops_mc.app.controller.objects import FLEET
from gitops_mc.core.custom.fleet_spec import FleetSpecError, fleet_spec
from gitops_mc.core.errors import GitopsMcError, SourceError
from gitops_mc.core.model import GLOBAL_CLUSTER

EVERY: Final = 60.0
"""Seconds."""


@dataclass(slots=True)
class Attic:
    """What stands on a shelf, and is not wanted any more.

    What is kept lets a process go on while Git is away, so a cache goes only where that is certain: its Fleet is gone, or follows
    another source that has been read since this process began. One that is in use stays, whoever uses it.
    """

    shelf: Shelf
    api: ClusterApi
    """Only reads."""
    unprotected: frozenset[Unprotected]
    leads: Callable[[], bool]
    """A process on standby fetches nothing, and removes nothing."""
    followed: Callable[[str], Path | None]
    """Where what a Fleet follows has been fetched to; None: nothing yet, or its loop is not open."""
    seconds: Callable[[], float]
    """A clock that never jumps: `time.monotonic`."""
    _swept_at: float = float("-inf")

    def sweep(self, names: frozenset[str]) -> None:
        """Remove what no Fleet of these names, which are all that there are, follows; where the last time is EVERY ago. Raises
        nothing: what cannot be removed, or cannot be told, stays until the next time.
        """
        now = self.seconds()
        if not self.leads() or now - self._swept_at < EVERY:
            return
        self._swept_at = now
        with suppress(GitopsMcError, OSError):
            for cache in self._unwanted(names):
                with suppress(SourceError, OSError):
                    discard(cache)

    def _unwanted(self, names: frozenset[str]) -> Iterator[Path]:
        """Raises GitopsMcError where a Fleet cannot be read now."""
        for fleet, caches in self.shelf.caches().items():
            if fleet not in names:
                yield from caches
                continue
            followed = self.followed(fleet)
            others = caches - {followed}
            if followed is not None and others and self._wants(fleet) == followed:
                yield from others

    def _wants(self, fleet: str) -> Path | None:
        """By its spec as it is at this moment, which its loop may not have seen yet; None: that cannot be understood."""
        body = self.api.get(GLOBAL_CLUSTER, FLEET, fleet, namespace=self.shelf.namespace)
        try:
            source = fleet_spec(body).source
            address = address_of(source.url, self.unprotected)
        except (FleetSpecError, SourceError):
            return None
        return self.shelf.place(fleet, address.url, source.ref)
