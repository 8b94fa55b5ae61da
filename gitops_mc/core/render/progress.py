"""A rollout as it goes: a snapshot of every pass, and the events between two of them.

An event is one line for people and one JSON object for programs:

| event | fields beside `time` and `event` |
|---|---|
| `plan` | digest, commit, clusters, changing, reboots |
| `wave` | wave, state, reason, passed, clusters |
| `cluster` | cluster, wave, standing, step, reason, content |
| `gate` | cluster, gate (`module <name>`, `policy`, `components`), state, reason |
| `pool` | cluster, pool, state, reason, nodes, updated, ready, unavailable, degraded (null: not read) |
| `write` | cluster, what |
| `trouble` | what: a write that did not go through this time |
| `waiting` | reason: nothing else was said for a while |
| `end` | outcome (done, problems, halted, held, interrupted), exit_code, reasons, acts, open_steps |

`time` is RFC 3339 in UTC on the rollout's clock. `state` of a gate: open, waiting, failed, unknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import assert_never

from gitops_mc.core.live import LiveCluster
from gitops_mc.core.model import Failed, JsonObject, NotKnown, Open, Unknown, Verdict, Waiting
from gitops_mc.core.plan import StepKind
from gitops_mc.core.render.brief import brief
from gitops_mc.core.render.lines import Line, Tone, visible
from gitops_mc.core.rollout.gating import COMPONENTS
from gitops_mc.core.rollout.moves import ClusterView, Decision, GateView, Standing, WaveState, WaveView

_POOL = "pool "
_COUNTS = {
    "nodes": "machineCount",
    "updated": "updatedMachineCount",
    "ready": "readyMachineCount",
    "unavailable": "unavailableMachineCount",
    "degraded": "degradedMachineCount",
}
_TONES = {
    Standing.PASSED: Tone.GOOD,
    Standing.FAILED: Tone.BAD,
    Standing.BLOCKED: Tone.BAD,
    Standing.PROBLEMS: Tone.BAD,
    Standing.UNREACHABLE: Tone.BAD,
    Standing.UNPUBLISHED: Tone.WARN,
    Standing.APPROVAL: Tone.WARN,
    Standing.SKIPPED: Tone.WARN,
}
_WAVE_TONES = {WaveState.DONE: Tone.GOOD, WaveState.NEEDS_APPROVAL: Tone.WARN, WaveState.CLOSED: Tone.DIM}
_NO_NEWS = (Standing.NOT_KNOWN, Standing.READY)
"""Standings that are not worth a line when a cluster is seen for the first time."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened at a time."""

    at: datetime
    kind: str
    fields: JsonObject
    text: str
    tone: Tone = Tone.PLAIN

    def line(self) -> Line:
        """For people: the time of day, and a sentence."""
        return Line(f"{self.at:%H:%M:%S} {visible(brief(self.text))}".replace("\n", "\\n"), self.tone)

    def json(self) -> JsonObject:
        return {"time": self.at.isoformat(timespec="milliseconds"), "event": self.kind, **self.fields}


@dataclass(frozen=True, slots=True)
class PoolProgress:
    """How far one pool is. Counts as the operator tells them; None: not said, or not read."""

    gate: GateView
    counts: Mapping[str, int | None]

    @property
    def name(self) -> str:
        return self.gate.subject.removeprefix(_POOL)

    @property
    def quiet(self) -> bool:
        """Whether every node is done, as far as the operator's counts say."""
        c = self.counts
        return (
            c["nodes"] is not None
            and c["nodes"] == c["updated"]
            and not c["unavailable"]
            and not c["degraded"]
        )

    def words(self) -> str:
        nodes, updated = self.counts["nodes"], self.counts["updated"]
        told = [f"{_or(updated)} of {_or(nodes)} nodes updated"]
        told += [f"{n} {what}" for what in ("unavailable", "degraded") if (n := self.counts[what])]
        return ", ".join(told)


@dataclass(frozen=True, slots=True)
class ClusterProgress:
    view: ClusterView
    pools: tuple[PoolProgress, ...]
    gates: tuple[GateView, ...]
    """Those that are no pool's."""

    @property
    def busy(self) -> bool:
        """Whether its gates are worth looking at: nodes may be moving because of us."""
        return self.view.standing in {Standing.IN_FLIGHT, Standing.FAILED}


@dataclass(frozen=True, slots=True)
class Progress:
    """One pass, as it is shown."""

    at: datetime
    waves: tuple[WaveView, ...]
    clusters: tuple[ClusterProgress, ...]

    def of_wave(self, wave: WaveView) -> tuple[ClusterProgress, ...]:
        members = frozenset(wave.members)
        return tuple(c for c in self.clusters if c.view.cluster in members)

    def passed(self, wave: WaveView) -> int:
        return sum(1 for c in self.of_wave(wave) if c.view.standing is Standing.PASSED)


