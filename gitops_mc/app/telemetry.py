"""What the controller tells the world of itself: one call a fact, of which logs, metrics and Kubernetes Events are made.

Nothing here waits, and nothing here raises: what is wrong with telling is told in the log, and stops no rollout. A fleet goes by
`<namespace>/<name>`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import assert_never

from gitops_mc.app.expiring import Tokens
from gitops_mc.app.forge_ports import ForgeWell
from gitops_mc.app.log_events import (
    FleetForgotten,
    FleetTroubled,
    Happened,
    LeaseLost,
    LeaseTaken,
    LeaseTroubled,
    LeaseWatched,
    WebhookAnswered,
    WriteTroubled,
)
from gitops_mc.app.looks import Look
from gitops_mc.app.notifying import Notifier
from gitops_mc.app.telemetry_facts import commands_of, of_look, poll_done, poll_of
from gitops_mc.app.telemetry_ports import (
    Board,
    Credential,
    EventLog,
    FleetMode,
    Herald,
    Lease,
    Measures,
    PollerView,
)
from gitops_mc.core.errors import GitopsMcError
from gitops_mc.core.expiry import Claimed
from gitops_mc.core.model import JsonObject
from gitops_mc.core.render.happening import Happening, Reason
from gitops_mc.core.render.happenings import Told, happenings
from gitops_mc.core.render.polls import ToldPolls, poll_happenings
from gitops_mc.core.rollout.fault import fleet_fault
from gitops_mc.core.rollout.inputs import Observed

SAID_AGAIN_AFTER = timedelta(minutes=1)
"""How often the log says the same trouble of a fleet while it lasts."""
_LONGEST_PROBLEM = 1_000


@dataclass(frozen=True, slots=True)
class _Trouble:
    """When it was said last, and how often it was since without being said."""

    said: datetime
    unsaid: int = 0


@dataclass(frozen=True, slots=True)
class _ForgeUse:
    """What a forge is asked for, and how it is told that it does not do it, or does it again."""

    member: str
    """Of the Fleet's status."""
    failed: Reason
    failing: str
    recovered: Reason
    again: str


_STATUSES = _ForgeUse(
    "forge",
    Reason.FORGE_FAILED,
    "its forge takes no commit status, and the rollout goes on",
    Reason.FORGE_RECOVERED,
    "its forge takes commit statuses again",
)
_PREVIEWS = _ForgeUse(
    "previews",
    Reason.PREVIEWS_FAILED,
    "its pull requests have no previews, or not all of them",
    Reason.PREVIEWS_RECOVERED,
    "its pull requests get previews again",
)


@dataclass(slots=True)
class _Known:
    """What was told of one fleet so far."""

    told: Told | None = None
    polls: ToldPolls = field(default_factory=ToldPolls)
    answered: datetime | None = None
    """When the source answered last."""
    deaf: str = ""
    """Why its webhook hears nobody, as was told last."""
    forge: dict[str, str] = field(default_factory=dict)
    """By member of the Fleet's status: why its forge does not do what it is asked for, as was told last."""
    troubles: dict[str, _Trouble] = field(default_factory=dict)
    tokens: Tokens = field(default_factory=Tokens)

    def times(self, reason: str, now: datetime) -> int:
        """How often it was since it was said last; 0: it need not be said yet."""
        before = self.troubles.get(reason)
        self.troubles = {r: t for r, t in self.troubles.items() if now - t.said < 2 * SAID_AGAIN_AFTER}
        if before is not None and timedelta() <= now - before.said < SAID_AGAIN_AFTER:
            self.troubles[reason] = replace(before, unsaid=before.unsaid + 1)
            return 0
        self.troubles[reason] = _Trouble(now)
        return 1 if before is None else before.unsaid + 1


