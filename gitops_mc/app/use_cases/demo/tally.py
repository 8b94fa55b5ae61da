"""Forecast and witness in the same words, so that they can be compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from gitops_mc.app.use_cases.demo.notes import Deed, NodeNote
from gitops_mc.core.disruption import ActionType
from gitops_mc.core.plan import PoolImpact

REBOOT = "Reboot"


def forecast_tally(impacts: Iterable[PoolImpact]) -> Counter[str]:
    """How often each action is to run on the nodes of a cluster, in the words of the API."""
    tally: Counter[str] = Counter()
    for impact in impacts:
        for nodes in impact.nodes:
            for action in nodes.disruption.actions:
                if action.type is not ActionType.NONE:
                    tally[f"{action.type.value} {action.service}".rstrip()] += nodes.count
    return tally


def happened_tally(notes: Iterable[NodeNote]) -> Counter[str]:
    """The same from the log of the nodes."""
    return Counter(
        REBOOT if note.deed is Deed.REBOOTED else note.action
        for note in notes
        if note.deed is not Deed.DEGRADED
    )


def tally_words(tally: Counter[str]) -> str:
    """`3 x Reboot, 1 x Restart chronyd.service`; `nothing` when there is nothing."""
    told = [f"{number} x {action}" for action, number in sorted(tally.items()) if number]
    return ", ".join(told) or "nothing ran on any node"
