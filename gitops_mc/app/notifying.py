"""Telling people: what happens is taken up, gathered for some seconds, and sent to every destination that wants its topic.

Sent at least once: what was sent stands in the Fleet's status, so that the process that leads next, which tells again of what
stands, does not send it again; a death between the two does. What cannot be sent is tried again for GIVEN_UP_AFTER. Nothing here
raises, and nobody waits for it.
"""

from __future__ import annotations

import string
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol

from gitops_mc.app.log_events import NotificationNotSent
from gitops_mc.app.telemetry_ports import EventLog
from gitops_mc.core.custom.conditions import stamp
from gitops_mc.core.custom.fleet_spec import Notification, Ref, notifications
from gitops_mc.core.errors import GitopsMcError
from gitops_mc.core.model import JsonObject
from gitops_mc.core.render.happening import Happening
from gitops_mc.core.render.notices import Message, Notice, ends, message, notice

GATHERED: Final = timedelta(seconds=5)
"""How long more is waited for before a message goes out."""
AT_MOST_EVERY: Final = timedelta(seconds=30)
"""Of one destination; what happens meanwhile comes in one message."""
FIRST_AGAIN: Final = timedelta(seconds=15)
LAST_AGAIN: Final = timedelta(minutes=10)
GIVEN_UP_AFTER: Final = timedelta(hours=6)
WAITING_AT_MOST: Final = 200
ADDRESSES_AT_MOST: Final = 10
"""Of one destination: each may take its time to fail."""
_AROUND: Final = f"{string.whitespace}\xa0\ufeff\u200b"
"""Blanks, and what editors and chats put among them that nobody sees."""
TOLD_AT_MOST: Final = 60


class NotSentError(GitopsMcError):
    """A message was not taken. The text holds nothing of what is secret in an address."""


class Post(Protocol):
    """Takes messages to where they are read."""

    def send(self, address: str, message: Message) -> None:
        """Within seconds. Raises NotSentError."""
        ...


class Counts(Protocol):
    """What is counted of it."""

    def notified(self, fleet: str, result: str, number: int = 1) -> None: ...


@dataclass(frozen=True, slots=True)
class _Box:
    """What one destination of a Fleet still gets, and how it stands with it."""

    waiting: tuple[Notice, ...] = ()
    dropped: int = 0
    due: datetime | None = None
    """Not before; None: nothing waits."""
    tries: int = 0
    sent: datetime | None = None
    problem: str = ""
    told: tuple[tuple[str, str], ...] = ()
    """Subject and key of what was sent and has not been followed by anything else, oldest first."""
    ended: frozenset[str] = frozenset()
    """Subjects of which something waits that is over already: it is sent, and does not stand."""

    def stands(self, notice: Notice) -> bool:
        """Whether it was sent, or is about to be, and nothing has ended it since."""
        if notice.subject in self.ended:
            return False
        waiting = next((n.key for n in reversed(self.waiting) if n.subject == notice.subject), "")
        return waiting == notice.key if waiting else (notice.subject, notice.key) in self.told

    def without(self, subjects: frozenset[str]) -> _Box:
        """What these subjects were told of stands no more."""
        waiting = subjects & {n.subject for n in self.waiting}
        told = tuple(t for t in self.told if t[0] not in subjects)
        return replace(self, told=told, ended=self.ended | waiting)

    def with_one(self, notice: Notice, now: datetime) -> _Box:
        kept = (*self.waiting, notice)[-WAITING_AT_MOST:]
        dropped = len(self.waiting) + 1 - len(kept)
        soonest = now + GATHERED
        if self.sent is not None and self.sent <= now:  # else a clock was set back: nobody waits for it
            soonest = max(soonest, self.sent + AT_MOST_EVERY)
        return replace(
            self,
            waiting=kept,
            dropped=self.dropped + dropped,
            due=self.due or soonest,
            ended=self.ended - {notice.subject},
        )

    def after_sending(self, gone: Sequence[Notice], dropped: int, problem: str, now: datetime) -> _Box:
        told = dict(self.told)
        left = tuple(n for n in self.waiting if n not in gone)
        for each in gone:
            told.pop(each.subject, None)
            if each.subject not in self.ended:
                told[each.subject] = each.key
        return _Box(
            waiting=left,
            dropped=self.dropped - dropped,
            due=now + AT_MOST_EVERY if left else None,
            sent=now,
            problem=problem,
            told=tuple(told.items())[-TOLD_AT_MOST:],
            ended=self.ended & {n.subject for n in left},
        )

    def after_failing(self, problem: str, now: datetime) -> _Box:
        kept = tuple(n for n in self.waiting if now - n.at <= GIVEN_UP_AFTER)
        again = min(FIRST_AGAIN * 2 ** min(self.tries, 10), LAST_AGAIN)
        return replace(
            self,
            waiting=kept,
            due=now + again if kept else None,
            tries=self.tries + 1,
            problem=problem,
            ended=self.ended & {n.subject for n in kept},
        )


