"""What of all that happens is sent to people, under which topic, and how it reads. One message has everything of some seconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from typing import Final

from gitops_mc.core.custom.fleet_spec import Topic
from gitops_mc.core.model import digest_of
from gitops_mc.core.render.fleet_commands import FleetCommands
from gitops_mc.core.render.happening import Happening, Reason
from gitops_mc.core.render.lines import one_line

LONGEST_TITLE: Final = 120
LONGEST_LINE: Final = 600
MOST_LINES: Final = 20
"""Characters and lines; chat services cut off, or refuse, what is much longer than all of it together."""
_SHORT: Final = 12


class Mood(IntEnum):
    """How bad it is; services colour a message by it."""

    GOOD = 0
    PLAIN = 1
    WARNING = 2
    FAILURE = 3


SENT: Final[Mapping[Reason, tuple[Topic, Mood]]] = {
    Reason.HALTED: (Topic.HALTED, Mood.FAILURE),
    Reason.HALT_LIFTED: (Topic.HALTED, Mood.GOOD),
    Reason.ROLLOUT_HELD: (Topic.HALTED, Mood.WARNING),
    Reason.CLUSTER_FAILED: (Topic.DEGRADED, Mood.FAILURE),
    Reason.ROLLED_BACK: (Topic.DEGRADED, Mood.FAILURE),
    Reason.NEEDS_HANDS: (Topic.DEGRADED, Mood.FAILURE),
    Reason.CLUSTER_BLOCKED: (Topic.DEGRADED, Mood.WARNING),
    Reason.CLUSTER_UNREACHABLE: (Topic.DEGRADED, Mood.WARNING),
    Reason.CLUSTER_PROBLEMS: (Topic.DEGRADED, Mood.WARNING),
    Reason.FAULT: (Topic.DEGRADED, Mood.FAILURE),
    Reason.FAULT_OVER: (Topic.DEGRADED, Mood.GOOD),
    Reason.REVISION_REFUSED: (Topic.DEGRADED, Mood.WARNING),
    Reason.POLL_FAILED: (Topic.DEGRADED, Mood.WARNING),
    Reason.POLL_RECOVERED: (Topic.DEGRADED, Mood.GOOD),
    Reason.CLUSTER_NEEDS_APPROVAL: (Topic.APPROVAL, Mood.WARNING),
    Reason.WAVE_NEEDS_APPROVAL: (Topic.APPROVAL, Mood.WARNING),
    Reason.ROLLOUT_DONE: (Topic.FINISHED, Mood.GOOD),
    Reason.CREDENTIAL_EXPIRES: (Topic.EXPIRING, Mood.WARNING),
}
"""Everything that is sent; the rest is in Events and in the log."""

_SUBJECTS: Final[Mapping[Reason, str]] = {
    Reason.HALTED: "halt",
    Reason.HALT_LIFTED: "halt",
    Reason.FAULT: "fault",
    Reason.FAULT_OVER: "fault",
    Reason.REVISION_FOUND: "source",
    Reason.REVISION_REFUSED: "source",
    Reason.POLL_FAILED: "source",
    Reason.POLL_RECOVERED: "source",
    Reason.ROLLOUT_DONE: "rollout",
    Reason.ROLLOUT_HELD: "rollout",
    Reason.DRIFT_FOUND: "drift",
    Reason.DRIFT_GONE: "drift",
    Reason.NEEDS_HANDS: "hands",
    Reason.ROLLED_BACK: "rollback",
    Reason.STEP_STARTED: "step",
    Reason.WINDOW_AWAITED: "window",
}
"""What one thing ends and another begins: of a wave, and of the standing of a cluster, it is all the others."""


@dataclass(frozen=True, slots=True)
class Notice:
    """One thing that is sent. Its text is not redacted yet."""

    topic: Topic
    mood: Mood
    text: str
    at: datetime
    subject: str
    """What it is about, as a digest: the next thing about the same takes its place."""
    key: str
    """A digest: the same for the same thing, said by another process."""


def subject(happening: Happening) -> str:
    """What it is about: of a cluster its standing, or what stands beside that; a wave; the halt of a fleet, and so on."""
    group = _SUBJECTS.get(happening.reason, "")
    if happening.subject:
        group = f"{happening.reason.word}/{happening.subject}"
    elif not happening.cluster and not happening.wave:
        group = group or happening.reason.word
    return _subject(happening.cluster, "" if happening.cluster else happening.wave, group)


def ends(happening: Happening) -> frozenset[str]:
    """Subjects of what does not stand any more once this has happened: the same thing again would be news."""
    found = {subject(happening)}
    if (
        happening.cluster and happening.reason not in _SUBJECTS
    ):  # its standing, and all that hung on the one before
        found |= {_subject(happening.cluster, "", group) for group in _OF_A_STANDING}
    if happening.reason is Reason.CLUSTER_STARTED:
        found.add(_subject("", "", _SUBJECTS[Reason.ROLLOUT_DONE]))
    return frozenset(found)


_OF_A_STANDING: Final = tuple(_SUBJECTS[r] for r in (Reason.NEEDS_HANDS, Reason.ROLLED_BACK))


def _subject(cluster: str, wave: str, group: str) -> str:
    return digest_of([cluster, wave, group])[:_SHORT]


def notice(happening: Happening, at: datetime) -> Notice | None:
    """What is sent of it, if anything."""
    if happening.reason not in SENT:
        return None
    topic, mood = SENT[happening.reason]
    cluster, text = happening.cluster, happening.text
    told = f"{cluster}: {text}" if cluster and not text.startswith(cluster) else text
    about = subject(happening)
    return Notice(topic, mood, told, at, about, digest_of([happening.reason.word, about, told])[:_SHORT])


@dataclass(frozen=True, slots=True)
class Message:
    """What is sent: plain text."""

    title: str
    body: str
    mood: Mood


def message(fleet: str, found: Sequence[Notice], dropped: int = 0) -> Message:
    """All of it in one message, the worst first; `fleet`: `<namespace>/<name>`; `dropped`: how many are not among them. The texts
    are redacted already.
    """
    namespace, _, name = fleet.rpartition("/")
    commands = FleetCommands(name, namespace)
    worst = sorted(found, key=lambda n: -n.mood)
    lines = [f"- {_cut(one_line(n.text), LONGEST_LINE)}" for n in worst[:MOST_LINES]]
    if more := len(worst) - len(lines) + dropped:
        lines.append(f"and {more} more")
    more_than_one = f" (and {len(worst) - 1} more)" if len(worst) > 1 else ""
    title = _cut(f"{name}: {one_line(worst[0].text)}", LONGEST_TITLE - len(more_than_one)) + more_than_one
    look = f"gitops-mc status {commands.options}"
    return Message(title, "\n".join([*lines, f"look: {look}"]), worst[0].mood)


def trial(fleet: str, destination: str) -> Message:
    """What shows that a destination is reached."""
    name = fleet.rpartition("/")[2]
    title = f"{name}: a test of gitops-mc"
    return Message(title, f"- {destination} of Fleet {fleet} is reached; nothing has happened", Mood.PLAIN)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 3]}..."
