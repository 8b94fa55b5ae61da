"""Whether a cluster can be reached, is known to the platform, and lets the token do what is needed."""

from __future__ import annotations

from collections.abc import Iterator

from gitops_mc.core.doctor.finding import Examined, Finding, Reach, failed, not_checked, ok
from gitops_mc.core.model import Unknown


def reachable(x: Examined) -> Iterator[Finding]:
    match x.reach:
        case Reach.SILENT:
            yield failed("reachable", x.reach_reason, "kubectl get --raw /version")
            yield not_checked("token", "the cluster does not answer")
        case Reach.REJECTS:
            yield ok("reachable", "it answers")
            yield failed("token", x.reach_reason, "kubectl auth whoami")
        case Reach.ODD:
            yield failed("reachable", x.reach_reason, "kubectl get --raw /version")
            yield not_checked("token", "the cluster answers, but not as an API server does")
        case Reach.ANSWERS:
            yield ok("reachable", "it answers")
            yield ok("token", "the token is accepted")


def registered(x: Examined) -> Iterator[Finding]:
    fact = x.live.inventory
    if isinstance(fact, Unknown):
        yield not_checked("registered", f"the inventory on global was not read: {fact.reason}")
        return
    show = f"kubectl get clusters.platform.tkestack.io {x.name} -o yaml  # on global"
    found = next(iter(fact.value.values()), None)
    if found is None:
        yield failed("registered", "global knows no cluster of this name", show)
        return
    phase = str((found.get("status") or {}).get("phase", ""))
    if phase == "Running":
        yield ok("registered", "global knows it, phase Running")
    else:
        yield failed("registered", f"its phase on global is {phase or 'not said'}, not Running", show)


def rights(x: Examined) -> Iterator[Finding]:
    """One finding a resource: the verbs that are allowed, those that are not, those that could not be asked."""
    if all(a.allowed is None for a in x.rights):
        reasons = dict.fromkeys(a.reason for a in x.rights)
        yield not_checked("rights", f"none of {len(x.rights)} could be asked about: {'; '.join(reasons)}")
        return
    for resource in dict.fromkeys((a.right.resource, a.right.namespace) for a in x.rights):
        answers = [a for a in x.rights if (a.right.resource, a.right.namespace) == resource]
        name = resource[0] + (f" in {resource[1]}" if resource[1] else "")
        denied = [a for a in answers if a.allowed is False]
        unasked = [a for a in answers if a.allowed is None]
        if denied:
            verbs = ", ".join(a.right.verb for a in denied)
            namespace = f" -n {resource[1]}" if resource[1] else ""
            yield failed(
                "rights",
                f"the token may not {verbs} {name}",
                f"kubectl auth can-i {denied[0].right.verb} {resource[0]}{namespace}",
            )
        if unasked:
            verbs = ", ".join(a.right.verb for a in unasked)
            yield not_checked("rights", f"{verbs} {name}: {unasked[0].reason}")
        if not denied and not unasked:
            yield ok("rights", f"{', '.join(a.right.verb for a in answers)} {name}")
