"""The way back: content that a cluster passed is assigned to it again, after newer content failed there.

A rollback is carried out like a repair: by the same steps, through the same gates and brackets, and through the halt. It
ends no halt, for the failed content is still what Git says. No ModuleInfo has a part in it: what the failed content wrote of
modules stays, and what its gates say of them is not asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from gitops_mc.core.model import Commit, Content, DesiredCluster, Kind
from gitops_mc.core.plan import Circumstances
from gitops_mc.core.policy import FleetPolicy, OnFailure
from gitops_mc.core.rollout.acting import By
from gitops_mc.core.rollout.memory import ClusterMemory, Failure, FailureCause, Rollback
from gitops_mc.core.rollout.transitions import admitted

_CAUSES = {
    FailureCause.MODULE: "it has failed for a module, the policy, or the operator's components",
    FailureCause.FOREIGN: "it has failed for what is not of our content",
    FailureCause.REFUSED: "its server refuses a write",
}


def goal_of(memory: ClusterMemory) -> tuple[Content, Commit] | None:
    """The last content that the cluster passed and that is not the one that failed; None where there is none."""
    failed = {f.content for f in memory.held}
    for content, commit in ((memory.passed, memory.passed_commit), (memory.before, memory.before_commit)):
        if content is not None and content not in failed:
            return content, commit
    return None


def can_be_asked_for(memory: ClusterMemory) -> str:
    """Why no human can ask for a rollback now; empty where one may."""
    failure = memory.failure
    if memory.rolled_back:
        return (
            "it is rolled back already" if failure is None or memory.repairing else "its rollback has failed"
        )
    if failure is None:
        return "it has not failed; to take content back that has not failed, take it back in Git"
    if failure.content != memory.started:
        return "newer content is being written to it, which repairs what failed"
    if failure.cause is not FailureCause.CONFIG:
        return f"{_CAUSES[failure.cause]}; a rollback changes nothing of that"
    return "" if goal_of(memory) is not None else "it has never passed another content"


def is_wanted(memory: ClusterMemory, policy: FleetPolicy) -> bool:
    """Whether the cluster is to be rolled back: fleet.yaml says so, or a human has."""
    failure = memory.failure
    if failure is None or failure.cause is not FailureCause.CONFIG or failure.content != memory.started:
        return False
    asked = memory.rollback is not None and memory.rollback.failed.content == failure.content
    return not memory.rolled_back and (asked or policy.rollout.on_failure is OnFailure.ROLLBACK)


def no_way_back(
    memory: ClusterMemory, policy: FleetPolicy, contents: Mapping[Content, DesiredCluster]
) -> str:
    """Why a cluster that is to be rolled back cannot be, or why its rollback has come to nothing; else empty."""
    if memory.rolled_back and memory.failure is not None and not memory.repairing:
        return "its rollback has failed"
    if not is_wanted(memory, policy):
        return ""
    goal = goal_of(memory)
    if goal is None:
        return "it cannot be rolled back: it has passed no other content"
    if goal[0] not in contents:
        return f"it cannot be rolled back: content {named_content(*goal)} cannot be had any more"
    return ""


def asked_for(memory: ClusterMemory, failure: Failure, goal: tuple[Content, Commit], by: By) -> ClusterMemory:
    """The memory with the wish to go back."""
    wish = Rollback(failure, memory.started_commit, goal[0], goal[1], by.at, by.who)
    return replace(memory, rollback=wish)


def going_back(
    memory: ClusterMemory, contents: Mapping[Content, DesiredCluster], now: datetime
) -> ClusterMemory | None:
    """The memory of a cluster that is assigned what it passed; None where that cannot be had. The failure stays, as it does
    while a repair is written.
    """
    goal, failure = goal_of(memory), memory.failure
    if goal is None or failure is None or goal[0] not in contents:
        return None
    by = "" if memory.rollback is None else memory.rollback.by
    rollback = Rollback(failure, memory.started_commit, goal[0], goal[1], now, by)
    started = admitted(replace(memory, rollback=None), contents[goal[0]], goal[1], now)
    return replace(started, rollback=rollback)


def without_modules(desired: DesiredCluster) -> DesiredCluster:
    """A content as a rollback carries it out."""
    kept = tuple(m for m in desired.manifests if m.key.kind is not Kind.MODULE_INFO)
    return replace(desired, manifests=kept)


def blind_to_modules(past: Circumstances) -> Circumstances:
    """What is remembered without the modules: one that is not ours is not missed in Git, and never deleted."""
    inventory = {key: written for key, written in past.inventory.items() if key.kind is not Kind.MODULE_INFO}
    created = frozenset(key for key in past.created if key.kind is not Kind.MODULE_INFO)
    return replace(past, inventory=inventory, created=created)


def told_back(rollback: Rollback) -> str:
    """Where a cluster stands that was rolled back, and what is held."""
    failed, by = rollback.failed, f" by {rollback.by}" if rollback.by else ""
    what = ", ".join(s.replace(":", " ", 1) for s in sorted(failed.subjects))
    return (
        f"rolled back{by} to {named_content(rollback.to, rollback.to_commit)}; "
        f"content {named_content(failed.content, rollback.failed_commit)} is held until newer content changes {what}: "
        f"{failed.reason}"
    )


def named_content(content: Content, commit: Commit) -> str:
    """A content for people."""
    return f"{content[:12]}" + (f" (commit {commit[:12]})" if commit else "")
