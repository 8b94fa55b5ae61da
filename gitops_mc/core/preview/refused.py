"""What of a merge would not be carried out on the live fleet."""

from __future__ import annotations

from gitops_mc.core.rollout.preview import Answer, FleetPreview


def refusals_of(outcome: FleetPreview) -> tuple[tuple[str, str], ...]:
    """Cluster and reason, in the order in which the clusters come: refused by us, by the server, or fitting no window. A cluster that
    no wave takes refuses itself.
    """
    found = []
    for cluster in outcome.clusters:
        plan = cluster.plan
        reasons = [] if plan is None else [refusal.reason for refusal in plan.refusals]
        reasons += cluster.misfits
        reasons += [check.reason for check in cluster.checks.values() if check.answer is Answer.REFUSED]
        found += [(cluster.name, reason) for reason in dict.fromkeys(reasons)]
    found += [(cluster.name, "no wave of fleet.yaml takes it") for cluster in outcome.homeless]
    return tuple(found)
