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

    revision: Commit
    reason: str


@dataclass(frozen=True, slots=True)
class PollFailed:
    """The source could not be read."""

    reason: str


Poll: TypeAlias = PollGood | PollRefused | PollFailed


@dataclass(frozen=True, slots=True)
class ToldPolls:
    """What was told of a source so far."""

    followed: Commit | None = None
    refused: Commit | None = None
    failing: bool = False


def poll_happenings(told: ToldPolls, poll: Poll) -> tuple[ToldPolls, tuple[Happening, ...]]:
    """What to tell of a poll. The first good one of a process is no news: its commit may have been there for long."""
    match poll:
        case PollFailed():
            failed = () if told.failing else (Happening(Reason.POLL_FAILED, poll.reason),)
            return replace(told, failing=True), failed
        case PollRefused():
            text = f"commit {poll.revision} is not used: {poll.reason}"
            news = _news(
                told.refused, poll.revision, Happening(Reason.REVISION_REFUSED, text, revision=poll.revision)
            )
            return replace(told, refused=poll.revision, failing=False), (*_recovered(told), *news)
        case PollGood():
            found = Happening(Reason.REVISION_FOUND, f"commit {poll.revision}", revision=poll.revision)
            news = () if told.followed is None else _news(told.followed, poll.revision, found)
            return ToldPolls(followed=poll.revision), (*_recovered(told), *news)
        case _:
            assert_never(poll)


def _news(before: Commit | None, now: Commit, happening: Happening) -> tuple[Happening, ...]:
    return () if before == now else (happening,)


def _recovered(told: ToldPolls) -> tuple[Happening, ...]:
    return (Happening(Reason.POLL_RECOVERED, "the source can be read again"),) if told.failing else ()
