"""What happened between two polls of a fleet's source. Pure; a failure that lasts is told once, and so is its end."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias, assert_never

from gitops_mc.core.model import Commit
from gitops_mc.core.render.happening import Happening, Reason


@dataclass(frozen=True, slots=True)
class PollGood:
    """The source was read, and its commit is the one to follow."""

    revision: Commit


@dataclass(frozen=True, slots=True)
class PollRefused:
    """The source was read, but its commit is not used: an unwelcome signature, or problems of the whole fleet."""

    reason: str
    """Names the commit."""


@dataclass(frozen=True, slots=True)
class PollFailed:
    """The source could not be read."""

    reason: str


Poll: TypeAlias = PollGood | PollRefused | PollFailed


@dataclass(frozen=True, slots=True)
class ToldPolls:
    """What was told of a source so far."""

    followed: Commit | None = None
    refused: str = ""
    """Why, in the words that were told."""
    failing: bool = False


def poll_happenings(told: ToldPolls, poll: Poll) -> tuple[ToldPolls, tuple[Happening, ...]]:
    """What to tell of a poll. The first good one of a process is no news: its commit may have been there for long."""
    match poll:
        case PollFailed():
            failed = () if told.failing else (Happening(Reason.POLL_FAILED, poll.reason),)
            return replace(told, failing=True), failed
        case PollRefused():
            news = () if told.refused == poll.reason else (Happening(Reason.REVISION_REFUSED, poll.reason),)
            return replace(told, refused=poll.reason, failing=False), (*_recovered(told), *news)
        case PollGood():
            known = told.followed is None or told.followed == poll.revision
            found = Happening(Reason.REVISION_FOUND, f"commit {poll.revision}", revision=poll.revision)
            return ToldPolls(followed=poll.revision), (*_recovered(told), *(() if known else (found,)))
        case _:
            assert_never(poll)


def _recovered(told: ToldPolls) -> tuple[Happening, ...]:
    return (Happening(Reason.POLL_RECOVERED, "the source can be read again"),) if told.failing else ()
