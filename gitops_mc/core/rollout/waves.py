"""Waves: who belongs to which, when one is done, and when the next may open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from gitops_mc.core.model import GLOBAL_CLUSTER, DesiredCluster, count, digest_of
from gitops_mc.core.policy import Approval, ClusterSelector, FleetPolicy, Wave
from gitops_mc.core.rollout.case import Assessment, all_open
from gitops_mc.core.rollout.memory import WaveMemory
from gitops_mc.core.rollout.moves import AWAY, OUT_OF_THE_WAY, Standing, WaveState, WaveView, said

FRESH = timedelta(minutes=2)
"""How old facts about passed clusters may be when the next wave opens."""

_COSTS_NOTHING = (Standing.PROBLEMS,)
_NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Line:
    """A wave with its members, by name."""

    wave: Wave
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Budget:
    """What the fleet tolerates at this moment, counted over all clusters."""

    failures_allowed: int
    failed: int
    unreachable_allowed: int
    unreachable: int

    @property
    def too_many_failures(self) -> bool:
        return self.failed > self.failures_allowed

    @property
    def too_many_unreachable(self) -> bool:
        return self.unreachable > self.unreachable_allowed


def lines(
    policy: FleetPolicy, clusters: Sequence[DesiredCluster]
) -> tuple[tuple[Line, ...], tuple[str, ...]]:
    """Every wave with its members, and the clusters that no wave takes. A cluster is in the first wave it matches.

    Without waves in fleet.yaml each cluster is a wave of its own, by name, global last.
    """
    if policy.rollout.waves is None:
        names = sorted((c.name for c in clusters), key=lambda name: (name == GLOBAL_CLUSTER, name))
        return tuple(Line(Wave(name, ClusterSelector(names=(name,))), (name,)) for name in names), ()
    members: dict[str, list[str]] = {wave.name: [] for wave in policy.rollout.waves}
    homeless = []
    for cluster in sorted(clusters, key=lambda c: c.name):
        labels = cluster.labels or policy.cluster_labels.get(cluster.name, {})
        home = next((w for w in policy.rollout.waves if w.clusters.matches(cluster.name, labels)), None)
        if home is None:
            homeless.append(cluster.name)
        else:
            members[home.name].append(cluster.name)
    return tuple(Line(w, tuple(members[w.name])) for w in policy.rollout.waves), tuple(homeless)


def contents_digest(line: Line, clusters: Mapping[str, DesiredCluster]) -> str:
    """What approval and soak of a wave are bound to: its members and their contents."""
    return digest_of([[name, clusters[name].content] for name in line.members])


def remembered(line: Line, clusters: Mapping[str, DesiredCluster], memory: WaveMemory | None) -> WaveMemory:
    """The wave's memory for its contents of now; any other contents end approval and soak, even when they come back."""
    digest = contents_digest(line, clusters)
    return memory if memory is not None and memory.contents == digest else WaveMemory(digest, soaked=False)


def soaks_since(wave: Wave, memory: WaveMemory, now: datetime) -> datetime | None:
    """When the soak began that is not over yet, of a wave that soaks."""
    since = memory.soak_since
    if since is None or wave.soak <= timedelta(0) or memory.soaked:
        return None
    over = memory.soaked is None and _is_over(memory, wave.soak, now, None)
    return None if over else since


def look(
    line: Line,
    found: Mapping[str, Assessment],
    memory: WaveMemory,
    budget: Budget,
    now: datetime,
    *,
    closed: str,
    read_at: Mapping[str, datetime],
) -> tuple[WaveView, WaveMemory]:
    """The state of one wave. `closed`: why no cluster of it may start, or empty. `read_at`: when each cluster was read last."""
    done, why = _done(line, found, budget)
    wave = line.wave
    if done and wave.soak > timedelta(0) and line.members:
        return _soaking(line, found, memory, now, read_at)
    if done:
        return WaveView(wave.name, WaveState.DONE, why, line.members), memory
    if closed:
        return WaveView(wave.name, WaveState.CLOSED, closed, line.members), memory
    if wave.approval is Approval.MANUAL and not memory.approved and has_work(line, found):
        reason = f"wave {wave.name} waits for approval: gitops-mc apply --approve {wave.name}"
        return WaveView(wave.name, WaveState.NEEDS_APPROVAL, reason, line.members), memory
    return WaveView(wave.name, WaveState.OPEN, why, line.members), _unsoaked(memory)


