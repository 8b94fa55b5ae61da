"""What previews have shown, on its way into what the Fleets remember."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Protocol

from gitops_mc.core.rollout.memory import FleetMemory
from gitops_mc.core.rollout.showing import Shown, also


class Awaited(Protocol):
    """What a Fleet is to remember of previews."""

    def __call__(self, fleet: str, memory: FleetMemory, clusters: AbstractSet[str]) -> Mapping[str, Shown]:
        """Of each of these clusters the oldest thing that its memory does not have yet."""
        ...


def nothing_shown(fleet: str, memory: FleetMemory, clusters: AbstractSet[str]) -> Mapping[str, Shown]:  # noqa: ARG001 - the port's signature
    """Where nobody makes previews."""
    return {}


@dataclass(slots=True)
class PreviewsShown:
    """It waits here until it stands in the memory: a pass whose memory is not kept is done again. A cluster that is not in the fleet
    yet, because its folder comes with the pull request, is waited for. Any thread.
    """

    _lock: threading.Lock = field(default_factory=threading.Lock)
    _waiting: dict[str, dict[str, tuple[Shown, ...]]] = field(default_factory=dict)
    """By Fleet and cluster, oldest first."""

    def add(self, fleet: str, shown: Mapping[str, Shown]) -> None:
        """A preview stands on its pull request. Of one content the last word counts."""
        with self._lock:
            waiting = self._waiting.setdefault(fleet, {})
            for cluster, each in shown.items():
                waiting[cluster] = also(waiting.get(cluster, ()), each)

    def __call__(self, fleet: str, memory: FleetMemory, clusters: AbstractSet[str]) -> Mapping[str, Shown]:
        """As the port promises."""
        with self._lock:
            waiting = self._waiting.get(fleet, {})
            for cluster in waiting.keys() & memory.clusters.keys():
                kept = memory.cluster(cluster).shown
                waiting[cluster] = tuple(s for s in waiting[cluster] if s not in kept)
            return {name: waiting[name][0] for name in sorted(waiting.keys() & clusters) if waiting[name]}

    def left(self, fleet: str) -> None:
        """It is gone."""
        with self._lock:
            self._waiting.pop(fleet, None)
