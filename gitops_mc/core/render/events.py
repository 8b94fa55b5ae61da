"""The events of a rollout: what is different between two snapshots of it.

An event is one line for people and one JSON object for programs:

| event | fields beside `time` and `event` |
|---|---|
| `plan` | digest, commit, clusters, changing, reboots |
| `wave` | wave, state, reason, passed, clusters |
| `cluster` | cluster, wave, standing, step, reason, content |
| `gate` | cluster, gate (`module <name>`, `policy`, `components`), state, reason |
| `pool` | cluster, pool, state, reason, facts (all that is not as it has to be), nodes, updated, ready, unavailable, degraded (null: not read) |
| `window` | clusters, reason, opens_at: what they would begin next waits for their change windows |
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

from gitops_mc.core.model import JsonObject, NotKnown, Waiting
from gitops_mc.core.plan import title_of
from gitops_mc.core.render.lines import Line, Tone, one_line
from gitops_mc.core.render.progress import (
    NO_NEWS,
    STANDING_TONES,
    WAVE_TONES,
    ClusterProgress,
    PoolProgress,
    Progress,
    gate_tone,
    pools_of_step,
    state_of,
)
from gitops_mc.core.rollout.gating import COMPONENTS
from gitops_mc.core.rollout.moves import ClusterView, GateView, Standing, WaveState, WaveView
from gitops_mc.core.rollout.windows import WindowClosed

_NAMED = 3
"""How many clusters of a group a line names."""


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
        return Line(one_line(f"{self.at:%H:%M:%S} {self.text}"), self.tone)

    def json(self) -> JsonObject:
        return {"time": self.at.isoformat(timespec="milliseconds"), "event": self.kind, **self.fields}


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
    yield from _window_changes({} if before is None else _outside(before), _outside(now), now.at)


def _window_changes(
    before: Mapping[WindowClosed, list[str]], now: Mapping[WindowClosed, list[str]], at: datetime
) -> Iterator[Event]:
    """Clusters that have come to wait for their windows, those that wait for the same moment in one line."""
    for window, names in now.items():
        fresh = [n for n in names if n not in before.get(window, ())]
        if not fresh:
            continue
        opens_at = window.opens_at.isoformat(timespec="seconds") if window.opens_at is not None else None
        fields: JsonObject = {"clusters": fresh, "reason": window.reason, "opens_at": opens_at}
        more = f" and {len(fresh) - _NAMED} more" if len(fresh) > _NAMED else ""
        yield Event(at, "window", fields, f"{', '.join(fresh[:_NAMED])}{more}: {window.told(at)}", Tone.WARN)


def _outside(progress: Progress) -> dict[WindowClosed, list[str]]:
    """Clusters that nothing but their window keeps from going on, by what is said of it."""
    opened = {name for w in progress.waves if w.state is WaveState.OPEN for name in w.members}
    found: dict[WindowClosed, list[str]] = {}
    for view in (c.view for c in progress.clusters):
        if view.window is not None and (view.standing is not Standing.READY or view.cluster in opened):
            found.setdefault(view.window, []).append(view.cluster)
    return found


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
    return Event(now.at, "wave", fields, text, WAVE_TONES.get(wave.state, Tone.HEAD))


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


def _newsworthy(before: ClusterProgress | None, now: ClusterProgress) -> bool:
    """That a cluster could start, or is about to be looked at, is no news; that it cannot be read any more is."""
    standing = now.view.standing
    if before is None:
        return standing not in NO_NEWS
    if standing is Standing.READY or (standing in NO_NEWS and before.view.standing in NO_NEWS):
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
    title = title_of(view.step)
    step = f", at {title}" if title else ""
    known = view.reason in {view.standing.value, ""} or (title and view.standing is Standing.IN_FLIGHT)
    reason = "" if known else f": {view.reason}"
    text = f"{view.cluster}: {view.standing.value}{step}{reason}"
    return Event(at, "cluster", fields, text, STANDING_TONES.get(view.standing, Tone.PLAIN))


def _gate(cluster: str, gate: GateView, at: datetime) -> Event:
    state = state_of(gate.verdict)
    fields: JsonObject = {
        "cluster": cluster,
        "gate": gate.subject,
        "state": state,
        "reason": gate.verdict.reason,
    }
    text = f"{cluster} {gate.subject}: {state}: {gate.verdict.reason}"
    return Event(at, "gate", fields, text, gate_tone(gate.verdict))


def _pool(cluster: str, pool: PoolProgress, at: datetime) -> Event:
    state = state_of(pool.gate.verdict)
    fields: JsonObject = {
        "cluster": cluster,
        "pool": pool.name,
        "state": state,
        "reason": pool.gate.verdict.reason,
        "facts": list(pool.gate.facts),
        **pool.counts,
    }
    reason = f": {pool.gate.verdict.reason}" if isinstance(pool.gate.verdict, NotKnown) else ""
    gate = "" if isinstance(pool.gate.verdict, Waiting) else f"; gate {state}{reason}"
    text = f"{cluster} pool {pool.name}: {pool.words()}{gate}"
    return Event(at, "pool", fields, text, gate_tone(pool.gate.verdict))