@dataclass(slots=True)
class Notifier:
    """All but `send` from any thread."""

    body_of: Callable[[str], JsonObject]
    """A Fleet, by `<namespace>/<name>`, as it was read last; empty: it has not been read, and nothing is known of it."""
    secret: Callable[[Ref], bytes]
    """Raises GitopsMcError."""
    post: Post
    now: Callable[[], datetime]
    redact: Callable[[str], str]
    log: EventLog
    counts: Counts
    _boxes: dict[str, dict[str, _Box]] = field(default_factory=dict)
    _early: dict[str, tuple[tuple[Happening, datetime], ...]] = field(default_factory=dict)
    """What happened to Fleets that have not been read yet."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def offer(self, fleet: str, found: Sequence[Happening], at: datetime) -> None:
        """Take up what has happened. What was sent, by this process or the one before, and still stands is not sent again."""
        if not found:
            return
        with self._lock:
            if not (body := self.body_of(fleet)):
                held = (*self._early.get(fleet, ()), *((h, at) for h in found))
                self._early[fleet] = held[-WAITING_AT_MOST:]
                return
            for happening, since in (*self._early.pop(fleet, ()), *((h, at) for h in found)):
                self._take(fleet, body, happening, since)

    def _take(self, fleet: str, body: JsonObject, happening: Happening, at: datetime) -> None:
        before, boxes = self._of(fleet, body), dict[str, _Box]()
        made = notice(happening, at)
        for destination in notifications(body):
            box = before.get(destination.name, _Box())
            if made is None or not box.stands(made):
                box = box.without(ends(happening))
                if made is not None and made.topic in destination.topics:
                    full = box.dropped
                    box = box.with_one(made, at)
                    if lost := box.dropped - full:
                        self.counts.notified(fleet, "dropped", lost)
            boxes[destination.name] = box
        self._boxes[fleet] = boxes

    def shown(self, fleet: str) -> list[JsonObject]:
        """What the Fleet's status is to say of its destinations."""
        with self._lock:
            if not (body := self.body_of(fleet)):
                return []
            boxes = self._of(fleet, body)
            return [_shown(d.name, boxes.get(d.name, _Box())) for d in notifications(body)]

    def forget(self, fleets: Iterable[str]) -> None:
        """These Fleets are gone."""
        with self._lock:
            for fleet in fleets:
                self._boxes.pop(fleet, None)
                self._early.pop(fleet, None)

    def hurry(self) -> None:
        """The end is near: what was not tried yet is due now."""
        with self._lock:
            for boxes in self._boxes.values():
                boxes.update(
                    {n: replace(b, due=self.now()) for n, b in boxes.items() if b.due and not b.tries}
                )

    def due(self) -> tuple[tuple[str, str], ...]:
        """Fleets and destinations that a message is to go to now."""
        with self._lock:
            return tuple(
                (fleet, name)
                for fleet, boxes in self._boxes.items()
                for name, box in boxes.items()
                if box.due is not None and box.due <= self.now()
            )

    def send(self, fleet: str, name: str) -> None:
        """Send what is due to one destination. Of one destination by one thread at a time. Never raises."""
        try:
            self._send(fleet, name)
        except Exception as error:  # noqa: BLE001 - whatever is wrong with one destination, the others are told
            self.log.crashed(f"telling {name} of {fleet}", error)
            self._settle(fleet, name, lambda box: box.after_failing("a fault of gitops-mc", self.now()))

    # ------------------------------------------------------------------------------------------------------- within

    def _of(self, fleet: str, body: JsonObject) -> dict[str, _Box]:
        """Begun with what the status said when the Fleet was read first."""
        if fleet not in self._boxes:
            said = (body.get("status") or {}).get("notifications") or ()
            self._boxes[fleet] = {str(each.get("name")): _recalled(each) for each in said}
        return self._boxes[fleet]

    def _send(self, fleet: str, name: str) -> None:
        with self._lock:
            if not (body := self.body_of(fleet)):
                return  # nobody knows whom it tells now: what waits stays
            destination = next((d for d in notifications(body) if d.name == name), None)
            box = self._boxes.get(fleet, {}).get(name)
            if destination is None or box is None or not box.waiting:
                self._boxes.get(fleet, {}).pop(name, None)
                return
        told = [replace(n, text=self.redact(n.text)) for n in box.waiting]
        try:
            left_out = self._post(destination, message(fleet, told, box.dropped))
        except GitopsMcError as error:
            reason = self.redact(f"{error.message}; {error.hint}" if error.hint else error.message)
            if reason != box.problem:
                self.log.tell(NotificationNotSent(fleet=fleet, destination=name, reason=reason))
            self.counts.notified(fleet, "failed")
            after = self._settle(fleet, name, lambda b: b.after_failing(reason, self.now()))
            if after is not None and (lost := len([n for n in box.waiting if n not in after.waiting])):
                self.counts.notified(fleet, "dropped", lost)
            return
        self.counts.notified(fleet, "sent")
        problem = self.redact("; ".join(error.message for error in left_out))
        if problem and problem != box.problem:
            self.log.tell(NotificationNotSent(fleet=fleet, destination=name, reason=problem))
        self._settle(fleet, name, lambda b: b.after_sending(box.waiting, box.dropped, problem, self.now()))

    def _post(self, destination: Notification, what: Message) -> tuple[NotSentError, ...]:
        return deliver(self.post, addresses_of(destination.address, self.secret(destination.address)), what)

    def _settle(self, fleet: str, name: str, change: Callable[[_Box], _Box]) -> _Box | None:
        """None: it is gone meanwhile."""
        with self._lock:
            boxes = self._boxes.get(fleet, {})
            if name in boxes:
                boxes[name] = change(boxes[name])
            return boxes.get(name)


