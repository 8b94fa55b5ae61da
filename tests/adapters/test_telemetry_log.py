"""The log: one JSON object a line, the same names and fields always, and nothing secret in any of them."""

from __future__ import annotations

import io
import json
import logging
import sys
import threading
import warnings
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from typing import Any, get_args

import pytest

from gitops_mc.adapters.telemetry_log import NOT_SHOWN, Form, Log, form_for, take_over
from gitops_mc.app import log_events
from gitops_mc.app.log_events import (
    HAPPENING_FIELDS,
    Fact,
    FleetTroubled,
    Happened,
    Level,
    PassDone,
    WriteAccepted,
    WriteTroubled,
    event_name,
    told,
)
from gitops_mc.core.policy import DEFAULT_POLICY
from gitops_mc.core.redact import Redactor
from gitops_mc.core.render.happening import About, Happening, Reason

NOW = datetime(2026, 5, 1, 10, 42, tzinfo=UTC)
WRITTEN = WriteAccepted(
    fleet="ops/prod", cluster="edge-1", revision="abc", step="pools:worker", what="MachineConfig x created"
)
SECRET = "correct horse battery"


def happening(reason: Reason, text: str = "why") -> Happening:
    return Happening(reason, text, "edge-1" if reason.about is About.CLUSTER else "")


class Written:
    """A log and what it wrote."""

    def __init__(
        self, form: Form = Form.JSON, level: Level = Level.DEBUG, redact: Any = lambda text: text
    ) -> None:
        self.stream = io.StringIO()
        self.log = Log(self.stream, lambda: NOW, redact=redact, form=form, level=level)

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.stream.getvalue().splitlines()]

    @property
    def text(self) -> str:
        return self.stream.getvalue()


def test_an_event_is_one_line_of_json_that_begins_with_time_level_and_name() -> None:
    written = Written()
    written.log.tell(WRITTEN)
    assert written.text == (
        '{"time": "2026-05-01T10:42:00.000+00:00", "level": "info", "event": "write_accepted", "fleet": "ops/prod", '
        '"cluster": "edge-1", "revision": "abc", "step": "pools:worker", "what": "MachineConfig x created"}\n'
    )


def test_what_happens_has_the_name_of_its_reason_and_no_empty_fields() -> None:
    written = Written()
    written.log.tell(Happened("ops/prod", Happening(Reason.WAVE_OPENED, "wave rest is open", wave="rest")))
    (line,) = written.lines
    assert line == {
        "time": "2026-05-01T10:42:00.000+00:00",
        "level": "info",
        "event": "wave_opened",
        "fleet": "ops/prod",
        "wave": "rest",
        "reason": "wave rest is open",
    }


def test_every_fact_of_the_module_is_in_the_table_under_a_name_of_its_own() -> None:
    listed = get_args(Fact)
    found = [
        c
        for c in vars(log_events).values()
        if isinstance(c, type)
        and is_dataclass(c)
        and c is not Happened
        and c.__module__ == log_events.__name__
    ]
    assert set(found) == set(listed)
    names = [*(event_name(fact) for fact in listed), *(reason.event for reason in Reason)]
    assert len(set(names)) == len(names)
    assert all(name.replace("_", "").isalpha() and name.islower() for name in names)


def test_no_field_of_any_event_takes_the_place_of_what_leads_the_line() -> None:
    taken = {"time", "level", "event"}
    assert not taken & {f.name for fact in get_args(Fact) for f in fields(fact)}
    assert not taken & set(HAPPENING_FIELDS)


def test_an_event_with_a_field_that_it_does_not_have_cannot_be_made() -> None:
    with pytest.raises(TypeError, match="prose"):
        WriteTroubled(fleet="a/b", reason="x", times=1, prose="y")  # type: ignore[call-arg]


def test_events_below_the_level_are_left_out() -> None:
    written = Written(level=Level.WARNING)
    written.log.tell(WRITTEN)
    written.log.tell(PassDone(fleet="a", revision="", outlook="wait", reason="", moves=0))
    written.log.tell(WriteTroubled(fleet="ops/prod", reason="edge-1: 409", times=1))
    assert [line["event"] for line in written.lines] == ["write_troubled"]


@pytest.mark.parametrize("reason", Reason, ids=lambda r: r.event)
def test_what_wants_a_human_is_a_warning_in_the_log_as_it_is_in_kubernetes(reason: Reason) -> None:
    _, level, _ = told(Happened("a/b", happening(reason)))
    assert (level is Level.WARNING) == (reason.weight.value == "Warning")


# -------------------------------------------------------------------------------------------------------------- secrets


def fail(error: Exception) -> None:
    raise error


@pytest.fixture
def redacted() -> Written:
    """A log before which the product's own redactor stands."""
    return Written(redact=Redactor(DEFAULT_POLICY.sensitive, [SECRET.encode(), b"\xff\x00binary"]).redact)


def test_a_secret_of_the_repository_is_taken_out_of_every_field_in_every_spelling(redacted: Written) -> None:
    redacted.log.tell(
        Happened(
            "ops/prod", happening(Reason.CLUSTER_FAILED, f"line {SECRET} in hex {SECRET.encode().hex()}")
        )
    )
    redacted.log.tell(FleetTroubled(fleet=SECRET, reason=json.dumps({"k": SECRET}), times=1))
    assert "horse" not in redacted.text
    assert SECRET.encode().hex() not in redacted.text
    assert redacted.lines[0]["reason"].count("[sensitive, 21 bytes]") == 2