def progress_of(at: datetime, decision: Decision, live: Mapping[str, LiveCluster]) -> Progress:
    """What a pass has come to."""
    return Progress(
        at, decision.waves, tuple(_cluster(view, live.get(view.cluster)) for view in decision.clusters)
    )


def _cluster(view: ClusterView, live: LiveCluster | None) -> ClusterProgress:
    pools = tuple(
        PoolProgress(g, _counts(live, g.subject.removeprefix(_POOL))) for g in view.gates if _is_pool(g)
    )
    return ClusterProgress(view, pools, tuple(g for g in view.gates if not _is_pool(g)))


def _is_pool(gate: GateView) -> bool:
    return gate.subject.startswith(_POOL)


def _counts(live: LiveCluster | None, pool: str) -> Mapping[str, int | None]:
    if live is None or isinstance(live.pools, Unknown):
        return dict.fromkeys(_COUNTS)
    status = (live.pools.value.get(pool) or {}).get("status") or {}
    found = {name: status.get(key) for name, key in _COUNTS.items()}
    return {name: value if isinstance(value, int) else None for name, value in found.items()}


# -------------------------------------------------------------------------------------------------------- events


def changes(before: Progress | None, now: Progress) -> Iterator[Event]:
    """What is different, wave by wave: one that is done after its clusters, any other before them."""
    known = {} if before is None else {c.view.cluster: c for c in before.clusters}
    housed: set[str] = set()
    for wave in now.waves:
        told = list(_wave_changes(before, now, wave))
        below = [e for c in now.of_wave(wave) for e in _cluster_changes(known.get(c.view.cluster), c, now.at)]
        housed.update(wave.members)
        yield from (*below, *told) if wave.state is WaveState.DONE else (*told, *below)
    for cluster in now.clusters:
        if cluster.view.cluster not in housed:
            yield from _cluster_changes(known.get(cluster.view.cluster), cluster, now.at)


def _wave_changes(before: Progress | None, now: Progress, wave: WaveView) -> Iterator[Event]:
    seen = None if before is None else next((w for w in before.waves if w.wave == wave.wave), None)
    if seen is None or before is None or (seen.state, before.passed(seen)) != (wave.state, now.passed(wave)):
        yield _wave(now, wave)


def _wave(now: Progress, wave: WaveView) -> Event:
    passed, total = now.passed(wave), len(wave.members)
    reason = f": {wave.reason}" if wave.state in {WaveState.CLOSED, WaveState.SOAKING} and wave.reason else ""
    fields: JsonObject = {
        "wave": wave.wave,
        "state": wave.state.value,
        "reason": wave.reason,
        "passed": passed,
        "clusters": total,
    }
    text = f"wave {wave.wave}: {wave.state.value}, {passed} of {total} passed{reason}"
    return Event(now.at, "wave", fields, text, _WAVE_TONES.get(wave.state, Tone.HEAD))


def _cluster_changes(before: ClusterProgress | None, now: ClusterProgress, at: datetime) -> Iterator[Event]:
    if _newsworthy(before, now):
        yield _standing(now.view, at)
    if not now.busy:
        return
    gates = {} if before is None else {g.subject: state_of(g.verdict) for g in before.gates}
    for gate in now.gates:
        if gates.get(gate.subject, "open") != state_of(gate.verdict):
            yield _gate(now.view.cluster, gate, at)
    pools = {} if before is None else {p.name: p for p in before.pools}
    step = now.view.step if before is None else before.view.step
    for pool in now.pools:
        if _pool_moved(pools.get(pool.name), pool, step):
            yield _pool(now.view.cluster, pool, at)


def pools_of_step(step: str) -> tuple[str, ...]:
    """The pools that the id of a step names (`pools:infra,worker`)."""
    kind, _, names = step.partition(":")
    return tuple(names.split(",")) if kind == StepKind.POOLS.value else ()


def _newsworthy(before: ClusterProgress | None, now: ClusterProgress) -> bool:
    """That a cluster could start, or is about to be looked at, is no news; that it cannot be read any more is."""
    standing = now.view.standing
    if before is None:
        return standing not in _NO_NEWS
    if standing is Standing.READY or (standing in _NO_NEWS and before.view.standing in _NO_NEWS):
        return False
    if before.view.standing is not standing:
        return True
    steps = (before.view.step, now.view.step)
    return steps[0] != steps[1] and COMPONENTS not in steps  # their gate is told by itself


