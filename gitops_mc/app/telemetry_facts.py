"""What is told of a look and of a poll, fact by fact."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import assert_never

from gitops_mc.app.log_events import LogEvent, PassDone, PollDone, WriteAccepted
from gitops_mc.app.looks import Look
from gitops_mc.core.custom.shown import Pulled
from gitops_mc.core.render.fleet_commands import FleetCommands
from gitops_mc.core.render.polls import Poll, PollFailed, PollGood, PollRefused
from gitops_mc.core.rollout.moves import Done, Halted, Hold, Outlook, Wait


def commands_of(fleet: str) -> FleetCommands:
    """How commands are typed for the fleet of this title."""
    namespace, _, name = fleet.rpartition("/")
    return FleetCommands(name, namespace)


def poll_of(pulled: Pulled, answered: datetime | None) -> Poll:
    """What a poll came to. A problem with an answer that is newer than the one at `answered` is about what it said."""
    if not pulled.problem:
        return PollGood(pulled.commit)
    return PollFailed(pulled.problem) if pulled.polled == answered else PollRefused(pulled.problem)


def of_look(fleet: str, look: Look) -> Iterator[LogEvent]:
    steps = {view.cluster: view.step for view in look.decision.clusters}
    revision = str(look.fleet.commit)
    for written in look.written:
        step = steps.get(written.cluster, "")
        yield WriteAccepted(
            fleet=fleet, cluster=written.cluster, revision=revision, step=step, what=written.what
        )
    outlook, reason = _outlook_words(look.decision.outlook)
    reason = commands_of(fleet).said(reason)
    moves = len(look.decision.moves)
    yield PassDone(fleet=fleet, revision=revision, outlook=outlook, reason=reason, moves=moves)


def _outlook_words(outlook: Outlook) -> tuple[str, str]:
    match outlook:
        case Wait():
            return "wait", outlook.reason
        case Hold():
            return "hold", "; ".join(outlook.reasons)
        case Halted():
            return "halted", outlook.reason
        case Done():
            return "done", outlook.reason
        case _:
            assert_never(outlook)


def poll_done(fleet: str, poll: Poll) -> PollDone:
    match poll:
        case PollGood():
            return PollDone(fleet=fleet, revision=poll.revision, result="good", reason="")
        case PollRefused():
            return PollDone(fleet=fleet, revision="", result="refused", reason=poll.reason)
        case PollFailed():
            return PollDone(fleet=fleet, revision="", result="failed", reason=poll.reason)
        case _:
            assert_never(poll)
