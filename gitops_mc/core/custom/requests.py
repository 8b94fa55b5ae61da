"""What humans ask of the controller, once: annotations `gitops-mc.io/<verb>` on a Fleet or a ClusterRollout.

The value is a reason in plain words, or, where the verb needs more, a YAML mapping: `{node: n1, for: 2h, reason: broken disk}`.
A request is carried out once, and then taken off; whatever becomes of it is kept in the Fleet's history.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from typing import Final

import yaml

from gitops_mc.core.model import (
    ADOPT_ANNOTATION,
    APPLIED_ANNOTATION,
    DOWNGRADE_ANNOTATION,
    FLEET_LABEL,
    PRUNE_ANNOTATION,
    JsonObject,
    annotations_of,
)

PREFIX: Final = "gitops-mc.io/"
SOMEBODY: Final = "somebody with kubectl"
"""Who asks where nobody is named; the API server's audit log knows."""
LONGEST: Final = 4_000
"""Characters of a value that are read."""
_LONGEST_MEMBERS: Final = {"reason": 1_024, "by": 253, "node": 253, "id": 512}
"""Characters of a member that an object can keep: a longer one could be carried out, and never be remembered."""


_NO_REQUESTS: Final = frozenset(
    {ADOPT_ANNOTATION, APPLIED_ANNOTATION, DOWNGRADE_ANNOTATION, FLEET_LABEL, PRUNE_ANNOTATION}
)
"""Annotations of manifests: whoever gives them to all that he deploys means no request."""


class Verb(StrEnum):
    """What can be asked for."""

    APPROVE = "approve"
    HOLD = "hold"
    RELEASE = "release"
    RETRY = "retry"
    SKIP = "skip"
    UNSKIP = "unskip"
    EXCUSE = "excuse"
    UNEXCUSE = "unexcuse"
    ACCEPT = "accept"
    SUSPEND = "suspend"
    RESUME = "resume"
    ABORT = "abort"
    SYNC = "sync"
    ROLLBACK = "rollback"
    FORGET = "forget"
    TAKEOVER = "takeover"
    NOW = "now"
    OVERRIDE_WINDOW = "override-window"


SPREAD: Final = frozenset(PREFIX + verb.value for verb in (Verb.RELEASE, Verb.ROLLBACK, Verb.OVERRIDE_WINDOW))
"""Requests whose effect, asked for on a Fleet, stands with its clusters: over only once all of those are kept."""


ORDER: Final = (
    Verb.APPROVE,
    Verb.ACCEPT,
    Verb.SYNC,
    Verb.NOW,
    Verb.OVERRIDE_WINDOW,
    Verb.RESUME,
    Verb.RELEASE,
    Verb.RETRY,
    Verb.SKIP,
    Verb.EXCUSE,
    Verb.UNSKIP,
    Verb.UNEXCUSE,
    Verb.ROLLBACK,
    Verb.HOLD,
    Verb.TAKEOVER,
    Verb.SUSPEND,
    Verb.ABORT,
    Verb.FORGET,
)
"""In which order the requests of one object are carried out. Nothing tells which of two was asked for first; of those that undo each
other the one that stops, or counts again, comes last, so that it stands.
"""


_OPPOSITES: Final = (
    (Verb.RESUME, Verb.ABORT),
    (Verb.RESUME, Verb.SUSPEND),
    (Verb.RELEASE, Verb.HOLD),
    (Verb.RETRY, Verb.ROLLBACK),
    (Verb.SKIP, Verb.UNSKIP),
)


def undone(verb: Verb) -> frozenset[str]:
    """Annotations of requests that a newer one for the same object makes void. Who asks takes them off, for he knows which is newer."""
    pairs = (*_OPPOSITES, *((b, a) for a, b in _OPPOSITES))
    return frozenset(PREFIX + other.value for one, other in pairs if one is verb)


class On(StrEnum):
    """Which object carries a request."""

    FLEET = "Fleet"
    ROLLOUT = "ClusterRollout"


@dataclass(frozen=True, slots=True)
class Form:
    """Where a verb may be asked for, and which members its mapping must and may have beside `reason` and `by`."""

    on: tuple[On, ...]
    needs: tuple[str, ...] = ()
    may: tuple[str, ...] = ()


_SWITCHES: Final = ("letFinish",)
_BOTH: Final = (On.FLEET, On.ROLLOUT)
FORMS: Final[Mapping[Verb, Form]] = {
    Verb.APPROVE: Form(_BOTH, may=("wave", "seen")),
    Verb.HOLD: Form((On.ROLLOUT,)),
    Verb.RELEASE: Form(_BOTH),
    Verb.RETRY: Form((On.ROLLOUT,)),
    Verb.SKIP: Form((On.ROLLOUT,)),
    Verb.UNSKIP: Form((On.ROLLOUT,)),
    Verb.EXCUSE: Form((On.ROLLOUT,), needs=("node", "for")),
    Verb.UNEXCUSE: Form((On.ROLLOUT,), needs=("node",)),
    Verb.ACCEPT: Form((On.ROLLOUT,), needs=("id",)),
    Verb.SUSPEND: Form((On.FLEET,)),
    Verb.RESUME: Form((On.FLEET,)),
    Verb.ABORT: Form((On.FLEET,), may=("letFinish",)),
    Verb.SYNC: Form((On.FLEET,)),
    Verb.ROLLBACK: Form(_BOTH),
    Verb.FORGET: Form((On.ROLLOUT,)),
    Verb.TAKEOVER: Form((On.FLEET,)),
    Verb.NOW: Form((On.ROLLOUT,)),
    Verb.OVERRIDE_WINDOW: Form(_BOTH),
}