def _pool_moved(before: PoolProgress | None, now: PoolProgress, step: str) -> bool:
    """Counts moved, it failed or no longer does, or it is one of the step's pools and its gate has opened."""
    state = state_of(now.gate.verdict)
    if before is None:
        return not now.quiet and state != "open"
    was = state_of(before.gate.verdict)
    opened = state == "open" and was != "open" and now.name in pools_of_step(step)
    return before.counts != now.counts or (was != state and "failed" in {was, state}) or opened


def _standing(view: ClusterView, at: datetime) -> Event:
    fields: JsonObject = {
        "cluster": view.cluster,
        "wave": view.wave,
        "standing": view.standing.value,
        "step": view.step,
        "reason": view.reason,
        "content": view.content,
    }
    step = f", step {view.step}" if view.step else ""
    known = (
        (view.standing.value, "")
        if not view.step or view.standing is not Standing.IN_FLIGHT
        else (view.reason,)
    )
    reason = "" if view.reason in known else f": {view.reason}"
    text = f"{view.cluster}: {view.standing.value}{step}{reason}"
    return Event(at, "cluster", fields, text, _TONES.get(view.standing, Tone.PLAIN))


def _gate(cluster: str, gate: GateView, at: datetime) -> Event:
    state = state_of(gate.verdict)
    fields: JsonObject = {
        "cluster": cluster,
        "gate": gate.subject,
        "state": state,
        "reason": gate.verdict.reason,
    }
    text = f"{cluster} {gate.subject}: {state}: {gate.verdict.reason}"
    return Event(at, "gate", fields, text, _gate_tone(gate.verdict))


def _pool(cluster: str, pool: PoolProgress, at: datetime) -> Event:
    state = state_of(pool.gate.verdict)
    fields: JsonObject = {
        "cluster": cluster,
        "pool": pool.name,
        "state": state,
        "reason": pool.gate.verdict.reason,
        **pool.counts,
    }
    reason = f": {pool.gate.verdict.reason}" if isinstance(pool.gate.verdict, NotKnown) else ""
    gate = "" if isinstance(pool.gate.verdict, Waiting) else f"; gate {state}{reason}"
    text = f"{cluster} pool {pool.name}: {pool.words()}{gate}"
    return Event(at, "pool", fields, text, _gate_tone(pool.gate.verdict))


def state_of(verdict: Verdict) -> str:
    """A verdict in one word: open, waiting, failed, unknown."""
    match verdict:
        case Open():
            return "open"
        case Waiting():
            return "waiting"
        case Failed():
            return "failed"
        case NotKnown():
            return "unknown"
        case _:
            assert_never(verdict)


def _gate_tone(verdict: Verdict) -> Tone:
    return {"open": Tone.GOOD, "failed": Tone.BAD}.get(state_of(verdict), Tone.PLAIN)


def _or(count: int | None) -> str:
    return "?" if count is None else str(count)


# -------------------------------------------------------------------------------------------------------- screen


def screen(now: Progress, rows: int) -> tuple[Line, ...]:
    """The state of things on one screen of so many rows: what is open or moving; the rest is counted."""
    found: list[Line] = []
    for wave in now.waves:
        members = now.of_wave(wave)
        tone = _WAVE_TONES.get(wave.state, Tone.HEAD)
        found.append(
            Line(f"wave {wave.wave}: {wave.state.value}, {now.passed(wave)} of {len(members)} passed", tone)
        )
        if wave.state is WaveState.DONE:
            continue
        shown = [c for c in members if c.busy or c.view.standing not in {Standing.PASSED, *_NO_NEWS}]
        for cluster in shown:
            found += _rows(cluster)
    if len(found) > rows:
        hidden = len(found) - rows + 1
        found = [*found[: rows - 1], Line(f"... and {hidden} more lines", Tone.DIM)]
    return tuple(Line(visible(brief(line.text)).replace("\n", "\\n"), line.tone) for line in found)


def _rows(cluster: ClusterProgress) -> Iterator[Line]:
    view = cluster.view
    step = f" {view.step}" if view.step else ""
    yield Line(f"  {view.cluster}: {view.standing.value}{step}", _TONES.get(view.standing, Tone.PLAIN))
    if not cluster.busy:
        yield Line(f"      {view.reason}", Tone.DIM)
        return
    for gate in cluster.gates:
        if not isinstance(gate.verdict, Open):
            yield Line(f"      {gate.subject}: {gate.verdict.reason}", _gate_tone(gate.verdict))
    concerned = pools_of_step(view.step)
    for pool in cluster.pools:
        if not isinstance(pool.gate.verdict, Open) and (not pool.quiet or pool.name in concerned):
            yield Line(f"      pool {pool.name}: {pool.words()}", _gate_tone(pool.gate.verdict))
            yield Line(f"          {pool.gate.verdict.reason}", Tone.DIM)
