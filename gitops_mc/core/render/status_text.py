"""How things stand, for people: what `status_json` tells, wave by wave."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from gitops_mc.core.model import Commit, JsonObject
from gitops_mc.core.plan import title_of
from gitops_mc.core.render.lines import Line, Tone, one_line
from gitops_mc.core.render.plan_words import duration
from gitops_mc.core.render.status_json import APPLY
from gitops_mc.core.rollout.driver import UNDRIVEN, Driver

_TONES = {
    "passed": Tone.GOOD,
    "failed": Tone.BAD,
    "blocked": Tone.BAD,
    "problems": Tone.BAD,
    "unreachable": Tone.BAD,
}
_ALLOWED = {"hurried": "waits for no healthy rolling with", "overridden": "windows do not count for"}
_SHOWN_ACTS = 10
_ON_DEMAND = ("components", "releases", "rendered")
"""Facts that are read only where something needs them; they are missed only when they were asked for."""
_NOT_ASKED = "not read yet"


def status_text(told: JsonObject, now: datetime) -> Iterator[Line]:
    """`told` is what `status_json` gave."""
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
    said = (
        c["reason"]
        if c["window"] is None
        else c["reason"].replace(c["window"]["reason"], c["window"]["told"])
    )
    reason = f": {said}" if said not in {"", c["standing"]} and not c["failure"] else ""
    yield Line(f"  {c['cluster']}: {c['standing']}{reason}", _TONES.get(c["standing"], Tone.WARN))
    for word in ("started", "passed"):
        if c[word]["content"]:
            yield Line(f"      {word} {_content(c[word])} {_ago(c[word]['at'], now)}", Tone.DIM)
    yield from (Line(f"      {text}", tone) for text, tone in _remarks(c, now))


def _of_failure(c: JsonObject, now: datetime) -> Iterator[tuple[str, Tone]]:
    """What is held, and why."""
    if failure := c["failure"]:
        repair = "" if c["window"] is None else f"; newer content: {c['window']['told']}"
        yield f"held since {_ago(failure['at'], now)}: {failure['reason']}{repair}", Tone.BAD
        yield (
            f"gitops-mc release {c['cluster']}, or newer content that changes {', '.join(s.replace(':', ' ', 1) for s in failure['subjects'])}",
            Tone.PLAIN,
        )
    if (back := c["rollback"]) and not c["failure"]:
        yield f"rolled back from {_content(back['held'])}, held: {back['held']['reason']}", Tone.BAD
        subjects = ", ".join(s.replace(":", " ", 1) for s in back["held"]["subjects"])
        yield f"gitops-mc retry {c['cluster']}, or newer content that changes {subjects}", Tone.PLAIN
    if c["retrying"]:
        yield "tries once more what failed, through the halt", Tone.WARN


def _allowed(c: JsonObject) -> Iterator[tuple[str, Tone]]:
    """What somebody allows one content."""
    for word, told in _ALLOWED.items():
        if leave := c[word]:
            why = f": {leave['reason']}" if leave["reason"] else ""
            yield f"{told} content {leave['content'][:12]} ({leave['by']}{why})", Tone.WARN


def _remarks(c: JsonObject, now: datetime) -> Iterator[tuple[str, Tone]]:
    yield from _of_failure(c, now)
    if step := c["step"]:
        yield f"at {title_of(step['step'])} since {_ago(step['since'], now)}", Tone.WARN
    for gate in c["gates"] or ():
        if gate["state"] not in {"open", "failed"} and gate["reason"] not in c["reason"]:
            yield f"{gate['gate']}: {gate['state']}: {gate['reason']}", Tone.WARN
    for excuse in c["excused"]:
        end = "ended" if excuse["ended"] else "until"
        yield f"node {excuse['node']} excused, {end} {excuse['until']}: {excuse['reason']}", Tone.WARN
    for word in ("accepted", "acceptable"):
        if c[word]:
            yield f"{word}: {', '.join(c[word])}", Tone.WARN
    if c["skipped"]:
        yield f"skipped for content {c['skipped'][:12]}", Tone.WARN
    yield from _allowed(c)
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
