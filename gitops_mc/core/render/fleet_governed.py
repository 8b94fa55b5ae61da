"""What is said of clusters that a Fleet governs, where a rollout by hand is wanted or shown."""

from __future__ import annotations

from collections.abc import Mapping

from gitops_mc.core.model import named
from gitops_mc.core.render.fleet_commands import FleetCommands


def refusal(governed: Mapping[str, FleetCommands]) -> tuple[str, str]:
    """Why nothing is written for these clusters by hand, and the way out."""
    fleets = _by_fleet(governed)
    told = "; ".join(_told(fleet, names) for fleet, names in fleets.items())
    suspend = ", ".join(f"gitops-mc suspend {fleet.options} --reason TEXT" for fleet in fleets)
    look = ", ".join(f"gitops-mc status {fleet.options}" for fleet in fleets)
    return (
        f"not applied by hand: {told}",
        f"push it, and the controller carries it out ({look}); or suspend that first: {suspend}",
    )


def remark(governed: Mapping[str, FleetCommands]) -> str:
    """Beside a plan or a diff."""
    told = "; ".join(_told(fleet, names) for fleet, names in _by_fleet(governed).items())
    return f"{told}: its controller carries this out, gitops-mc apply would be refused"


def rests_on_the_state_file(governed: Mapping[str, FleetCommands]) -> str:
    """Beside what a state file and one look at the clusters say of them: what the controller remembers is in neither."""
    fleets = _by_fleet(governed)
    told = "; ".join(_told(fleet, names) for fleet, names in fleets.items())
    look = ", ".join(f"gitops-mc status {fleet.options}" for fleet in fleets)
    return (
        f"{told}: this is a look at the clusters with the state file here, which knows nothing of what the controller remembers "
        f"(waves, approvals, holds, failures, what has passed: {look}); pools, nodes and gates are as they are"
    )


def _told(fleet: FleetCommands, clusters: tuple[str, ...]) -> str:
    verb = "is" if len(clusters) == 1 else "are"
    return f"{named('cluster', clusters)} {verb} governed by Fleet {fleet.namespace}/{fleet.name}"


def _by_fleet(governed: Mapping[str, FleetCommands]) -> Mapping[FleetCommands, tuple[str, ...]]:
    found: dict[FleetCommands, tuple[str, ...]] = {}
    for cluster, fleet in sorted(governed.items()):
        found[fleet] = (*found.get(fleet, ()), cluster)
    return found
