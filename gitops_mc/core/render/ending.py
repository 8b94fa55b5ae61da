"""The first and the last event of a rollout by hand: what is about to be done, and what has become of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum

from gitops_mc.core.model import JsonObject, count
from gitops_mc.core.render.events import Event
from gitops_mc.core.render.lines import Line, Tone, one_line
from gitops_mc.core.render.plan_words import totals
from gitops_mc.core.rollout.preview import FleetPreview


class Outcome(StrEnum):
    """How it ended."""

    DONE = "done"
    PROBLEMS = "problems"
    """Done for the clusters without problems."""
    HALTED = "halted"
    HELD = "held"
    """A human has to act."""
    INTERRUPTED = "interrupted"


_TONES = {Outcome.DONE: Tone.GOOD, Outcome.HALTED: Tone.BAD}
_HEADS = {
    Outcome.DONE: "done",
    Outcome.PROBLEMS: "done, but for clusters with problems in the repository",
    Outcome.HALTED: "halted",
    Outcome.HELD: "held: somebody has to act",
    Outcome.INTERRUPTED: "interrupted; nothing more was begun, and what stands is remembered",
}


def event_of_plan(found: FleetPreview, at: datetime) -> Event:
    """What is about to be done."""
    fields: JsonObject = {
        "digest": found.digest,
        "commit": found.commit,
        "clusters": len(found.clusters),
        "changing": [c.name for c in found.clusters if c.changes],
        "reboots": sum(c.rebooting for c in found.clusters),
    }
    return Event(at, "plan", fields, totals(found))


def event_of_end(
    at: datetime,
    outcome: Outcome,
    code: int,
    reasons: Sequence[str],
    *,
    acts: Sequence[str] = (),
    open_steps: Sequence[str] = (),
) -> Event:
    """What has become of it."""
    fields: JsonObject = {
        "outcome": outcome.value,
        "exit_code": code,
        "reasons": list(reasons),
        "acts": list(acts),
        "open_steps": list(open_steps),
    }
    return Event(at, "end", fields, _HEADS[outcome], _TONES.get(outcome, Tone.WARN))


def lines_of_end(event: Event) -> tuple[Line, ...]:
    """The end for people: what, why, and what to do."""
    fields = event.fields
    found = [event.line()]
    found += [Line(one_line(f"  {reason}"), event.tone) for reason in fields["reasons"]]
    if fields["open_steps"]:
        found.append(Line(f"  {count(len(fields['open_steps']), 'step')} open:", Tone.WARN))
        found += [Line(f"    {step}") for step in fields["open_steps"]]
    if fields["acts"]:
        found.append(Line("  what helps:", Tone.HEAD))
        found += [Line(f"    {act}") for act in fields["acts"]]
    return tuple(found)
