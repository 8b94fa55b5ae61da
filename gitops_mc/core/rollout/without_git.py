"""What is decided while nobody knows what Git says: nothing begins and nothing is ended; what rolls is stopped where an abort stands.

A process that was moved to another machine while the Git server is away knows no content, not even the one that rolls. It knows
which pools it has touched, and that is all an abort needs.
"""

from __future__ import annotations

from gitops_mc.core.model import Content, DesiredCluster
from gitops_mc.core.policy import DEFAULT_POLICY
from gitops_mc.core.rollout.aborting import stops
from gitops_mc.core.rollout.case import Assessment
from gitops_mc.core.rollout.inputs import Acts, Fleet, Observed
from gitops_mc.core.rollout.memory import NO_COMMIT, FleetMemory
from gitops_mc.core.rollout.moves import Decision, Pause, Standing, Wait
from gitops_mc.core.rollout.outlook import view_of

_TOLD = "the repository has not been read, so nothing begins"


def unread_fleet(memory: FleetMemory) -> Fleet:
    """The fleet as far as it is known without Git: the clusters that are remembered, and nothing of what they are to have."""
    clusters = tuple(DesiredCluster(name, (), Content("")) for name in sorted(memory.clusters))
    return Fleet(DEFAULT_POLICY, clusters, NO_COMMIT)


def stopping_moves(fleet: Fleet, memory: FleetMemory, observed: Observed, acts: Acts) -> Decision:
    """One pass over `unread_fleet`: the pauses of an abort, as `next_moves` would decide them. The memory stays as it is."""
    moves: list[Pause] = []
    for name, m in sorted(memory.clusters.items()):
        abort, live = acts.abort(name), observed.live.get(name)
        if abort is None or live is None or name in observed.busy:
            continue
        pause = stops(name, live, m, fleet.policy.gates, abort)
        if pause is not None:
            moves.append(pause)
    views = tuple(
        view_of(
            Assessment(c.name, Standing.NOT_KNOWN, _TOLD, memory.cluster(c.name), c),
            "",
            observed.busy,
            memory,
        )
        for c in fleet.clusters
    )
    begun = frozenset(name for name, m in memory.clusters.items() if m.begun and not m.out)
    return Decision(tuple(moves), Wait(_TOLD), views, (), begun)
