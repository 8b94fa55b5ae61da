"""What somebody asks of a controller, as the annotation that asks for it, and what a Fleet's history says has become of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import yaml

from gitops_mc.core.custom.requests import LONGEST, PREFIX, Verb, refusal
from gitops_mc.core.errors import UsageError

_ACT_OF: Final = {Verb.UNSKIP: Verb.SKIP, Verb.UNEXCUSE: Verb.EXCUSE}
"""Verbs that the history shows as the other one, taken back."""
_UNWRITTEN: Final = (Verb.SYNC,)
"""Verbs that leave nothing in the history."""
_NO_FOLD: Final = 10 * LONGEST


@dataclass(frozen=True, slots=True)
class Wish:
    """One request. `cluster` names the ClusterRollout that carries it; empty: the Fleet does."""

    verb: Verb
    by: str
    reason: str = ""
    cluster: str = ""
    members: Mapping[str, str] = field(default_factory=dict)

    @property
    def annotation(self) -> str:
        return f"{PREFIX}{self.verb.value}"

    @property
    def value(self) -> str:
        """A YAML flow mapping: `{wave: rest, reason: looked at the canary, by: mei}`. Raises UsageError where it is too long."""
        said = {**self.members, **({"reason": self.reason} if self.reason else {}), "by": self.by}
        text = yaml.safe_dump(
            said, default_flow_style=True, allow_unicode=True, width=_NO_FOLD, sort_keys=False
        ).strip()
        if len(text) > LONGEST:
            raise UsageError(f"the request has {len(text)} characters, at most {LONGEST} are read")
        return text

    @property
    def title(self) -> str:
        """For people: `approve wave rest`, `excuse n1 on edge-1`, `suspend`."""
        about = [f"wave {self.members['wave']}"] if "wave" in self.members else []
        about += [self.members[name] for name in ("node", "id") if name in self.members]
        where = f"on {self.cluster}" if about and self.cluster else self.cluster
        return " ".join((self.verb.value, *about, *([where] if where else [])))


@dataclass(frozen=True, slots=True)
class CarriedOut:
    """With the acts that the history shows of it."""

    acts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Refused:
    """The controller did not carry it out, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class TakenBack:
    """It stands there no more, and nothing has become of it: somebody took it off, or wrote over it, before it was looked at."""


Answer: TypeAlias = CarriedOut | Refused | TakenBack


def acts_since(
    before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]
) -> tuple[Mapping[str, Any], ...]:
    """What a history shows that an earlier look at it did not. Old acts fall out of it at its beginning."""
    if not before:
        return tuple(after)
    last = next((n for n in range(len(after), 0, -1) if after[n - 1] == before[-1]), 0)
    return tuple(after[last:])


def answer_to(wish: Wish, acts: Sequence[Mapping[str, Any]]) -> Answer:
    """What has become of a wish that is not on its object any more; `acts` are those since it was made. What was carried out, and
    then met again by a process that had to begin anew, has been carried out.
    """
    done = tuple(str(act.get("what") or "") for act in acts if _is_of(act, wish))
    refused = [act for act in acts if act.get("what") == refusal(wish.annotation, wish.cluster)]
    if refused and not done:
        return Refused(str(refused[-1].get("why") or "no reason is told"))
    if done or wish.verb in _UNWRITTEN:
        return CarriedOut(done)
    return TakenBack()


def _is_of(act: Mapping[str, Any], wish: Wish) -> bool:
    if act.get("who") != wish.by:
        return False
    word, *about = str(act.get("what") or "").split()
    return word == _ACT_OF.get(wish.verb, wish.verb).value and all(name in about for name in _names(wish))


def _names(wish: Wish) -> Iterator[str]:
    if wish.cluster:
        yield wish.cluster
    yield from (wish.members[name] for name in ("wave", "node", "id") if name in wish.members)
