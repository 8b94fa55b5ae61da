"""How things stand: what is remembered of every wave and cluster, and beside it what was read just now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from gitops_mc.core.live import LiveCluster
from gitops_mc.core.model import Commit, JsonObject, Known, Unknown
from gitops_mc.core.plan import title_of
from gitops_mc.core.render.lines import Line, Tone, one_line
from gitops_mc.core.render.plan_words import duration
from gitops_mc.core.render.progress import state_of
from gitops_mc.core.rollout.acts import findings
from gitops_mc.core.rollout.driver import UNDRIVEN, Driver
from gitops_mc.core.rollout.memory import Act, ClusterMemory, FleetMemory
from gitops_mc.core.rollout.moves import (
    ClusterView,
    Decision,
    Done,
    Halted,
    Hold,
    Standing,
    Wait,
    WaveState,
)

_TONES = {
    "passed": Tone.GOOD,
    "failed": Tone.BAD,
    "blocked": Tone.BAD,
    "problems": Tone.BAD,
    "unreachable": Tone.BAD,
}
_SHOWN_ACTS = 10
APPLY = "gitops-mc apply"
_ON_DEMAND = ("components", "releases", "rendered")
"""Facts that are read only where something needs them; in text they are missed only when they were asked for."""
_NOT_ASKED = "not read yet"


@dataclass(frozen=True, slots=True)
class Seen:
    """What a look at the clusters came to."""

    decision: Decision
    live: Mapping[str, LiveCluster]


def status_json(memory: FleetMemory, now: datetime, seen: Seen | None, driver: Driver) -> JsonObject:
    """Everything, for programs. Times are RFC 3339, ages and durations are seconds; null: not known, or none."""
    views = {} if seen is None else {c.cluster: c for c in seen.decision.clusters}
    names = sorted({*memory.clusters, *views})
    halt = memory.halt
    return {
        "at": _at(now),
        "remembered_at": _at(memory.clock),
        "live": seen is not None,
        "driver": driver.value,
        "pending": _pending(memory) if seen is None else not isinstance(seen.decision.outlook, Done),
        "outlook": None if seen is None else _outlook(seen.decision),
        "halt": None
        if halt is None
        else {"reason": halt.reason, "since": _at(halt.since), "clusters": list(halt.clusters)},
        "waves": _waves(memory, seen),
        "clusters": [
            _cluster(name, memory, now, views.get(name), None if seen is None else seen.live.get(name))
            for name in names
        ],
        "acts": [_act(a) for a in memory.acts],
    }


def _pending(memory: FleetMemory) -> bool:
    """Whether the memory alone tells that a rollout is not at its end."""
    return memory.halt is not None or any(
        m.started is not None and not m.out for m in memory.clusters.values()
    )


def _outlook(decision: Decision) -> JsonObject:
    opened = frozenset(name for w in decision.waves if w.state is WaveState.OPEN for name in w.members)
    coming = [c.cluster for c in decision.clusters if c.standing is Standing.READY and c.cluster in opened]
    if coming and isinstance(decision.outlook, Wait):
        return {
            "state": "pending",
            "reasons": [f"could start: {', '.join(coming)}"],
            "acts": [APPLY],
        }
    match decision.outlook:
        case Wait(reason):
            return {"state": "waiting", "reasons": [reason], "acts": []}
        case Hold(reasons, acts):
            return {"state": "held", "reasons": list(reasons), "acts": list(acts)}
        case Halted(reason):
            return {"state": "halted", "reasons": [reason], "acts": ["gitops-mc release --all"]}
        case Done(reason):
            return {"state": "done", "reasons": [reason], "acts": []}


def _waves(memory: FleetMemory, seen: Seen | None) -> list[JsonObject]:
    views = {} if seen is None else {w.wave: w for w in seen.decision.waves}
    found = []
    for name in dict.fromkeys([*views, *memory.waves]):
        view, kept = views.get(name), memory.waves.get(name)
        found.append(
            {
                "wave": name,
                "state": None if view is None else view.state.value,
                "reason": "" if view is None else view.reason,
                "members": None if view is None else list(view.members),
                "approved": kept is not None and kept.approved,
                "soak_since": None if kept is None else _at(kept.soak_since),
                "soak_left": None if view is None else view.soak_left.total_seconds(),
            }
        )
    return found


def _cluster(
    name: str, memory: FleetMemory, now: datetime, view: ClusterView | None, live: LiveCluster | None
) -> JsonObject:
    m = memory.cluster(name)
    return {
        "cluster": name,
        "wave": None if view is None else view.wave,
        "standing": remembered_standing(m) if view is None else view.standing.value,
        "reason": "" if view is None else view.reason,
        "started": {"content": m.started, "commit": m.started_commit or None, "at": _at(m.admitted_at)},
        "passed": {"content": m.passed, "commit": m.passed_commit or None, "at": _at(m.passed_at)},
        "begun": m.begun,
        "step": None
        if m.step is None
        else {"step": m.step.step, "pools": list(m.step.pools), "since": _at(m.step.at)},
        "failure": None
        if m.failure is None
        else {
            "cause": m.failure.cause.value,
            "reason": m.failure.reason,
            "at": _at(m.failure.at),
            "content": m.failure.content,
            "subjects": sorted(m.failure.subjects),
        },
        "gates": None
        if view is None
        else [
            {
                "gate": g.subject,
                "state": state_of(g.verdict),
                "reason": g.verdict.reason,
                "facts": list(g.facts),
            }
            for g in view.gates
        ],
        "skipped": m.skipped,
        "approved": m.approved,
        "excused": [
            {"node": e.node, "reason": e.reason, "until": _at(e.until), "ended": e.until <= now}
            for e in m.excused
        ],
        "accepted": list(m.accepted),
        "acceptable": list(findings(memory).get(name, ())),
        "dark_since": _at(m.dark_since),
        "merge_order": m.merge_order,
        "ages": None if live is None else _ages(live, now),
    }


def remembered_standing(m: ClusterMemory) -> str:
    """Where a cluster stood when it was last looked at, in the words of the rollout."""
    if m.skipped is not None:
        return "skipped"
    if m.failure is not None:
        return "failed"
    if m.out:
        return "passed"
    return "in flight" if m.started is not None else "not started"


def _ages(live: LiveCluster, now: datetime) -> JsonObject:
    """How old each fact is, in seconds; a fact that could not be read says why, and since when."""
    found: JsonObject = {}
    for name in (f.name for f in fields(live)):
        match getattr(live, name):
            case Known(_, at):
                found[name] = max(0.0, (now - at).total_seconds())
            case Unknown(reason, since):
                found[name] = {"unknown": reason, "since": _at(since)}
    return found


def _act(act: Act) -> JsonObject:
    return {"at": _at(act.at), "who": act.who, "what": act.what, "why": act.why}


def _at(when: datetime | None) -> str | None:
    return None if when is None else when.isoformat(timespec="seconds")


# ---------------------------------------------------------------------------------------------------------- text


def status_text(told: JsonObject, now: datetime) -> Iterator[Line]:
    """The same for people; `told` is what `status_json` gave."""
    for line in _lines(told, now):
        yield Line(one_line(line.text), line.tone)


def _lines(told: JsonObject, now: datetime) -> Iterator[Line]:
    since = told["remembered_at"]
    yield Line(f"remembered {_ago(since, now)}" if since else "nothing is remembered yet", Tone.DIM)
    if halt := told["halt"]:
        yield Line(f"halted {_ago(halt['since'], now)}: {halt['reason']}", Tone.BAD)
        names = halt["clusters"]
        have = f"{', '.join(names)} {'has' if len(names) == 1 else 'have'}"
        yield Line(f"    it ends when {have} passed with newer content, or: gitops-mc release --all")
    for wave in told["waves"]:
        yield Line(_wave(wave, now), Tone.HEAD)
        for cluster in told["clusters"]:
            if cluster["wave"] == wave["wave"]:
                yield from _cluster_lines(cluster, now)
    housed = {wave["wave"] for wave in told["waves"]}
    for cluster in told["clusters"]:
        if cluster["wave"] not in housed:
            yield from _cluster_lines(cluster, now)
    for act in told["acts"][-_SHOWN_ACTS:]:
        why = f": {act['why']}" if act["why"] else ""
        yield Line(f"act: {act['at']} {act['who']}: {act['what']}{why}", Tone.DIM)
    if outlook := told["outlook"]:
        said = {halt["reason"]} if halt else set()
        for reason in (r for r in outlook["reasons"] if r not in said):
            yield Line(
                f"{outlook['state']}: {reason}", Tone.GOOD if outlook["state"] == "done" else Tone.WARN
            )
        for act in outlook["acts"] if not halt else ():
            if act != APPLY:
                yield Line(f"    {act}")
    if told["pending"] and told["driver"] == Driver.NOBODY:
        yield Line(UNDRIVEN, Tone.WARN)


def _wave(wave: JsonObject, now: datetime) -> str:
    parts = [wave["state"] or "", "approved" if wave["approved"] else "", wave["reason"]]
    if wave["soak_since"] and not wave["soak_left"]:
        parts.append(f"soak began {_ago(wave['soak_since'], now)}")
    return f"wave {wave['wave']}: " + (", ".join(p for p in parts if p) or "nothing remembered")


def _cluster_lines(c: JsonObject, now: datetime) -> Iterator[Line]:
    reason = f": {c['reason']}" if c["reason"] not in {"", c["standing"]} and not c["failure"] else ""
    yield Line(f"  {c['cluster']}: {c['standing']}{reason}", _TONES.get(c["standing"], Tone.WARN))
    for word in ("started", "passed"):
        if c[word]["content"]:
            yield Line(f"      {word} {_content(c[word])} {_ago(c[word]['at'], now)}", Tone.DIM)
    yield from (Line(f"      {text}", tone) for text, tone in _remarks(c, now))


def _remarks(c: JsonObject, now: datetime) -> Iterator[tuple[str, Tone]]:
    if failure := c["failure"]:
        yield f"held since {_ago(failure['at'], now)}: {failure['reason']}", Tone.BAD
        yield (
            f"gitops-mc release {c['cluster']}, or newer content that changes {', '.join(s.replace(':', ' ', 1) for s in failure['subjects'])}",
            Tone.PLAIN,
        )
    if step := c["step"]:
        yield f"at {title_of(step['step'])} since {_ago(step['since'], now)}", Tone.WARN
    for gate in c["gates"] or ():
        if gate["state"] not in {"open", "failed"} and gate["reason"] not in c["reason"]:
            yield (
                f"{gate['gate']}: {gate['state']}: {gate['reason']}",
                Tone.BAD if gate["state"] == "failed" else Tone.WARN,
            )
    for excuse in c["excused"]:
        end = "ended" if excuse["ended"] else "until"
        yield f"node {excuse['node']} excused, {end} {excuse['until']}: {excuse['reason']}", Tone.WARN
    for word in ("accepted", "acceptable"):
        if c[word]:
            yield f"{word}: {', '.join(c[word])}", Tone.WARN
    if c["skipped"]:
        yield f"skipped for content {c['skipped'][:12]}", Tone.WARN
    if c["dark_since"]:
        yield f"does not answer since {_ago(c['dark_since'], now)}", Tone.BAD
    if ages := c["ages"]:
        known = [age for age in ages.values() if isinstance(age, float)]
        failed = {n: age["unknown"] for n, age in ages.items() if not isinstance(age, float)}
        unknown = [f"{n} ({why})" for n, why in failed.items() if n not in _ON_DEMAND or why != _NOT_ASKED]
        if known:
            yield f"facts up to {max(known):.0f} s old", Tone.DIM
        if unknown:
            yield f"not read: {', '.join(unknown)}", Tone.WARN


def _content(part: Mapping[str, Any]) -> str:
    commit = Commit(part["commit"] or "")
    return f"{part['content'][:12]}" + (f" (commit {commit[:12]})" if commit else "")


def _ago(when: str | None, now: datetime) -> str:
    if when is None:
        return "at a time nobody knows"
    return f"{when} ({duration(max(now - datetime.fromisoformat(when), now - now))} ago)"