@dataclass(slots=True)
class Telemetry:
    """The one place that the controller reports to. From any thread; of one fleet by one at a time."""

    log: EventLog
    measures: Measures
    now: Callable[[], datetime]
    pulse: Callable[[], None]
    """The controller's loop has gone round."""
    identity: str
    """Of this process, as in the lease."""
    namespace: str
    """Where the Fleets are that the controller calls by their name alone."""
    herald: Herald | None = None
    """None as long as there is no controller whose objects Events could be about."""
    notifier: Notifier | None = None
    """The same."""
    board: Board | None = None
    """None as long as nobody brings statuses to forges."""
    previews: Board | None = None
    """None as long as nobody brings previews to pull requests."""
    fleets: frozenset[str] | None = None
    """The Fleets that were listed last, by name alone; None: they have not been listed yet."""
    leads: bool = False
    holder: str = ""
    """Who holds the lease, as was seen last; empty: nobody, or it has not been looked at."""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _fleets: dict[str, _Known] = field(default_factory=dict)
    trouble: str = ""
    """Why nobody can lead as things stand; empty where somebody can."""
    _lease_told: bool = False
    _lease: _Known = field(default_factory=_Known)
    _senders: _Known = field(default_factory=_Known)

    # ------------------------------------------------------------------------------------------------- of one fleet

    def looked(self, fleet: str, look: Look) -> None:
        """A pass has been decided."""
        with self._guarded("telling of a pass"):
            self.measures.looked(fleet, look)
            known = self._known(fleet)
            fault = fleet_fault(look.fleet, Observed(look.live))
            known.told, found = happenings(known.told, look.decision, look.memory, fault)
            for event in of_look(fleet, look):
                self.log.tell(event)
            for trouble in look.troubles:
                if times := known.times(trouble, look.at):
                    told = commands_of(fleet).said(trouble)
                    self.log.tell(WriteTroubled(fleet=fleet, reason=told, times=times))
            self._tell(fleet, found)
            for board in self._boards() if not fault else ():
                board.looked(fleet, look)

    def stepped(self, fleet: str, seconds: float) -> None:
        """A whole pass is over, reads and writes included; it took so many seconds."""
        with self._guarded("telling of a pass"):
            self.measures.stepped(fleet, seconds)

    def polled(self, fleet: str, poller: PollerView) -> None:
        """The source was asked."""
        with self._guarded("telling of a poll"):
            known = self._known(fleet)
            poll = poll_of(poller.pulled, known.answered)
            known.answered = poller.pulled.polled
            self.measures.polled(fleet, poll, poller.pulled.polled)
            known.polls, found = poll_happenings(known.polls, poll)
            self.log.tell(poll_done(fleet, poll))
            self._tell(fleet, found)
            for board in self._boards():
                board.polled(fleet, poller)

    def ordered(self, fleet: str, said: tuple[str, ...]) -> None:
        """What somebody asked for by annotations was done, or refused."""
        with self._guarded("telling of orders"):
            self._tell(fleet, tuple(Happening(Reason.ORDERED, text) for text in said))

    def troubled(self, fleet: str, reason: str) -> None:
        """A pass could not do something."""
        with self._guarded("telling of trouble"):
            self.measures.troubled(fleet)
            if times := self._known(fleet).times(reason, self.now()):
                self.log.tell(FleetTroubled(fleet=fleet, reason=reason, times=times))

    def stumbled(self, fleet: str, error: Exception) -> None:
        """A fault of this program that a pass went on without."""
        self.log.crashed(f"a request on {fleet}", error)

    def moded(self, fleet: str, mode: FleetMode) -> None:
        """Whether the fleet is worked on."""
        with self._guarded("telling of a fleet's mode"):
            self.measures.moded(fleet, mode)
            if mode is FleetMode.ELSEWHERE:
                known = self._known(fleet)
                known.forge = {}  # nobody here asks it any more, so nobody would take it back
                for board in self._boards():
                    board.left(fleet)

    def expires(self, fleet: str, credential: Credential, said: Claimed | None) -> None:
        """What a credential says of its life; None: nothing."""
        with self._guarded("telling of a credential"):
            self.measures.expires(fleet, credential, None if said is None else said.expires)
            self._tell(fleet, self._known(fleet).tokens.told(fleet, credential, said, self.now()))

    def hooked(self, fleet: str, problem: str) -> None:
        """Whether the webhook of a fleet can hear anybody; the problem, or empty. A process on standby leaves it to the leader."""
        with self._guarded("telling of a webhook's secret"):
            known = self._known(fleet)
            if not self.leads or problem == known.deaf:
                return
            known.deaf = problem
            told = f"its webhook takes no request, and the poll goes on: {problem}"
            deaf = Happening(Reason.WEBHOOK_DEAF, told)
            self._tell(
                fleet, (deaf if problem else Happening(Reason.WEBHOOK_HEARS, "its webhook has a secret"),)
            )

    def beside(self, fleet: str) -> JsonObject:
        """What the status of the Fleet shows beside the rollout: whom it cannot tell, why its webhook hears nobody,
        why its forge takes no commit status, and why its pull requests get no previews.
        """
        found: JsonObject = {}
        with self._guarded("showing what stands beside a rollout"):
            if self.notifier is not None and (told := self.notifier.shown(fleet)):
                found["notifications"] = told
            if deaf := self._known(fleet).deaf:
                found["webhook"] = {"problem": deaf}
            for member, problem in dict(self._known(fleet).forge).items():
                found[member] = {"problem": problem}
        return found

    def forged(self, fleet: str, told: GitopsMcError | ForgeWell) -> None:
        """The forge of a fleet takes no commit status any more; or that is over. From the thread that asked it: what was
        forgotten meanwhile stays so.
        """
        self._of_forge(fleet, told, _STATUSES)

    def previewed(self, fleet: str, told: GitopsMcError | ForgeWell) -> None:
        """The pull requests of a fleet get no previews any more, or not all of them do; or that is over. As `forged`."""
        self._of_forge(fleet, told, _PREVIEWS)

    def _of_forge(self, fleet: str, told: GitopsMcError | ForgeWell, use: _ForgeUse) -> None:
        with self._guarded(f"telling of {use.member}"):
            with self._lock:
                known = self._fleets.get(fleet)
            if known is None:
                return
            match told:
                case ForgeWell.NONE_NAMED:
                    known.forge.pop(use.member, None)
                case ForgeWell.TAKES_AGAIN:
                    known.forge.pop(use.member, None)
                    self._tell(fleet, (Happening(use.recovered, use.again),))
                case GitopsMcError(message=message, hint=hint):
                    why = commands_of(fleet).said(f"{message}; {hint}" if hint else message)
                    known.forge[use.member] = why[:_LONGEST_PROBLEM]
                    self._tell(fleet, (Happening(use.failed, f"{use.failing}: {why}"),))
                case _:
                    assert_never(told)

    # --------------------------------------------------------------------------------------------- of the controller

    def beat(self, _at: datetime) -> None:
        """The loop goes round. Its age is measured on a clock that never jumps, not on `_at`."""
        with self._guarded("the heartbeat"):
            self.pulse()

    def led(self, leadership: Lease) -> None:
        """How it stands with the lease; logged where that is another thing than the last time."""
        with self._guarded("telling of the lease"):
            self.measures.led(leadership)
            self.trouble = leadership.trouble
            if self.trouble and (times := self._lease.times(self.trouble, self.now())):
                self.log.tell(LeaseTroubled(identity=self.identity, reason=self.trouble, times=times))
            same = (self.leads, self.holder) == (leadership.leads, leadership.holder)
            self.leads, self.holder = leadership.leads, leadership.holder
            if (same and self._lease_told) or (self.trouble and not leadership.holder):
                return
            self._lease_told = True
            if leadership.leads:
                self.log.tell(LeaseTaken(identity=self.identity))
            else:
                self.log.tell(LeaseWatched(identity=self.identity, leader=leadership.holder))

    def lost(self, reason: str) -> None:
        """The lease was lost; the process is about to end."""
        with self._guarded("telling of the lease"):
            self.log.tell(LeaseLost(identity=self.identity, reason=reason))

    def listed(self, fleets: frozenset[str]) -> None:
        """These Fleets are there, by name alone; all others are gone, and so is everything that was known of them."""
        with self._guarded("forgetting fleets"):
            self.fleets = fleets
            there = {self._title(name) for name in fleets}
            with self._lock:
                gone = [title for title in self._fleets if title not in there]
                for title in gone:
                    del self._fleets[title]
            if self.notifier is not None:
                self.notifier.forget(gone)
            for title in gone:
                self.measures.forgotten(title)
                for board in self._boards():
                    board.left(title)
                self.log.tell(FleetForgotten(fleet=title))

    def failed(self, fleet: str, error: BaseException) -> None:
        """A fault of this program in the loop of a Fleet, by name alone."""
        self.log.crashed(f"the loop of {self._title(fleet)}", error)

    def webhook(self, fleet: str, code: int) -> None:
        """Somebody called the webhook; `fleet` is empty where the secret was not known. From the thread that serves it."""
        with self._guarded("telling of the webhook"):
            self.measures.webhook(fleet, code)
            if times := self._senders.times(f"{fleet} {code}", self.now()):
                self.log.tell(WebhookAnswered(fleet=fleet, answer=code, times=times))

    # ------------------------------------------------------------------------------------------------------- within

    def _boards(self) -> tuple[Board, ...]:
        return tuple(board for board in (self.board, self.previews) if board is not None)

    def _title(self, name: str) -> str:
        return f"{self.namespace}/{name}"

    def _known(self, fleet: str) -> _Known:
        with self._lock:
            return self._fleets.setdefault(fleet, _Known())

    def _tell(self, fleet: str, found: tuple[Happening, ...]) -> None:
        commands = commands_of(fleet)
        found = tuple(replace(happening, text=commands.said(happening.text)) for happening in found)
        for happening in found:
            self.log.tell(Happened(fleet, happening))
        if found and self.herald is not None:
            self.herald.offer(fleet, found, self.now())
        if found and self.notifier is not None:
            self.notifier.offer(fleet, found, self.now())

    @contextmanager
    def _guarded(self, doing: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # noqa: BLE001 - whatever is wrong with telling, the rollout goes on
            self.log.crashed(doing, error)
