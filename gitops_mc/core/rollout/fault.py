"""One fault of the whole fleet: the gateway, the global API, or credentials. Nobody is counted for it."""

from __future__ import annotations

from gitops_mc.core.model import Known, Outage, Unknown
from gitops_mc.core.rollout.inputs import Fleet, Observed


def fleet_fault(fleet: Fleet, observed: Observed) -> str:
    """What is wrong with all of it, or empty. A cluster that is barred says nothing of the gateway: it is left out."""
    live = [observed.live[c.name] for c in fleet.clusters if c.name in observed.live]
    live = [x for x in live if isinstance(x.inventory, Unknown) or x.inventory.value]  # else: unregistered
    glob = next((x.inventory for x in live if not isinstance(x.inventory, Known)), None)
    if live and glob is not None and not any(isinstance(x.inventory, Known) for x in live):
        return f"the global cluster cannot be read: {glob.reason}"
    asked = [x for x in live if x.dark is None or x.dark.kind is not Outage.BARRED]
    dark = [x.dark for x in asked if x.dark is not None]
    if len(dark) < 2 or len(dark) * 2 <= len(asked):
        return ""
    denied = [x for x in dark if x.kind is Outage.DENIED]
    told = dark[0].reason
    if len(denied) * 2 > len(asked):
        return f"credentials are refused on {len(denied)} of {len(asked)} clusters: {told}"
    return f"{len(dark)} of {len(asked)} clusters do not answer, so it is the gateway: {told}"