def addresses_of(ref: Ref, value: bytes) -> tuple[str, ...]:
    """What a key of a Secret holds: one address a line, without blanks and the mark that editors put before a text; what begins with
    # is a remark. Raises NotSentError where there is none.
    """
    if value.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in value:
        raise NotSentError(
            f"Secret {ref.name} holds no UTF-8 under {ref.key}: it is UTF-16, or no text",
            hint="save the addresses as UTF-8, without byte order mark",
        )
    lines = [line.strip(_AROUND) for line in value.decode(errors="replace").splitlines()]
    found = tuple(line for line in lines if line and not line.startswith("#"))
    if not found:
        raise NotSentError(f"Secret {ref.name} holds no address under {ref.key}")
    if len(found) > ADDRESSES_AT_MOST:
        raise NotSentError(
            f"Secret {ref.name} holds {len(found)} addresses under {ref.key}, at most {ADDRESSES_AT_MOST} are sent to",
            hint="spread them over several names in spec.notifications",
        )
    return found


def deliver(post: Post, addresses: Sequence[str], what: Message) -> tuple[NotSentError, ...]:
    """To every address; why some did not take it. Where one takes it and another does not, it was sent: else it would come again and
    again. Raises NotSentError where none does.
    """
    failed: list[NotSentError] = []
    for number, address in enumerate(addresses, 1):
        try:
            post.send(address, what)
        except NotSentError as error:
            where = f"address {number} of {len(addresses)}: " if len(addresses) > 1 else ""
            failed.append(NotSentError(f"{where}{error.message}", hint=error.hint))
    if len(failed) == len(addresses):
        raise NotSentError("; ".join(error.message for error in failed), hint=failed[0].hint)
    return tuple(failed)


def _shown(name: str, box: _Box) -> JsonObject:
    found: JsonObject = {"name": name}
    if box.sent is not None:
        found["sent"] = stamp(box.sent)
    if box.problem:
        found["problem"] = box.problem
    if box.told:
        found["told"] = [f"{about} {key}" for about, key in box.told]
    return found


def _recalled(said: JsonObject) -> _Box:
    """What the process before this one kept of a destination. A time that somebody wrote there, and that is none, is passed by."""
    pairs = (str(t).rpartition(" ") for t in said.get("told") or ())
    sent: datetime | None = None
    with suppress(ValueError):
        sent = datetime.fromisoformat(str(said.get("sent") or "")).astimezone(UTC)
    return _Box(
        sent=sent,
        problem=str(said.get("problem") or ""),
        told=tuple((about, key) for about, _, key in pairs),
    )