def test_credentials_are_hidden_without_anybody_having_named_them(redacted: Written) -> None:
    redacted.log.tell(
        WriteTroubled(
            fleet="a/b",
            reason="GET https://me:pa55@host/ {'Authorization': 'Bearer abcdef'} token=xyz123",
            times=1,
        )
    )
    assert (
        redacted.lines[0]["reason"]
        == "GET https://[hidden]@host/ {'Authorization': '[hidden]'} token=[hidden]"
    )


def test_a_crash_shows_places_and_causes_and_no_value_of_any_variable(redacted: Written) -> None:
    password = "never to be seen"
    assert password
    try:
        try:
            fail(KeyError(SECRET.encode(), b"\xff\x00binary"))
        except KeyError as error:
            raise RuntimeError(f"headers {{'Authorization': 'Bearer {SECRET}'}}") from error
    except RuntimeError as error:
        redacted.log.crashed("pass", error)
    (line,) = redacted.lines
    assert (line["event"], line["level"], line["error"]) == ("crashed", "error", "RuntimeError")
    assert "caused by KeyError" in line["message"]
    assert any("test_telemetry_log.py:" in place for place in line["trace"])
    for hidden in ("horse", "never to be seen", "binary", "raise "):
        assert hidden not in redacted.text


def test_a_redaction_that_fails_shows_nothing() -> None:
    def broken(text: str) -> str:
        raise RecursionError(text)

    written = Written(redact=broken)
    written.log.tell(WriteTroubled(fleet="a/b", reason=SECRET, times=1))
    assert SECRET not in written.text
    assert NOT_SHOWN in written.text


def test_the_redaction_of_the_moment_holds() -> None:
    known = {"old": "[a]"}
    written = Written(redact=lambda text: known.get(text, text))
    written.log.tell(WriteTroubled(fleet="a/b", reason="new", times=1))
    known["new"] = "[b]"
    written.log.tell(WriteTroubled(fleet="a/b", reason="new", times=1))
    assert [line["reason"] for line in written.lines] == ["new", "[b]"]


@pytest.fixture
def taken_over(redacted: Written) -> Iterator[Written]:
    """The log as the only way out of the process, and everything as it was afterwards."""
    handlers, hook, thread_hook = logging.root.handlers[:], sys.excepthook, threading.excepthook
    take_over(redacted.log)
    yield redacted
    logging.captureWarnings(capture=False)
    logging.root.handlers[:] = handlers
    sys.excepthook, threading.excepthook = hook, thread_hook


def test_what_libraries_say_goes_the_same_way(taken_over: Written) -> None:
    logging.getLogger("urllib3").warning("retrying %s", f"https://me:{SECRET}@host")
    logging.getLogger("urllib3").debug("nothing")
    ours = next(h for h in logging.root.handlers if type(h).__module__ == Log.__module__)
    ours.handle(logging.LogRecord("broken", logging.WARNING, "a.py", 1, "two %s %s", ("one",), None))
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn(f"old: {SECRET}", stacklevel=1)
    try:
        fail(ValueError(SECRET))
    except ValueError:
        logging.getLogger("kubernetes").exception("it failed")
    assert [line["library"] for line in taken_over.lines] == [
        "urllib3",
        "broken",
        "py.warnings",
        "kubernetes",
    ]
    assert "ValueError" in taken_over.lines[3]["message"]
    assert "horse" not in taken_over.text


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_that_dies_is_told_in_the_log_and_nowhere_else(
    taken_over: Written, capsys: pytest.CaptureFixture[str]
) -> None:
    def dies() -> None:
        raise ValueError(SECRET)

    thread = threading.Thread(target=dies, name="worker-7")
    thread.start()
    thread.join()
    try:
        dies()
    except ValueError as error:
        sys.excepthook(type(error), error, error.__traceback__)
    assert [(line["event"], line["where"]) for line in taken_over.lines] == [
        ("crashed", "worker-7"),
        ("crashed", "main"),
    ]
    assert "horse" not in taken_over.text + capsys.readouterr().err


# -------------------------------------------------------------------------------------------------------------- streams


def test_a_stream_that_is_gone_stops_nobody() -> None:
    written = Written()
    written.stream.close()
    written.log.tell(WRITTEN)


def test_a_text_of_many_lines_stays_on_one() -> None:
    written = Written()
    written.log.tell(WriteTroubled(fleet="a/b", reason='a\nb\r\n{"event": "forged"}\u2028c', times=1))
    assert len(written.text.split("\n")) == 2
    assert [line["event"] for line in written.lines] == ["write_troubled"]


def test_people_get_lines_without_anything_that_commands_their_terminal() -> None:
    written = Written(form=Form.TERMINAL)
    written.log.tell(WriteTroubled(fleet="a/b", reason="red \x1b[31m\nnext", times=1))
    assert "\x1b" not in written.text
    assert "x1b[31m" in written.text
    assert written.text.count("\n") == 1
    assert "write_troubled" in written.text


def test_only_a_terminal_gets_lines_for_people() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    assert (form_for(Terminal()), form_for(io.StringIO())) == (Form.TERMINAL, Form.JSON)


def test_many_threads_write_whole_lines() -> None:
    written = Written()

    def often() -> None:
        for _ in range(50):
            written.log.tell(WRITTEN)

    threads = [threading.Thread(target=often) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(written.lines) == 400
