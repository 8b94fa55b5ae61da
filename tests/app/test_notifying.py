"""Telling people: gathered, at least once, not again by the next process, and without anybody waiting."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest

from gitops_mc.app.expiring import Tokens
from gitops_mc.app.log_events import LogEvent, NotificationNotSent
from gitops_mc.app.notifying import GIVEN_UP_AFTER, WAITING_AT_MOST, Notifier, NotSentError
from gitops_mc.app.telemetry_ports import Credential
from gitops_mc.core.custom.fleet_spec import Notification, Ref, Topic
from gitops_mc.core.errors import UsageError
from gitops_mc.core.expiry import Claimed
from gitops_mc.core.model import JsonObject
from gitops_mc.core.render.happening import Happening, Reason
from gitops_mc.core.render.notices import Message

FLEET = "gitops-mc/prod"
OPS = Notification("ops", Ref("notify", "ops"))
HALTED = Happening(Reason.HALTED, "no new write anywhere: edge-1 failed")
LIFTED = Happening(Reason.HALT_LIFTED, "the halt is lifted")
WAITS = Happening(Reason.WAVE_NEEDS_APPROVAL, "wave rest waits for approval", wave="rest")
OPENED = Happening(Reason.WAVE_OPENED, "wave rest is open", wave="rest")


@dataclass
class Desk:
    """A process that tells, and the people it tells; time is what the test says."""

    at: datetime = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)
    destinations: tuple[Notification, ...] = (OPS,)
    secrets: dict[str, bytes] = field(default_factory=lambda: {"ops": b"json://one/"})
    down: set[str] = field(default_factory=set)
    got: list[tuple[str, Message]] = field(default_factory=list)
    logged: list[LogEvent] = field(default_factory=list)
    counted: list[tuple[str, int]] = field(default_factory=list)
    crashes: list[BaseException] = field(default_factory=list)
    status: list[JsonObject] = field(default_factory=list)
    read: bool = True
    """Whether the process has read the Fleet."""
    notifier: Notifier = field(init=False)

    def __post_init__(self) -> None:
        self.notifier = self.process()

    def process(self) -> Notifier:
        return Notifier(
            body_of=lambda _: self.body(),
            secret=self.value,
            post=self,
            now=lambda: self.at,
            redact=lambda text: text.replace("hunter2", "***"),
            log=self,
            counts=self,
        )

    def body(self) -> JsonObject:
        """The Fleet, as the process has read it."""
        if not self.read:
            return {}
        said = [
            {
                "name": d.name,
                "secretRef": {"name": d.address.name, "key": d.address.key},
                "topics": sorted(d.topics),
            }
            for d in self.destinations
        ]
        return {"spec": {"notifications": said}, "status": {"notifications": self.status}}

    def value(self, ref: Ref) -> bytes:
        if ref.key not in self.secrets:
            raise UsageError(f"Secret {ref.name} has no key {ref.key}", hint="its keys: none")
        return self.secrets[ref.key]

    def send(self, address: str, message: Message) -> None:
        if address in self.down:
            raise NotSentError(f"{address} is down")
        self.got.append((address, message))

    def tell(self, event: LogEvent) -> None:
        self.logged.append(event)

    def crashed(self, where: str, error: BaseException) -> None:
        self.crashes.append(error)

    def notified(self, fleet: str, result: str, number: int = 1) -> None:
        self.counted.append((result, number))

    def offer(self, *found: Happening) -> None:
        self.notifier.offer(FLEET, found, self.at)

    def after(self, seconds: float) -> list[str]:
        """What has been sent once so many seconds are over, looked at every second."""
        seen = len(self.got)
        for _ in range(int(seconds)):
            self.at += timedelta(seconds=1)
            self.flush()
        self.status = self.notifier.shown(FLEET)
        return [message.body for _, message in self.got[seen:]]

    def flush(self) -> None:
        for fleet, name in self.notifier.due():
            self.notifier.send(fleet, name)

    def restart(self) -> None:
        self.notifier = self.process()


def test_what_happens_within_seconds_comes_in_one_message() -> None:
    desk = Desk()
    desk.offer(HALTED)
    assert desk.after(3) == []
    desk.offer(WAITS)
    (body,) = desk.after(60)
    assert HALTED.text in body
    assert WAITS.text in body
    assert desk.counted == [("sent", 1)]


def test_a_flood_comes_in_a_message_every_half_minute_and_says_how_much_was_left_out() -> None:
    desk = Desk()
    for n in range(10 * WAITING_AT_MOST):
        desk.offer(Happening(Reason.CLUSTER_FAILED, f"edge-{n} failed", f"edge-{n}"))
    bodies = desk.after(300)
    assert len(bodies) == 1
    assert f"and {10 * WAITING_AT_MOST - 20} more" in bodies[0]
    for n in range(300):
        desk.offer((HALTED, LIFTED)[n % 2])
        desk.after(1)
    assert len(desk.got) <= 1 + 300 // 30 + 1


def test_only_the_topics_that_a_destination_names_go_there() -> None:
    quiet = Notification("quiet", Ref("notify", "quiet"), frozenset({Topic.APPROVAL}))
    desk = Desk(destinations=(OPS, quiet), secrets={"ops": b"json://one/", "quiet": b"json://two/"})
    desk.offer(HALTED)
    desk.after(60)
    assert [address for address, _ in desk.got] == ["json://one/"]
    desk.offer(WAITS)
    desk.after(60)
    assert sorted(address for address, _ in desk.got[1:]) == ["json://one/", "json://two/"]


def test_what_cannot_be_sent_is_tried_again_with_everything_since_and_told_once() -> None:
    desk = Desk(down={"json://one/"})
    desk.offer(HALTED)
    assert desk.after(120) == []
    assert desk.status == [{"name": "ops", "problem": "json://one/ is down"}]
    desk.offer(WAITS)
    desk.after(120)
    told = [e for e in desk.logged if isinstance(e, NotificationNotSent)]
    assert [e.reason for e in told] == ["json://one/ is down"]
    desk.down.clear()
    (body,) = desk.after(600)
    assert HALTED.text in body
    assert WAITS.text in body
    assert "problem" not in desk.status[0]


def test_what_nobody_takes_for_hours_is_dropped_and_counted() -> None:
    desk = Desk(down={"json://one/"})
    desk.offer(HALTED)
    desk.at += GIVEN_UP_AFTER + timedelta(minutes=1)
    desk.after(2)
    assert ("dropped", 1) in desk.counted
    desk.down.clear()
    assert desk.after(1200) == []


def test_the_next_process_does_not_send_again_what_stands_and_was_sent() -> None:
    desk = Desk()
    desk.offer(HALTED)
    desk.after(60)
    desk.restart()
    desk.offer(HALTED, WAITS)
    (body,) = desk.after(60)
    assert HALTED.text not in body
    assert WAITS.text in body


def test_what_was_not_sent_before_the_death_is_sent_by_the_next_process() -> None:
    desk = Desk(down={"json://one/"})
    desk.offer(HALTED)
    desk.after(60)
    desk.restart()
    desk.down.clear()
    desk.offer(HALTED)
    assert len(desk.after(60)) == 1


def test_what_still_stands_is_not_sent_again_however_often_it_is_met() -> None:
    desk = Desk()
    for _ in range(3):
        desk.offer(HALTED)
    assert len(desk.after(60)) == 1
    desk.offer(HALTED)
    assert desk.after(60) == []


def test_the_last_word_in_a_message_is_how_it_stands() -> None:
    desk = Desk()
    desk.offer(HALTED, LIFTED)
    desk.offer(HALTED)
    (body,) = desk.after(60)
    assert body.count(HALTED.text) == 2


def test_a_rollout_that_is_done_again_with_newer_content_is_news() -> None:
    desk = Desk()
    done = Happening(Reason.ROLLOUT_DONE, "2 of 2 clusters passed")
    for sent in (1, 1):
        desk.offer(Happening(Reason.CLUSTER_STARTED, "edge-1 is in flight", "edge-1"), done)
        assert len(desk.after(60)) == sent
    desk.offer(done)
    assert desk.after(60) == []


def test_the_same_thing_again_is_news_and_so_is_what_stands_again_after_it_was_over() -> None:
    desk = Desk()
    for news in (HALTED, LIFTED, HALTED):
        desk.offer(news)
        assert len(desk.after(60)) == 1
    desk.offer(WAITS)
    desk.after(60)
    desk.offer(OPENED)
    desk.after(60)
    desk.restart()
    desk.offer(WAITS)
    assert len(desk.after(60)) == 1, "the wave was opened since; it is another approval"


def test_a_secret_that_is_not_there_is_a_problem_that_names_it_and_ends_when_it_comes() -> None:
    desk = Desk(secrets={})
    desk.offer(HALTED)
    desk.after(60)
    assert desk.status[0]["problem"] == "Secret notify has no key ops; its keys: none"
    desk.secrets["ops"] = b"# the channel of operations\n\n"
    desk.after(60)
    assert desk.status[0]["problem"] == "Secret notify holds no address under ops"
    desk.secrets["ops"] += b"json://one/\n"
    assert len(desk.after(600)) == 1


def test_one_address_of_two_that_is_down_keeps_nothing_back_and_repeats_nothing() -> None:
    desk = Desk(secrets={"ops": b"json://one/\njson://two/"}, down={"json://one/"})
    desk.offer(HALTED)
    desk.after(600)
    assert [address for address, _ in desk.got] == ["json://two/"]
    assert desk.status[0]["problem"] == "address 1 of 2: json://one/ is down"


@pytest.mark.parametrize(
    "held",
    [
        "\ufeffjson://one/\n",
        "  json://one/\t\r\n\r\n",
        "\ufeff# ours\n\xa0json://one/\u200b",
        "json://one/\ufeff",
    ],
)
def test_blanks_and_marks_around_an_address_are_no_part_of_it(held: str) -> None:
    desk = Desk(secrets={"ops": held.encode()})
    desk.offer(HALTED)
    desk.after(60)
    assert [address for address, _ in desk.got] == ["json://one/"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_addresses_that_were_saved_as_something_else_than_utf8_are_told(encoding: str) -> None:
    desk = Desk(secrets={"ops": "json://one/".encode(encoding)})
    desk.offer(HALTED)
    desk.after(60)
    assert desk.status[0]["problem"] == (
        "Secret notify holds no UTF-8 under ops: it is UTF-16, or no text; "
        "save the addresses as UTF-8, without byte order mark"
    )


def test_more_addresses_than_can_be_waited_for_are_a_problem() -> None:
    desk = Desk(secrets={"ops": b"json://one/\n" * 11})
    desk.offer(HALTED)
    desk.after(60)
    assert "holds 11 addresses under ops, at most 10 are sent to" in desk.status[0]["problem"]


def test_what_is_sensitive_is_in_no_message_and_in_no_problem() -> None:
    desk = Desk()
    desk.offer(Happening(Reason.HALTED, "the password is hunter2"))
    (body,) = desk.after(60)
    assert "hunter2" not in body
    desk.secrets["ops"] = b"json://hunter2/"
    desk.down.add("json://hunter2/")
    desk.offer(LIFTED)
    desk.after(60)
    assert "hunter2" not in str(desk.status) + str(desk.logged)


def test_a_destination_that_is_taken_away_gets_nothing_more_and_shows_nowhere() -> None:
    desk = Desk()
    desk.offer(HALTED)
    desk.destinations = ()
    assert desk.after(60) == []
    assert desk.status == []


def test_a_fault_of_ours_at_one_destination_is_reported_and_the_others_are_told() -> None:
    other = Notification("other", Ref("notify", "other"))
    desk = Desk(destinations=(OPS, other), secrets={"ops": b"json://one/", "other": b"json://two/"})
    broken = desk.value

    def value(ref: Ref) -> bytes:
        if ref.key == "ops":
            raise ZeroDivisionError
        return broken(ref)

    desk.notifier.secret = value
    desk.offer(HALTED)
    desk.after(60)
    assert [address for address, _ in desk.got] == ["json://two/"]
    assert isinstance(desk.crashes[0], ZeroDivisionError)


def test_at_the_end_what_waits_is_sent_at_once() -> None:
    desk = Desk()
    desk.offer(HALTED)
    desk.notifier.hurry()
    desk.flush()
    assert len(desk.got) == 1


def test_what_is_shown_stays_small_however_much_was_told() -> None:
    desk = Desk()
    for n in range(500):
        desk.offer(Happening(Reason.CLUSTER_FAILED, f"edge-{n} failed", f"edge-{n}" * 20))
        if n % 100 == 99:
            desk.after(60)
    assert len(str(desk.status)) < 4_000


def test_what_was_over_before_it_was_sent_does_not_stand_and_is_news_the_next_time() -> None:
    desk = Desk()
    desk.offer(WAITS)
    desk.after(2)
    desk.offer(OPENED)
    assert len(desk.after(60)) == 1
    desk.offer(WAITS)
    assert len(desk.after(60)) == 1, "a week later: another approval"


def test_what_failed_and_passed_while_nothing_could_be_sent_is_told_when_it_fails_again() -> None:
    failed = Happening(Reason.CLUSTER_FAILED, "edge-1 failed", "edge-1")
    desk = Desk(down={"json://one/"})
    desk.offer(failed)
    desk.after(60)
    desk.offer(Happening(Reason.CLUSTER_PASSED, "edge-1 passed", "edge-1"))
    desk.down.clear()
    assert len(desk.after(1200)) == 1
    desk.offer(failed)
    assert len(desk.after(60)) == 1


def test_a_fleet_that_has_not_been_read_yet_loses_nothing_and_repeats_nothing() -> None:
    desk = Desk()
    desk.offer(HALTED)
    desk.after(60)
    desk.restart()
    desk.read = False
    deaf = Happening(Reason.FAULT, "the gateway is gone")
    desk.offer(deaf)
    desk.offer(HALTED)
    assert desk.notifier.shown(FLEET) == []
    desk.flush()
    desk.read = True
    desk.offer(WAITS)
    (body,) = desk.after(60)
    assert deaf.text in body
    assert WAITS.text in body
    assert HALTED.text not in body


def test_what_waits_stays_while_the_loop_of_its_fleet_is_made_anew() -> None:
    desk = Desk()
    desk.offer(HALTED)
    desk.read = False
    for _ in range(60):
        desk.at += timedelta(seconds=1)
        desk.flush()
    assert desk.got == []
    desk.read = True
    assert len(desk.after(5)) == 1


def test_each_stage_of_a_token_is_told() -> None:
    desk, tokens, sent = Desk(), Tokens(), 0
    said = Claimed(desk.at + timedelta(days=30), desk.at)
    for days in (17, 10.5, 1.5, 1.1):
        desk.at += timedelta(days=days)
        desk.offer(*tokens.told(FLEET, Credential.GIT, said, desk.at))
        sent += len(desk.after(60))
    assert sent == 4
    desk.restart()
    desk.offer(*Tokens().told(FLEET, Credential.GIT, said, desk.at))
    assert desk.after(60) == []


def test_what_is_dropped_is_counted_where_it_is_dropped() -> None:
    desk = Desk()
    for n in range(WAITING_AT_MOST + 7):
        desk.offer(Happening(Reason.CLUSTER_FAILED, f"edge-{n} failed", f"edge-{n}"))
    assert desk.counted == [("dropped", 1)] * 7
    desk.destinations = ()
    desk.after(60)
    assert all(number > 0 for _, number in desk.counted)


def test_when_the_last_message_was_taken_is_still_shown_after_a_restart() -> None:
    desk = Desk()
    desk.offer(HALTED)
    desk.after(60)
    sent = desk.status[0]["sent"]
    desk.restart()
    assert desk.notifier.shown(FLEET)[0]["sent"] == sent
    desk.status[0]["sent"] = "yesterday"
    desk.restart()
    desk.offer(LIFTED)
    assert len(desk.after(60)) == 1
