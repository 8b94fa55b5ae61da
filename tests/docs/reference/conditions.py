"""docs/reference/conditions.md, made from the closed sets that the code goes by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from gitops_mc.core.custom.conditions import OF_STANDING, Reason, State
from gitops_mc.core.rollout.memory import FailureCause
from gitops_mc.core.rollout.moves import AWAY, Standing, WaveState
from tests.docs.reference.tables import code, table

_HEAD = """\
# Conditions and standings

What a Fleet and its ClusterRollouts say of themselves. `make reference` writes this page anew. What to do about each reason:
[the runbook](../runbooks/conditions.md).

## Conditions

`Ready`, `Reconciling` and `Stalled` stand on both kinds, as kstatus reads them. Exactly one of them is True, and all three have the same
reason.

| one of them is True | meaning |
| --- | --- |
| Ready | All of Git is reached. |
| Reconciling | Time alone may get it further. |
| Stalled | Somebody is needed. |

A cluster that would be Reconciling and of which only somebody's act is left says Stalled, with the same reason.

"""
_TRUE = {State.READY: "Ready", State.MOVING: "Reconciling", State.STUCK: "Stalled"}
OF_A_FLEET: Final[Mapping[Reason, str]] = {
    Reason.DONE: "Ready",
    Reason.ROLLING: "Reconciling",
    Reason.NEEDS_SOMEBODY: "Stalled",
    Reason.HALTED: "Stalled",
    Reason.PROBLEMS_IN_GIT: "Stalled",
    Reason.REPOSITORY: "Reconciling until it has been read for the first time, Stalled where it cannot be read",
    Reason.ACCESS: "Stalled",
    Reason.SPEC: "Stalled",
    Reason.FAULT: "Stalled",
}
_STANDINGS: Final[Mapping[Standing, str]] = {
    Standing.PASSED: "Every gate has opened with the content of Git.",
    Standing.IN_FLIGHT: "It is being written to, or waited for.",
    Standing.FAILED: "It failed with a content, which is held.",
    Standing.BLOCKED: "Sick before anything was written, refused, or not Running.",
    Standing.UNPUBLISHED: "The platform cannot install a module's version yet.",
    Standing.PROBLEMS: "Its part of the repository has problems.",
    Standing.UNREACHABLE: "It has been dark for longer than `unreachableAfter`.",
    Standing.UNREGISTERED: "The platform knows no such cluster.",
    Standing.SKIPPED: "Somebody left it out for this content.",
    Standing.APPROVAL: "Met for the first time, with a plan that changes what somebody set.",
    Standing.HELD: "An order of somebody keeps it from beginning anything.",
    Standing.READY: "It could start, and waits for its wave, a place in it, or its window.",
    Standing.NOT_KNOWN: "Not everything that decides has been read yet.",
    Standing.GONE: "Its folder is gone from Git: nothing is changed there any more.",
}
_COUNTS: Final = {Standing.FAILED: "`maxFailures`"} | dict.fromkeys(AWAY, "`maxUnreachable`")
_WAVES: Final[Mapping[WaveState, str]] = {
    WaveState.DONE: "Every cluster of it has passed, was skipped, or is tolerated; and it has soaked.",
    WaveState.SOAKING: "Every cluster is through, and the soak runs.",
    WaveState.OPEN: "Its clusters may start.",
    WaveState.CLOSED: "It waits for the waves before, or a halt or a fault stands.",
    WaveState.NEEDS_APPROVAL: "It opens when somebody approves it.",
}
_CAUSES: Final[Mapping[FailureCause, str]] = {
    FailureCause.CONFIG: "A pool is Degraded or stalled with our content. What a rollback is for.",
    FailureCause.MODULE: "A module, the policy, or the operator's components are past their time-out.",
    FailureCause.FOREIGN: "A pool fails for what is not of the content: drift on a node, or somebody else's config.",
    FailureCause.REFUSED: "The cluster's API server refuses a write.",
}


def conditions_page() -> str:
    """The page as Markdown. Raises KeyError where a word of the code is told nowhere."""
    fleet = [(_linked(reason), told) for reason, told in OF_A_FLEET.items()]
    clusters = [
        (code(standing.value), _STANDINGS[standing], _linked(reason), _TRUE[state], _COUNTS.get(standing, ""))
        for standing, (state, reason) in OF_STANDING.items()
    ]
    waves = [(code(state.value), _WAVES[state]) for state in WaveState]
    causes = [(code(cause.value), _CAUSES[cause]) for cause in FailureCause]
    return (
        f"{_HEAD}## Reasons on a Fleet\n\n{table(('reason', 'what is True'), fleet)}"
        "\n## Standings of a cluster, and reasons on a ClusterRollout\n\n"
        f"{table(('standing', 'meaning', 'reason', 'what is True', 'counts against'), clusters)}"
        f"\n## States of a wave\n\n{table(('state', 'meaning'), waves)}"
        "\n## Causes of a failure\n\n`spec.held.cause` of a ClusterRollout. What to do: [failures and halts](../runbooks/failures.md).\n\n"
        f"{table(('cause', 'meaning'), causes)}"
    )


def _linked(reason: Reason) -> str:
    return f"[`{reason.value}`](../runbooks/conditions.md#{reason.value.lower()})"
