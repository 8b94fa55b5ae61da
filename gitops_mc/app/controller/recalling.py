"""What a Fleet remembers, out of its objects: read once, and from then on taken over where somebody else has changed it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gitops_mc.app.controller.objects import FleetObjects
from gitops_mc.core.custom.kept import cluster_memory, fleet_memory, with_cluster_spec, with_fleet_spec
from gitops_mc.core.errors import MemoryStoreError
from gitops_mc.core.model import JsonObject
from gitops_mc.core.rollout.memory import FleetMemory


@dataclass(slots=True)
class Recall:
    """One thread at a time."""

    objects: FleetObjects
    shut: dict[str, str] = field(default_factory=dict)
    """Clusters whose object cannot be understood, and why: nothing is decided or written for them. One that can be again is read
    anew: what was known of it meanwhile was not read there."""
    _unheard: dict[str, JsonObject] = field(default_factory=dict)
    """Objects (`""`: the Fleet) that others have changed since the memory was made last, as they were before that."""

    def hear(self, changed: Mapping[str, JsonObject]) -> None:
        """Of a change that a look has shown. It waits for the next memory, whatever keeps that from being made now."""
        self._unheard = {**changed, **self._unheard}

    def memory(self, before: FleetMemory | None) -> FleetMemory:
        """The memory, with what others have changed since. None before: all of it as it stands in the objects. Raises
        MemoryStoreError where the Fleet's own part cannot be understood.
        """
        bodies, changed = self.objects.rollouts, self._unheard
        names = set(bodies) if before is None else {n for n in changed if n in bodies}
        found = self.objects.found & bodies.keys()
        clusters = {} if before is None else {n: m for n, m in before.clusters.items() if n not in found}
        names |= found
        for name in sorted(names):
            spec, status = _parts(bodies[name])
            try:
                known = None if name in self.shut else clusters.get(name)
                clusters[name] = (
                    cluster_memory(spec, status)
                    if known is None
                    else with_cluster_spec(known, spec, _parts(changed.get(name, {}))[0])
                )
                self.shut.pop(name, None)
            except MemoryStoreError as error:
                self.shut[name] = f"its ClusterRollout cannot be understood: {error.message}"
        spec, status = _parts(self.objects.fleet)
        if before is None:
            memory = fleet_memory(spec, status, clusters)
        else:
            memory = replace(before, clusters=dict(sorted(clusters.items())))
            memory = with_fleet_spec(memory, spec, _parts(changed[""])[0]) if "" in changed else memory
        self.objects.found -= found
        self._unheard = {}
        return memory


def _parts(body: JsonObject) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    return body.get("spec") or {}, body.get("status") or {}
