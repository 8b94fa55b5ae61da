"""The nodes' own log, told as notes: what happened, and what the node found to be the reason."""

from __future__ import annotations

from collections.abc import Iterator

from gitops_mc.app.use_cases.demo.notes import Deed, NodeNote
from gitops_mc.sandbox.fleet import SandboxFleet
from gitops_mc.sandbox.nodes.machine import NodeEvent, What

_DEEDS = {What.REBOOTED: Deed.REBOOTED, What.ACTED: Deed.ACTED, What.DEGRADED: Deed.DEGRADED}


class NodeWitness:
    """Reads the logs of all nodes; each call of `notes` tells what is new."""

    def __init__(self, fleet: SandboxFleet) -> None:
        self._fleet = fleet
        self._told: dict[tuple[str, str], int] = {}

    def notes(self) -> tuple[NodeNote, ...]:
        """What happened since the last call, oldest first."""
        found = [
            note
            for cluster in self._fleet.servers
            for node in self._fleet.nodes(cluster)
            for note in self._new(cluster, node)
        ]
        return tuple(sorted(found, key=lambda note: (note.at, note.cluster, note.node)))

    def _new(self, cluster: str, node: str) -> Iterator[NodeNote]:
        events = self._fleet.node_log(cluster, node).events
        told = self._told.get((cluster, node), 0)
        self._told[cluster, node] = len(events)
        for position in range(told, len(events)):
            event = events[position]
            if event.what in _DEEDS:
                why = _written(events, position)
                yield NodeNote(event.at, cluster, node, _DEEDS[event.what], event.detail, why)


def _written(events: tuple[NodeEvent, ...], position: int) -> str:
    """What the node wrote last before that, with its reasons."""
    return next((e.detail for e in reversed(events[:position]) if e.what is What.WROTE), "")
