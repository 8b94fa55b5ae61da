"""`gitops-mc preview` with a way to the clusters."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from gitops_mc.app.ports import MemoryStore
from gitops_mc.app.use_cases.fleet_objects import SeenMemory, memory_of, orders_of
from gitops_mc.app.use_cases.previewing import PullStates, preview_by_git
from gitops_mc.app.use_cases.previewing_live import Breadth, Look, preview_live
from gitops_mc.bootstrap import Access, look_at_memory, open_repository, session
from gitops_mc.bootstrap.fleets import fleet_place
from gitops_mc.cli import connecting
from gitops_mc.cli.fleets import FleetAsked
from gitops_mc.cli.fleets_governing import remark_governed
from gitops_mc.cli.preview_asked import Asked, redacting
from gitops_mc.cli.terminal import Terminal
from gitops_mc.core.errors import ApiError, UnreachableError
from gitops_mc.core.live import LiveCluster, revealed
from gitops_mc.core.preview.model import Preview
from gitops_mc.core.rollout.inputs import NO_ACTS, Acts


def preview_now(terminal: Terminal, asked: Asked, pull: PullStates) -> Preview:
    """The preview with one look at the clusters. Where not even global answers, what Git says is shown all the same."""
    try:
        return _looked(terminal, asked, pull)
    except (ApiError, UnreachableError) as error:
        return preview_by_git(pull, redacting(terminal), error.message, datetime.now(UTC))


def _looked(terminal: Terminal, asked: Asked, pull: PullStates) -> Preview:
    if asked.fleet is not None:
        access = asked.fleet.access()
        store, acts = _kept(access, asked.fleet)
    else:
        access, acts = asked.access(), NO_ACTS
        store = look_at_memory(connecting.state_file(asked.state, asked.clone))

    def learning(live: Iterable[LiveCluster]) -> None:
        terminal.learn(pull.sensitive, (*pull.bodies(), *revealed(live)))

    breadth = Breadth.EVERY if asked.everywhere else Breadth.TOUCHED
    named = "" if asked.fleet is None else asked.fleet.name
    look = Look(redacting(terminal), breadth, acts, learning, named)
    names = tuple(dict.fromkeys(c.name for state in pull.states for c in state.clusters))
    with session(access, names, store, open_repository(asked.clone, asked.head)) as connected:
        found = preview_live(connected, pull, look)
        if asked.fleet is None:
            remark_governed(terminal, connected.api, tuple(c.name for c in found.changes.clusters))
    return found


def _kept(access: Access, fleet: FleetAsked) -> tuple[MemoryStore, Acts]:
    """What the controller remembers, and what humans have ordered."""
    with fleet_place(access, fleet.namespace, fleet.name) as place:
        body, rollouts = place.fleet(), place.rollouts()
    return SeenMemory(memory_of(body, rollouts)), orders_of(body, rollouts)
