"""What a human allows the content that Git has now, and no later one: not to wait for what rolls healthily, not to wait for a
change window. It is remembered until that content needs it no more, or another one has taken its place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from gitops_mc.core.model import Content
from gitops_mc.core.rollout.acting import ActResult, By, Changed, Unchanged
from gitops_mc.core.rollout.memory import ClusterMemory, FleetMemory, Leave

_AGAIN: Final = "ask again once a newer commit is followed (gitops-mc status shows which is)"


def hurry(memory: FleetMemory, cluster: str, content: Content | None, by: By) -> ActResult:
    """Let this content of a cluster take over from one that rolls healthily, without waiting until that has settled.
    `content`: what Git has now; None: it has no such cluster.
    """
    if content is None:
        return Unchanged(f"Git has no cluster {cluster}")
    m = memory.cluster(cluster)
    if has_passed(m, content):
        return Unchanged(f"{cluster} has passed what Git has; {_AGAIN}")
    if m.started == content:
        return Unchanged(f"{cluster} has been started with what Git has: nothing newer waits there; {_AGAIN}")
    after = memory.with_cluster(cluster, replace(m, hurried=_leave(content, by)))
    told = f"newer content of {cluster} waits for no healthy rolling"
    return Changed(after.with_act(by.act(f"now {cluster}")), (told,))


def override(memory: FleetMemory, cluster: str, content: Content | None, by: By) -> ActResult:
    """Have change windows and freezes not count for this content of a cluster. `content` as for `hurry`."""
    if content is None:
        return Unchanged(f"Git has no cluster {cluster}")
    if has_passed(memory.cluster(cluster), content):
        return Unchanged(f"{cluster} has passed what Git has; {_AGAIN}")
    act = by.act(f"override-window {cluster}")
    return Changed(
        _overridden(memory, cluster, content, by).with_act(act), (f"windows do not count for {cluster}",)
    )


def override_all(memory: FleetMemory, newest: Mapping[str, Content], by: By) -> ActResult:
    """The same for every cluster that has not passed what Git has now; `newest` says what that is."""
    if not newest:
        return Unchanged("Git has no cluster")
    left = {
        name: content for name, content in newest.items() if not has_passed(memory.cluster(name), content)
    }
    if not left:
        return Unchanged(f"every cluster has passed what Git has; {_AGAIN}")
    for name, content in left.items():
        memory = _overridden(memory, name, content, by)
    return Changed(memory.with_act(by.act("override-window")), ("windows do not count for the whole fleet",))


def while_it_lasts(memory: FleetMemory, newest: Mapping[str, Content]) -> FleetMemory:
    """The memory without what is over: haste where its content has been started, an override where it has passed, both where
    Git has another content and the cluster is not on its way to this one. Of a cluster that Git does not have nothing is over.
    """
    for name, content in newest.items():
        m = memory.cluster(name)
        if m.hurried is None and m.overridden is None:
            continue
        kept = replace(m, hurried=_hurried(m, content), overridden=_still_overridden(m, content))
        memory = memory if kept == m else memory.with_cluster(name, kept)
    return memory


def has_passed(m: ClusterMemory, content: Content) -> bool:
    """Whether this content was started last and has passed."""
    return m.out and m.passed == content


def _leave(content: Content, by: By) -> Leave:
    return Leave(content, by.who, by.at, by.why)


def _overridden(memory: FleetMemory, cluster: str, content: Content, by: By) -> FleetMemory:
    m = memory.cluster(cluster)
    return memory.with_cluster(cluster, replace(m, overridden=_leave(content, by)))


def _hurried(m: ClusterMemory, newest: Content) -> Leave | None:
    leave = m.hurried
    return leave if leave is not None and leave.content == newest and m.started != newest else None


def _still_overridden(m: ClusterMemory, newest: Content) -> Leave | None:
    leave = m.overridden
    if leave is None or has_passed(m, leave.content):
        return None
    return leave if leave.content in {newest, m.started} else None
