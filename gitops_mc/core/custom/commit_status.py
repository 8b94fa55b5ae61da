"""What a forge shows beside a commit of the fleet's repository: made from what a pass decided, or from why a commit is not followed.

A forge shows it to whoever may read the repository, so every text goes through `told` before it is cut to its length: half of
what is sensitive would not be known again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, assert_never

from gitops_mc.core.model import Commit, count
from gitops_mc.core.render.lines import one_line
from gitops_mc.core.rollout.moves import (
    ClusterView,
    Decision,
    Done,
    Halted,
    Hold,
    Standing,
    Wait,
    WaveState,
    said_of_wave,
)

LONGEST_DESCRIPTION: Final = 140
"""Characters. GitHub takes no more; GitLab takes 255, Gitea and Forgejo as many as one likes."""
_LASTING: Final = "on its way, or waiting for somebody; gitops-mc status tells"
_SHORT: Final = 12
_CUT: Final = "…"

Told = Callable[[str], str]
"""A text as it is shown: without what is sensitive, and with commands as they are typed for this Fleet."""


class CommitState(StrEnum):
    """In GitHub's words, which Gitea and Forgejo share."""

    PENDING = "pending"
    """On its way, or waiting for somebody."""
    SUCCESS = "success"
    FAILURE = "failure"
    """It failed somewhere, or is not followed."""
    ERROR = "error"
    """It came to no end: another commit took over before."""


@dataclass(frozen=True, slots=True)
class CommitStatus:
    """One status of one commit. `context` tells it from those of others: a later one with the same context takes its place."""

    state: CommitState
    context: str
    description: str
    lasting: str = ""
    """What stays true for as long as it is pending: for a forge that takes no other description before the state changes."""
    target_url: str = ""
    """Where somebody who wants to know more is led to; empty: nowhere."""

    def __post_init__(self) -> None:
        if len(self.description) > LONGEST_DESCRIPTION or len(self.lasting) > LONGEST_DESCRIPTION:
            raise ValueError(f"a description has at most {LONGEST_DESCRIPTION} characters")

    @classmethod
    def read(cls, state: CommitState, context: str, description: str) -> CommitStatus:
        """One that was read of a forge, whoever wrote its description."""
        return cls(state, context, _cut(description))

    def says(self, other: CommitStatus) -> bool:
        """Whether both say the same."""
        return (self.state, self.description) == (other.state, other.description)


def context_of(fleet: str) -> str:
    """Of a Fleet, by name."""
    return f"gitops-mc/{fleet}"


def of_decision(decision: Decision, fleet: str, told: Told) -> CommitStatus:
    """How the rollout of the commit that is followed stands."""
    state, text = _said(decision)
    return _status(state, fleet, text, told)


def of_refusal(why: str, fleet: str, told: Told) -> CommitStatus:
    """Of a commit that is not followed, and never was. `why`: what is said of it, without naming it."""
    return _status(CommitState.FAILURE, fleet, f"this commit {why}", told)


def of_superseded(by: Commit, fleet: str) -> CommitStatus:
    """Of a commit that was pending when another one took over."""
    text = f"commit {by[:_SHORT]} took over before every cluster had this one"
    return _status(CommitState.ERROR, fleet, text, str)


def _said(decision: Decision) -> tuple[CommitState, str]:
    """A halt first, then what nothing but another commit can mend, then what waits for somebody, then how far it is."""
    passed = _passed(decision)
    outlook = decision.outlook
    broken = _of(decision, Standing.PROBLEMS)
    failed = _of(decision, Standing.FAILED)
    if isinstance(outlook, Halted):
        why = f"{_first(failed)} failed: {failed[0].reason}" if failed else outlook.reason
        return CommitState.FAILURE, f"halted, {why}"
    if broken:
        return CommitState.FAILURE, f"{_first(broken)} has problems in Git, {passed}: {broken[0].reason}"
    match outlook:
        case Done():
            return CommitState.SUCCESS, passed
        case Hold() if failed:
            return CommitState.FAILURE, f"{_first(failed)} failed: {failed[0].reason}"
        case Hold():
            return CommitState.PENDING, f"{passed}; {_awaited(decision, outlook)}"
        case Wait():
            return CommitState.PENDING, f"{passed}{_going_on(decision)}"
        case _:
            assert_never(outlook)


def _awaited(decision: Decision, outlook: Hold) -> str:
    waves = [w.wave for w in decision.waves if w.state is WaveState.NEEDS_APPROVAL]
    clusters = _of(decision, Standing.APPROVAL)
    if waves:
        return f"waits for approval of wave {waves[0]}"
    if clusters:
        return f"waits for approval of {_first(clusters)}"
    return f"needs somebody: {'; '.join(outlook.reasons)}"


def _going_on(decision: Decision) -> str:
    """No reason of a cluster: it changes with every look, and a forge takes only so many statuses of a commit."""
    failed = len(_of(decision, Standing.FAILED))
    wave = next((w for w in decision.waves if w.state is not WaveState.DONE), None)
    parts = (
        f"; {failed} failed" if failed else "",
        f"; {said_of_wave(wave.wave, wave.state)}" if wave is not None else "",
    )
    return "".join(parts)


def _passed(decision: Decision) -> str:
    here = [c for c in decision.clusters if c.standing is not Standing.GONE]
    passed = sum(1 for c in here if c.standing is Standing.PASSED)
    return f"{passed} of {count(len(here), 'cluster')} {'has' if len(here) == 1 else 'have'} it"


def _of(decision: Decision, standing: Standing) -> list[ClusterView]:
    return [c for c in decision.clusters if c.standing is standing]


def _first(clusters: list[ClusterView]) -> str:
    more = len(clusters) - 1
    return f"{clusters[0].cluster}{f' and {more} more' if more else ''}"


def _status(state: CommitState, fleet: str, text: str, told: Told) -> CommitStatus:
    return CommitStatus(state, context_of(fleet), _cut(one_line(told(text))), _cut(one_line(told(_LASTING))))


def _cut(text: str) -> str:
    """One line, at most so long; what is cut off is seen to be."""
    if len(text) <= LONGEST_DESCRIPTION:
        return text
    return text[: LONGEST_DESCRIPTION - len(_CUT)].rstrip() + _CUT
