"""Why an approval would change nothing: what waits is something else, and the objects show what.

What the objects show may be older than what Git has by now: it is gone by only where it is of the contents that are to be approved.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from gitops_mc.core.model import Content
from gitops_mc.core.policy import Approval
from gitops_mc.core.rollout.memory import ClusterMemory, WaveMemory
from gitops_mc.core.rollout.moves import Standing, WaveState, said, said_of_wave

_OVER: Final = (WaveState.DONE.value, WaveState.SOAKING.value)
_PAST_IT: Final = (Standing.READY.value, Standing.SKIPPED.value, Standing.PASSED.value)
"""Of a cluster that has not passed with anything: where an approval of first contact is not waited for."""


def nothing_to_approve(
    name: str, approval: Approval, contents: str, memory: WaveMemory | None, shown: Mapping[str, Any]
) -> str:
    """Why a wave with these contents is not approved; empty where it may be, be it before it is asked for. `shown`: what the Fleet's
    status says of it.
    """
    of_these = bool(shown.get("contents")) and contents.startswith(str(shown["contents"]))
    stands = f"; {_wave(shown)}" if of_these else ""
    if approval is not Approval.MANUAL:
        return f"wave {name} waits for no approval: fleet.yaml does not say `approval: manual` of it{stands}"
    if memory is not None and memory.approved and memory.contents == contents:
        return f"wave {name} is approved already, with these contents{stands}"
    if of_these and shown.get("state") in _OVER:
        return f"wave {name} waits for no approval{stands}"
    return ""


def no_first_contact(
    cluster: str, content: Content, memory: ClusterMemory, status: Mapping[str, Any], wave: Mapping[str, Any]
) -> str:
    """Why a first contact with this content is not approved; empty where it may be. `status`: of its ClusterRollout; `wave`: what
    the Fleet's status says of the cluster's wave.
    """
    of_this = status.get("content") == content
    stands = f"; it {_standing(status)}" if of_this else ""
    if of_this and status.get("standing") == Standing.READY.value and wave:
        stands += f"; {_wave(wave)}"
    if memory.passed is not None or memory.started == content:
        return f"cluster {cluster} is met for the first time no more, and waits for no approval{stands}"
    if memory.approved == content:
        return f"first contact with {cluster} is approved already, with this content{stands}"
    if of_this and status.get("standing") in _PAST_IT:
        return f"cluster {cluster} waits for no approval of its own{stands}"
    return ""


def _wave(shown: Mapping[str, Any]) -> str:
    """`wave rest is done: 2 of 2 passed`."""
    state, states = str(shown.get("state") or ""), {s.value: s for s in WaveState}
    name = str(shown.get("name") or "")
    told = (
        said_of_wave(name, states[state]) if state in states else f"wave {name} is {state or 'not shown yet'}"
    )
    return _with_reason(told, shown, state)


def _standing(status: Mapping[str, Any]) -> str:
    """`is ready: could start`."""
    standing, standings = str(status.get("standing") or ""), {s.value: s for s in Standing}
    told = said(standings[standing]) if standing in standings else f"is {standing or 'not shown yet'}"
    return _with_reason(told, status, standing)


def _with_reason(told: str, shown: Mapping[str, Any], state: str) -> str:
    reason = str(shown.get("reason") or "")
    return told if reason in {"", state} else f"{told}: {reason}"