def has_work(line: Line, found: Mapping[str, Assessment]) -> bool:
    """Whether a cluster of the wave is still to be waited for."""
    return any(found[name].standing not in OUT_OF_THE_WAY for name in line.members)


def _done(line: Line, found: Mapping[str, Assessment], budget: Budget) -> tuple[bool, str]:
    if not line.members:
        return True, "no cluster falls into it"
    standings = {name: found[name].standing for name in line.members}
    rest = {n: s for n, s in standings.items() if s not in OUT_OF_THE_WAY and s not in _COSTS_NOTHING}
    intolerable = [n for n, s in rest.items() if not _tolerated(s, budget)]
    if intolerable:
        told = ", ".join(f"{n} {said(standings[n])}" for n in intolerable[:3])
        return False, told + (f" and {len(intolerable) - 3} more" if len(intolerable) > 3 else "")
    passed = [n for n in line.members if found[n].has_passed]
    left = set(standings.values())
    if passed or left <= {Standing.SKIPPED, Standing.UNREGISTERED}:
        tolerated = f", {len(rest)} tolerated" if rest else ""
        return True, f"{len(passed)} of {len(line.members)} passed{tolerated}"
    return False, "no cluster of it has passed"


def _tolerated(standing: Standing, budget: Budget) -> bool:
    match standing:
        case Standing.FAILED:
            return not budget.too_many_failures
        case _ if standing in AWAY:
            return not budget.too_many_unreachable
        case _:
            return False


def _soaking(
    line: Line,
    found: Mapping[str, Assessment],
    memory: WaveMemory,
    now: datetime,
    read_at: Mapping[str, datetime],
) -> tuple[WaveView, WaveMemory]:
    """The soak runs while the gates of all passed clusters stay open, with what was written; one that closes restarts it,
    and so does a hand that changes what the content wrote. Only time that was seen counts: it is over when every passed cluster
    has been read after its end, for what a server that does not answer would say nobody knows.
    """
    wave = line.wave
    passed = [n for n in line.members if found[n].has_passed]
    undone = [n for n in passed if found[n].undone]
    shaky = undone or [n for n in passed if not all_open(found[n])]
    seen = min((read_at.get(name, _NEVER) for name in passed), default=now)
    if not undone and (memory.soaked or _is_over(memory, wave.soak, now, None if shaky else seen)):
        return WaveView(wave.name, WaveState.DONE, "soaked", line.members), replace(memory, soaked=True)
    if shaky:
        state = "as it was written" if undone else "settled"
        reason = f"the soak starts when {', '.join(shaky)} is {state}: {found[shaky[0]].reason}"
        view = WaveView(wave.name, WaveState.SOAKING, reason, line.members, wave.soak)
        return view, _unsoaked(memory)
    since = memory.soak_since or now
    left = max(timedelta(0), wave.soak - (now - since))
    reason = f"until {(since + wave.soak).isoformat(timespec='seconds')}"
    if not left:
        reason += ", and until its clusters have been read after that"
    return WaveView(wave.name, WaveState.SOAKING, reason, line.members, left), replace(
        memory, soak_since=since
    )


def _is_over(memory: WaveMemory, soak: timedelta, now: datetime, seen_open: datetime | None) -> bool:
    if memory.soak_since is None:
        return False
    if memory.soaked is None:  # as in the release that wrote this: else all that has soaked would soak again
        return now - memory.soak_since >= soak
    return seen_open is not None and seen_open - memory.soak_since >= soak


def _unsoaked(memory: WaveMemory) -> WaveMemory:
    return replace(memory, soak_since=None, soaked=False)


def not_reread(
    lines_before: Sequence[Line],
    found: Mapping[str, Assessment],
    read_at: Mapping[str, datetime],
    now: datetime,
) -> tuple[str, ...]:
    """Passed clusters that have to be read again, or are not settled, before the wave after `lines_before` opens."""
    names = [n for line in lines_before for n in line.members if found[n].has_passed]
    return tuple(n for n in names if n not in read_at or now - read_at[n] > FRESH or not all_open(found[n]))


def too_many_away(budget: Budget) -> str:
    """Why the next wave stays closed where more clusters are away than are tolerated."""
    return (
        f"{count(budget.unreachable, 'cluster')} blocked or unreachable, {budget.unreachable_allowed} tolerated "
        "(maxUnreachable): mend them, or gitops-mc skip CLUSTER"
    )


def starts_alone(name: str) -> bool:
    """Global hosts the platform and this tool: it never rolls beside another cluster."""
    return name == GLOBAL_CLUSTER