@dataclass(frozen=True, slots=True)
class Request:
    """One wish, understood. `annotation` is what has to be taken off with it, and its value then."""

    verb: Verb
    reason: str
    by: str
    annotation: str
    value: str
    members: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Misunderstood:
    """One that says something else than a verb takes; it is taken off, and the reason is shown."""

    annotation: str
    value: str
    reason: str
    by: str = SOMEBODY


@dataclass(frozen=True, slots=True)
class Unknown:
    """An annotation of ours by its prefix, and no verb: it may be somebody's for some other end, so it stays; and it is told once, for
    it may be a verb that was misspelt.
    """

    annotation: str
    value: str
    by: str
    reason: str


def unknown_on(body: JsonObject, on: On) -> tuple[Unknown, ...]:
    """What an object carries under our prefix that nobody carries out, by name."""
    found = sorted((name, value) for name, value in annotations_of(body).items() if name.startswith(PREFIX))
    return tuple(
        Unknown(
            name,
            value,
            _who(_said(value)),
            f"{name.removeprefix(PREFIX)} is no verb, so it stays and nothing comes of it{_meant(name, on)}",
        )
        for name, value in found
        if name not in _NO_REQUESTS and name.removeprefix(PREFIX) not in {verb.value for verb in Verb}
    )


def _meant(annotation: str, on: On) -> str:
    """The verb that may be meant; else those that there are."""
    verbs = sorted(verb.value for verb, form in FORMS.items() if on in form.on)
    word = annotation.removeprefix(PREFIX).lower().replace("_", "-")
    close = get_close_matches(word, [verb.value for verb in Verb], n=1)
    return f"; did you mean {PREFIX}{close[0]}?" if close else f"; verbs on a {on.value}: {', '.join(verbs)}"


def requests_on(body: JsonObject, on: On) -> tuple[Request | Misunderstood, ...]:
    """Every request that an object carries, in ORDER. Annotations that are no verbs are somebody else's."""
    asked = annotations_of(body)
    found = ((verb, PREFIX + verb.value) for verb in ORDER if PREFIX + verb.value in asked)
    return tuple(_read(verb, name, asked[name], on) for verb, name in found)


def _read(verb: Verb, annotation: str, value: str, on: On) -> Request | Misunderstood:
    form = FORMS[verb]
    members = _members(value)
    if on not in form.on:
        told = f"{verb.value} is asked for on a {' or a '.join(form.on)}, not on a {on.value}"
        return Misunderstood(annotation, value, told, _who(_said(value)))
    if isinstance(members, str):
        return Misunderstood(annotation, value, members)
    who = _who(members)
    known = {*form.needs, *form.may, "reason", "by"}
    problems = [f"{name} is not known here" for name in members if name not in known]
    problems += [f"{name} is missing" for name in form.needs if not members.get(name)]
    problems += [
        f"{n} is {members[n]!r}: write true or false" for n in _SWITCHES if _is_no_switch(members.get(n))
    ]
    too_long = [(name, most) for name, most in _LONGEST_MEMBERS.items() if len(members.get(name, "")) > most]
    if too_long:
        told = "; ".join(
            f"{name} has {len(members[name])} characters, at most {most}" for name, most in too_long
        )
        return Misunderstood(annotation, value, told, who)
    if problems:
        example = ", ".join(f"{name}: ..." for name in (*form.needs, *form.may, "reason"))
        return Misunderstood(annotation, value, f"{'; '.join(problems)}; write {{{example}}}", who)
    said = {name: text for name, text in members.items() if name not in {"reason", "by"}}
    return Request(verb, members.get("reason", ""), who, annotation, value, said)


def _is_no_switch(said: str | None) -> bool:
    """Whatever else it may mean, `yes` for leaving nodes to finish is not to be read as no."""
    return said not in {None, "true", "false"}


def _said(value: str) -> Mapping[str, str]:
    """The members, none where they cannot be read."""
    members = _members(value)
    return {} if isinstance(members, str) else members


def _who(members: Mapping[str, str]) -> str:
    """Whoever asks; a name that no object can keep is none."""
    by = members.get("by", "")
    return by if 0 < len(by) <= _LONGEST_MEMBERS["by"] else SOMEBODY


def _members(value: str) -> Mapping[str, str] | str:
    """The members of a mapping; a value that is none is the reason. A string tells what is wrong."""
    text = value.strip()
    if len(text) > LONGEST:
        return f"its value has {len(text)} characters, at most {LONGEST} are read"
    if not text.startswith("{"):
        return {"reason": text}
    try:
        found = yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506 - the base loader makes strings, lists and maps alone
    except (yaml.YAMLError, ValueError, RecursionError):
        return "its value is no YAML mapping"
    if not isinstance(found, dict) or not all(
        isinstance(word, str) for pair in found.items() for word in pair
    ):
        return "its value is no mapping of words"
    if not all(_is_text(word) for pair in found.items() for word in pair):
        return "its value has characters that stand in no text (half of a pair, from an escape)"
    return found


def _is_text(word: str) -> bool:
    """Whether it can be kept in an object: YAML lets halves of a pair of characters through, which no UTF-8 has."""
    try:
        word.encode()
    except UnicodeEncodeError:
        return False
    return True


def refusal(annotation: str, cluster: str) -> str:
    """What the history says of a request that was refused, on the object of a cluster (`""`: the Fleet's)."""
    return f"not carried out: {annotation}{f' on {cluster}' if cluster else ''}"
