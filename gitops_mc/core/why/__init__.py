"""Why a cluster, or one of its pools, stands where it stands: the chain from the file in Git to the node, and what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from gitops_mc.core.why import cluster, fleetwide, gates
from gitops_mc.core.why.link import Link, Question, Subject

__all__ = ["Link", "Question", "Subject", "commands", "why"]

Part: TypeAlias = Callable[[Question], Iterator[Link]]

CHAIN: tuple[Part, ...] = (
    fleetwide.git,
    fleetwide.driver,
    fleetwide.wave,
    fleetwide.halt,
    fleetwide.budget,
    cluster.window,
    cluster.cluster,
    cluster.failure,
    cluster.refusals,
    cluster.step,
    gates.gates,
    gates.homeless,
)
"""From Git down to the node."""


def why(question: Question) -> tuple[Link, ...]:
    """The whole chain, links that hold nothing up among them."""
    return tuple(link for part in CHAIN for link in part(question))


def commands(links: tuple[Link, ...]) -> tuple[str, ...]:
    """What to type, the nearest to the trouble first, each once."""
    blocking = [c for link in reversed(links) if link.blocks for c in link.commands]
    others = [c for link in reversed(links) if not link.blocks for c in link.commands]
    return tuple(dict.fromkeys([*blocking, *others]))
