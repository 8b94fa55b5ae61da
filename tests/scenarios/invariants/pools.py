"""What a write may touch, and when: settled pools, whole steps, and nobody else's pause."""

from __future__ import annotations

from functools import partial
from itertools import groupby

from gitops_mc.core.model import Kind, annotations_of
from tests.scenarios.invariants.evidence import SETTLE, Evidence, kind_of, told
from tests.scenarios.invariants.orders import touches_an_abort
from tests.scenarios.recording import OurWrite
from tests.scenarios.witness import DESIRED, Standing


def touches_only_settled_pools(e: Evidence) -> None:
    """But for the rest of a step that was begun, and for newer content where ours is what unsettled the pool."""
    for cluster in e.orders:
        _touches_only_settled_pools(e, cluster)


def _touches_only_settled_pools(e: Evidence, cluster: str) -> None:
    standing = e.standing(cluster)
    streak: dict[str, list[OurWrite]] = {}
    seen = 0
    before: OurWrite | None = None
    for one in e.by_cluster[cluster]:
        for verdicts in e.unexcused[cluster][seen : one.read + 1]:
            for pool in [p for p in streak if not verdicts.get(p, "gone")]:
                del streak[pool]
        seen = max(seen, one.read + 1)
        standing.forward(one.write.seq - 1 if one.server == cluster else e.s.reads[cluster][one.read].seq)
        same_move = before is not None and (before.look, before.read) == (one.look, one.read)
        for pool in sorted(standing.touched(one.write)):
            begun = standing.marked(pool) or same_move or touches_an_abort(one)
            if not begun:
                _must_be_settled(e, one, pool, streak)
            streak.setdefault(pool, []).append(one)
        if kind_of(one) == "machineconfigpools" and one.write.before is None:
            streak.setdefault(one.write.name, []).append(
                one
            )  # nodes move into a pool of ours as soon as it is made
        before = one


def _must_be_settled(e: Evidence, one: OurWrite, pool: str, streak: dict[str, list[OurWrite]]) -> None:
    reads, verdicts = e.s.reads[one.cluster], e.verdicts[one.cluster]
    decided = reads[one.read].at
    if pool in streak:
        others = streak[pool]
        if any(e.memory(one).started != e.memory(other).started for other in others):
            return  # fix-forward, though what it brings was there once before
        if e.memory(one).repairing or e.memory(others[0]).repairing:
            return
    elif e.memory(one).repairing:
        return
    for position in range(one.read, -1, -1):
        if why := verdicts[position].get(pool, ""):
            seen = f"{reads[position].at:%H:%M:%S}"
            e.fail(f"2: {told(one)} touches pool {pool}, which at {seen} was not settled: {why}")
        if decided - reads[position].at >= SETTLE:
            return


def nodes_never_start_on_half_of_a_step(e: Evidence) -> None:
    """Between the first and the last write of one step to a pool, none of its nodes is sent anywhere, though we die and come
    back in between.
    """
    for cluster in e.orders:
        writes = e.by_cluster[cluster]
        strays = {
            one.write.name for one in writes if one.stray
        }  # they come when no step of ours counts on them
        own = [one for one in writes if one.server == cluster and one.write.name not in strays]
        own = [one for one in own if not touches_an_abort(one)]  # stops a step that is written, or ends that
        standing = e.standing(cluster)
        for _, step in groupby(own, key=partial(_step, e)):
            _whole(e, standing, list(step))


def _step(e: Evidence, one: OurWrite) -> object:
    """What a write belongs to: a step of a content. One that closes a bracket stands alone."""
    memory = e.memory(one)
    return one.look if memory.step is None else (memory.started, memory.admitted_at, memory.step.step)


def _whole(e: Evidence, standing: Standing, writes: list[OurWrite]) -> None:
    standing.forward(writes[0].write.seq - 1)
    touched = {pool for one in writes for pool in standing.touched(one.write)}
    cluster = writes[0].cluster
    for write in e.servers[cluster][writes[0].write.seq : writes[-1].write.seq - 1]:
        if not write.resource.startswith("nodes") or write.before is None or write.after is None:
            continue
        before, after = annotations_of(write.before).get(DESIRED), annotations_of(write.after).get(DESIRED)
        if before != after and any(write.name in members for members in _members(standing, touched)):
            e.fail(f"2: node {write.name} of {cluster} is sent to {after} in the middle of {told(writes[0])}")


def _members(standing: Standing, pools: set[str]) -> list[set[str]]:
    return [standing.members(pool) for pool in pools]


def never_unpauses_what_another_paused(e: Evidence) -> None:
    """A pool that somebody else paused stays paused until he takes it back."""
    for cluster in e.orders:
        paused_by: dict[str, str] = {}
        for write in e.servers[cluster]:
            if not write.resource.startswith("machineconfigpools"):
                continue
            was = bool((write.before or {}).get("spec", {}).get("paused"))
            now = bool((write.after or {}).get("spec", {}).get("paused"))
            if now and not was:
                paused_by[write.name] = write.user
            if (
                was
                and write.after is not None
                and not now
                and write.user == "gitops-mc" != paused_by[write.name]
            ):
                e.fail(
                    f"2: pool {write.name} of {cluster} is unpaused at {write.time:%H:%M:%S}; we had not paused it"
                )


def the_policy_shows_before_its_config_is_written(e: Evidence) -> None:
    """Else the file is written and nothing restarts."""
    for cluster in e.orders:
        standing = e.standing(cluster)
        for one in e.by_cluster[cluster]:
            if kind_of(one) != "machineconfigs" or one.write.after is None:
                continue
            standing.forward(one.write.seq - 1)
            desired = e.desired(cluster, e.memory(one).started)
            policies = () if desired is None else desired.of_kind(Kind.MACHINE_CONFIGURATION)
            wanted = [f for p in policies for f in p.body["spec"]["nodeDisruptionPolicy"].get("files", ())]
            status = standing.of("machineconfigurations").get("cluster", {}).get("status") or {}
            shown = status.get("nodeDisruptionPolicyStatus", {}).get("clusterPolicies", {}).get("files", [])
            if missing := [f["path"] for f in wanted if f not in shown]:
                e.fail(f"2: {told(one)} before the policy for {', '.join(missing)} shows in status")
