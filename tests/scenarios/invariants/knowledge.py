"""Not knowing is not absence: what is written, deleted or said to have passed was seen."""

from __future__ import annotations

from collections import defaultdict
from datetime import timedelta

from gitops_mc.core.model import FLEET_LABEL, MODULE_LABEL, Content, Kind, ResourceKey, labels_of
from tests.scenarios.deeds import EMERGENCY
from tests.scenarios.desk import Loss
from tests.scenarios.invariants.evidence import Evidence, kind_of, told
from tests.scenarios.recording import OurWrite

PROTECTED = {"master", "worker"}


def nothing_is_written_unseen(e: Evidence) -> None:
    """Nothing is written on a look that was not answered; and no deletion on an old one."""
    for cluster in e.orders:
        reads = e.s.reads[cluster]
        for one in e.by_cluster[cluster]:
            if one.read < 0 or not reads[one.read].answered:
                e.fail(f"3: {told(one)} was decided without knowing the cluster")
            late = e.s.times[one.look] - reads[one.read].at > timedelta(seconds=90)
            if one.write.verb == "delete" and late:
                e.fail(f"3: {told(one)} was decided on facts of {reads[one.read].at:%H:%M:%S}")


def passed_clusters_stood_as_git_says(e: Evidence) -> None:
    """No gate opens on what is not so: what is said to have passed was seen settled, with what Git says."""
    out = dict.fromkeys(e.orders, "")
    for number, look in enumerate(e.s.looks):
        for name in e.orders:
            memory = look.memory.cluster(name)
            now = str(memory.passed) if memory.out else ""
            if now and now != out[name]:
                _check_passed(e, name, number)
            out[name] = now


def _check_passed(e: Evidence, name: str, number: int) -> None:
    look, head = e.s.looks[number], e.s.heads[number]
    if look.memory.cluster(name).passed != next(c for c in head.clusters if c.name == name).content:
        return
    last, at = e.s.known[number][name], f"{e.s.times[number]:%H:%M:%S}"
    if last < 0:
        e.fail(f"3: {name} passed unseen")
    if lacking := e.lacks(name, e.s.reads[name][last].seq, head):
        e.fail(f"3: {name} passed at {at} without {', '.join(lacking)}")
    if sick := e.sick(name, last, head):
        e.fail(f"3: {name} passed at {at} with unsettled pools {sick}")


def deletes_only_its_own(e: Evidence) -> None:
    """Only what we wrote and marked, no protected name, within the limits that hold."""
    for cluster in e.orders:
        _deletes_only_its_own(e, cluster)


def _deletes_only_its_own(e: Evidence, cluster: str) -> None:
    written: set[tuple[str, str]] = set()
    counted: dict[object, int] = defaultdict(int)
    for one in e.by_cluster[cluster]:
        kind, name = kind_of(one), one.write.name
        if one.write.verb != "delete":
            written.add((kind, name))
            continue
        if kind == "machineconfigurations" or name in PROTECTED or name.startswith(("00-", "render")):
            e.fail(f"4: {told(one)}: protected")
        marked = kind == "moduleinfoes" or FLEET_LABEL in labels_of(one.write.before or {})
        if (kind, name) not in written or not marked:
            e.fail(f"4: {told(one)}: it is not ours")
        memory = e.memory(one)
        if e.s.heads[one.look].clusters and _blocked(e, one):
            e.fail(f"4: {told(one)}: its folder has problems")
        unproven = not memory.out or memory.failure is not None
        if unproven and _remembered_as(e, one) in {o.name for o in memory.created}:
            continue
        limits = e.s.heads[one.look].policy.prune
        counted[memory.started] += 1
        if not limits.enabled or counted[memory.started] > limits.max_deletes:
            e.fail(f"4: {told(one)}: {counted[memory.started]} deleted, limits {limits}")


def _remembered_as(e: Evidence, one: OurWrite) -> str:
    """The name by which the memory knows an object: a ModuleInfo by its module, which its labels said when we made it."""
    if kind_of(one) != "moduleinfoes":
        return one.write.name
    bodies = (w.write.after for w in e.by_cluster[one.cluster] if w.write.name == one.write.name)
    modules = (labels_of(body).get(MODULE_LABEL) for body in bodies if body is not None)
    return next((str(module) for module in modules if module), "")


def _blocked(e: Evidence, one: OurWrite) -> bool:
    """Whether the content that a deletion was decided with could not be read; an earlier, started one may go on."""
    head = next(c for c in e.s.heads[one.look].clusters if c.name == one.cluster)
    return head.blocked and e.memory(one).started == head.content


def what_was_changed_by_hand_stays(e: Evidence) -> None:
    """An emergency edit is neither written over nor deleted: nobody has said that Git's side wins."""
    for cluster in e.orders:
        for one in e.by_cluster[cluster]:
            before, after = str(one.write.before), str(one.write.after)
            if kind_of(one) == "machineconfigs" and EMERGENCY in before and EMERGENCY not in after:
                e.fail(f"3: {told(one)} takes back what was set by hand")


def without_memory_nothing_that_stands_is_changed(e: Evidence) -> None:
    """Lost memory is first contact: what somebody set, we included, is changed when a human approves, not before."""
    for loss in e.s.losses:
        approved = min((at for at, _ in e.s.approvals[loss.approvals :]), default=None)
        for one in e.s.ours:
            if not loss.concerns(one.cluster) or one.look < loss.passes:
                continue
            if approved is not None and one.write.time >= approved:
                continue
            if _changes(one) and not _known_again(e, one, loss):
                lost = f"{loss.at:%H:%M:%S}"
                e.fail(f"3: {told(one)} after the memory was lost at {lost}, and nobody approved it")


def _known_again(e: Evidence, one: OurWrite, loss: Loss) -> bool:
    """Whether a content that was found standing there has passed since, the object is one that we have made since, or it stood
    there just as the content says that was started since: then it is no first contact any more.
    """
    if any(
        w.write.name == one.write.name and w.write.before is None and loss.passes <= w.look < one.look
        for w in e.by_cluster[one.cluster]
    ):
        return True
    since = [look.memory.cluster(one.cluster) for look in e.s.looks[loss.passes : one.look]]
    return any(memory.passed or _stood_as_started(e, one, memory.started) for memory in since)


def _stood_as_started(e: Evidence, one: OurWrite, started: Content | None) -> bool:
    desired = None if started is None else e.desired(one.cluster, started)
    manifest = (
        None
        if desired is None
        else desired.get(ResourceKey(one.cluster, Kind.MACHINE_CONFIG, one.write.name))
    )
    stood = (one.write.before or {}).get("spec", {}).get("config")
    return manifest is not None and bool(manifest.body["spec"]["config"] == stood)


def _changes(one: OurWrite) -> bool:
    specs = [(x or {}).get("spec", {}).get("config") for x in (one.write.before, one.write.after)]
    return kind_of(one) == "machineconfigs" and one.write.before is not None and specs[0] != specs[1]
