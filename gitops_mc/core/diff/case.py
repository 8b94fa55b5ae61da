"""One manifest of a machine kind, its live object, and what is remembered of it: the questions a verdict asks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gitops_mc.core.diff.changes import Drift, RefusalCause, Refused, Written
from gitops_mc.core.diff.comparison import Comparison
from gitops_mc.core.diff.drifting import is_drifted, last_written
from gitops_mc.core.model import JsonObject, Manifest, ResourceKey, uid_of
from gitops_mc.core.policy import DEFAULT_FLEET


@dataclass(frozen=True, slots=True)
class Unchanged:
    """As Git says, ours and marked."""

    key: ResourceKey


@dataclass(frozen=True, slots=True)
class Fleet:
    """What the diff knows besides Git and the cluster."""

    name: str
    inventory: Mapping[ResourceKey, Written]
    git_wins: frozenset[ResourceKey]
    proven: frozenset[ResourceKey] = frozenset()
    """Objects that passed as the inventory has them, and that we have not touched since."""

    def is_ours(self, label: str) -> bool:
        return label in (self.name, DEFAULT_FLEET)


def gone_by_hand(key: ResourceKey, digest: str, fleet: Fleet) -> Drift | Refused | None:
    """An object we wrote that is not there any more: listed; and where Git has changed since, a human says who wins."""
    written = fleet.inventory.get(key)
    if written is None or key in fleet.git_wins:
        return None
    if written.digest == digest:
        told = "it was deleted since we wrote it; it is not made again while Git stays as it is"
        return Drift(key, (), (), told, gone=True)
    return Refused(
        key, RefusalCause.DRIFTED, "it was deleted since we wrote it, and Git has changed it since"
    )


@dataclass(frozen=True, slots=True)
class Case:
    """One manifest, its live object and what is remembered of it."""

    fleet: Fleet
    manifest: Manifest
    live: JsonObject
    compared: Comparison
    digest: str

    @property
    def key(self) -> ResourceKey:
        return self.manifest.key

    @property
    def written(self) -> Written | None:
        return self.fleet.inventory.get(self.key)

    @property
    def git_wins(self) -> bool:
        return self.key in self.fleet.git_wins

    @property
    def remade(self) -> bool:
        """Somebody deleted what we wrote and made another object of that name."""
        return self.written is not None and bool(self.written.uid) and self.written.uid != uid_of(self.live)

    @property
    def last(self) -> str | None:
        """Digest of what we wrote last."""
        return last_written(self.live, self.written)

    @property
    def set_back(self) -> bool:
        """It stood there as Git says, and passed, and carries the mark of another write now: a cluster was restored from a
        backup, or another gitops-mc has written it.
        """
        written = self.written
        return (
            self.key in self.fleet.proven
            and written is not None
            and written.digest == self.digest != self.last
        )

    @property
    def owned_before(self) -> bool:
        return self.last is not None or self.compared.owners.ours is not None

    @property
    def drifted(self) -> bool:
        """Somebody changed, removed or took over what we wrote: our part of live is not what we wrote last."""
        ours = self.compared.owners.projection(self.compared.there)
        return is_drifted(self.key, ours, self.last, self.compared.wanted)
