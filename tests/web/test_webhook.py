"""The webhook over real HTTP: who knows the secret wakes the poll, and nobody else learns or does anything."""

from __future__ import annotations

import hashlib
import hmac
import logging
import re
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitops_mc.app.rate_limit import Rate
from gitops_mc.web.serving import Running
from gitops_mc.web.signatures import NOBODY
from gitops_mc.web.webhook import LARGEST_BODY, Answered, FleetName, Rates, Webhook
from tests.web.asking import Answer, ask, raw, served

SECRET = b"a long secret"
BODY = b'{"ref": "refs/heads/main"}'
PROD = FleetName("ops", "prod")
PATH = "/webhook/ops/prod"


def hmac_of(body: bytes, secret: bytes = SECRET) -> str:
    return hmac.new(secret, body, hashlib.sha256).hexdigest()


@dataclass
class Receiver:
    now: float = 100.0
    secrets: dict[FleetName, tuple[bytes, ...]] = field(default_factory=lambda: {PROD: (SECRET,)})
    woken: list[FleetName] = field(default_factory=list)
    answers: list[tuple[FleetName | None, Answered]] = field(default_factory=list)
    rates: Rates = field(default_factory=lambda: Rates(Rate(100_000, 0.001), Rate(100_000, 0.001)))
    running: Running | None = None
    errors: list[BaseException] = field(default_factory=list)

    def wake(self, fleet: FleetName) -> None:
        self.woken.append(fleet)

    def webhook(self) -> Webhook:
        return Webhook(
            secrets=lambda fleet: self.secrets.get(fleet, ()),
            wake=self.wake,
            answered=lambda fleet, answered: self.answers.append((fleet, answered)),
            now=lambda: self.now,
            failed=self.errors.append,
            rates=self.rates,
            body_within=0.5,
        )

    def post(self, headers: Mapping[str, str], body: bytes = BODY, path: str = PATH) -> Answer:
        assert self.running is not None
        return ask(self.running, "POST", path, body, headers)


@pytest.fixture
def receiver(request: pytest.FixtureRequest) -> Iterator[Receiver]:
    rates = getattr(request, "param", None)
    receiver = Receiver() if rates is None else Receiver(rates=rates)
    with served(receiver.webhook().app()) as receiver.running:
        yield receiver


SENDERS = {
    "GitHub": {"X-Hub-Signature-256": f"sha256={hmac_of(BODY)}", "X-GitHub-Event": "push"},
    "Gitea": {"X-Gitea-Signature": hmac_of(BODY), "X-Gitea-Event": "push"},
    "Forgejo": {"X-Forgejo-Signature": hmac_of(BODY)},
    "GitLab": {"X-Gitlab-Token": SECRET.decode(), "X-Gitlab-Event": "Push Hook"},
    "a script with a token": {"Authorization": f"Bearer {SECRET.decode()}"},
    "a script with a signature": {"X-Signature-256": hmac_of(BODY).upper()},
    "a script with a signature and its kind": {"X-Signature-256": f"sha256={hmac_of(BODY)}"},
}


@pytest.mark.parametrize("sender", SENDERS)
def test_whoever_knows_the_secret_wakes_the_poll_of_that_fleet(receiver: Receiver, sender: str) -> None:
    answer = receiver.post(SENDERS[sender])
    assert (answer.status, answer.text) == (202, "accepted\n")
    assert receiver.woken == [PROD]
    assert receiver.answers == [(PROD, Answered.ACCEPTED)]


WRONG = {
    "nothing": {},
    "a signature of another body": {"X-Hub-Signature-256": f"sha256={hmac_of(BODY + b'x')}"},
    "a signature with another secret": {"X-Gitea-Signature": hmac_of(BODY, b"guess")},
    "a signature with an empty secret": {"X-Hub-Signature-256": f"sha256={hmac_of(BODY, b'')}"},
    "GitHub's without its prefix": {"X-Hub-Signature-256": hmac_of(BODY)},
    "GitHub's old and broken one": {"X-Hub-Signature": hmac.new(SECRET, BODY, hashlib.sha1).hexdigest()},
    "another token": {"X-Gitlab-Token": "a long secret!"},
    "an empty token": {"X-Gitlab-Token": ""},
    "a token of the right beginning": {"X-Gitlab-Token": "a long secre"},
    "a bearer without a token": {"Authorization": "Bearer "},
    "a token without Bearer": {"Authorization": SECRET.decode()},
    "a token as a signature": {"X-Signature-256": SECRET.decode()},
    "a signature as a token": {"X-Gitlab-Token": hmac_of(BODY)},
}


@pytest.mark.parametrize("proof", WRONG)
def test_whoever_does_not_is_denied_and_wakes_nothing(receiver: Receiver, proof: str) -> None:
    answer = receiver.post(WRONG[proof])
    assert (answer.status, answer.text) == (401, "not accepted\n")
    assert receiver.woken == []
    assert receiver.answers == [(None, Answered.DENIED)]


@pytest.mark.parametrize(
    "path",
    [
        "/webhook/ops/nothing",
        "/webhook/other/prod",
        "/webhook/ops/%00",
        "/webhook/%2e%2e/prod",
        "/webhook/ops/" + "a" * 300,
    ],
)
def test_a_fleet_that_is_not_there_is_answered_exactly_as_a_wrong_secret(
    receiver: Receiver, path: str
) -> None:
    wrong = receiver.post({"X-Gitlab-Token": "guess"})
    for headers in SENDERS.values():
        missing = receiver.post(headers, path=path)
        without_date = [{k: v for k, v in a.headers.items() if k != "date"} for a in (wrong, missing)]
        assert (wrong.status, wrong.text, without_date[0]) == (missing.status, missing.text, without_date[1])
    assert receiver.woken == []


def test_what_stands_in_for_the_secret_of_a_fleet_that_is_not_there_opens_nothing(receiver: Receiver) -> None:
    for secret in (NOBODY, b""):
        for headers in ({"X-Gitlab-Token": secret.decode()}, {"X-Gitea-Signature": hmac_of(BODY, secret)}):
            assert receiver.post(headers, path="/webhook/ops/nothing").status == 401
    assert receiver.woken == []


def test_a_fleet_with_an_empty_secret_takes_nothing(receiver: Receiver) -> None:
    receiver.secrets[PROD] = (b"",)
    for headers in (
        {"X-Gitlab-Token": ""},
        {"Authorization": "Bearer "},
        {"X-Gitea-Signature": hmac_of(BODY, b"")},
    ):
        assert receiver.post(headers).status == 401


def test_a_secret_that_is_replaced_holds_from_the_next_request_on(receiver: Receiver) -> None:
    old, new = {"X-Gitlab-Token": "a long secret"}, {"X-Gitlab-Token": "another secret"}
    receiver.secrets[PROD] = (b"another secret", SECRET)
    assert [receiver.post(old).status, receiver.post(new).status] == [202, 202]
    receiver.secrets[PROD] = (b"another secret",)
    assert [receiver.post(old).status, receiver.post(new).status] == [401, 202]


def test_the_same_request_again_only_wakes_again(receiver: Receiver) -> None:
    for _ in range(3):
        assert receiver.post(SENDERS["GitHub"]).status == 202
    assert receiver.woken == [PROD] * 3


def test_a_body_may_be_a_mebibyte_and_no_byte_more(receiver: Receiver) -> None:
    largest = b"x" * LARGEST_BODY
    assert receiver.post({"X-Gitea-Signature": hmac_of(largest)}, largest).status == 202
    larger = largest + b"x"
    assert receiver.post({"X-Gitea-Signature": hmac_of(larger)}, larger).status == 413
    assert receiver.post({"X-Gitlab-Token": SECRET.decode()}, b"x" * (5 * LARGEST_BODY)).status == 413
    assert len(receiver.woken) == 1


def test_a_body_that_says_it_is_huge_is_not_waited_for(receiver: Receiver) -> None:
    assert receiver.running is not None
    head = f"POST {PATH} HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999\r\n\r\n".encode()
    assert raw(receiver.running, head).startswith(b"HTTP/1.1 413 ")


def test_a_body_in_pieces_is_bounded_too(receiver: Receiver) -> None:
    assert receiver.running is not None
    piece = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    head = f"POST {PATH} HTTP/1.1\r\nHost: a\r\nX-Gitlab-Token: a long secret\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert raw(receiver.running, head.encode() + piece * 17 + b"0\r\n\r\n").startswith(b"HTTP/1.1 413 ")


def test_a_body_that_does_not_come_is_waited_for_so_long_and_no_longer(receiver: Receiver) -> None:
    assert receiver.running is not None
    head = (
        f"POST {PATH} HTTP/1.1\r\nHost: a\r\nX-Gitlab-Token: a long secret\r\nContent-Length: 10\r\n\r\nabc"
    )
    begun = time.monotonic()
    assert raw(receiver.running, head.encode()).startswith(b"HTTP/1.1 400 ")
    assert time.monotonic() - begun < 5
    assert receiver.answers == [(None, Answered.BROKEN_OFF)]


def test_a_sender_that_hangs_up_amid_its_body_leaves_nothing_behind(receiver: Receiver) -> None:
    assert receiver.running is not None
    with socket.create_connection(("127.0.0.1", receiver.running.port)) as connection:
        connection.sendall(f"POST {PATH} HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc".encode())
    assert receiver.post(SENDERS["GitLab"]).status == 202


@pytest.mark.parametrize("receiver", [Rates(Rate(3, 10.0), Rate(100, 1.0))], indirect=True)
def test_all_requests_together_are_limited_before_anything_of_them_is_read(receiver: Receiver) -> None:
    for _ in range(3):
        assert receiver.post(WRONG["nothing"]).status == 401
    answer = receiver.post(SENDERS["GitHub"])
    assert (answer.status, answer.headers["retry-after"]) == (429, "10")
    receiver.now += 10.0
    assert receiver.post(SENDERS["GitHub"]).status == 202


@pytest.mark.parametrize("receiver", [Rates(Rate(1000, 0.01), Rate(2, 30.0))], indirect=True)
def test_a_fleet_is_limited_by_those_alone_who_know_its_secret(receiver: Receiver) -> None:
    receiver.secrets[FleetName("ops", "test")] = (b"other",)
    for _ in range(20):
        assert receiver.post(WRONG["another token"]).status == 401
    assert [receiver.post(SENDERS["GitHub"]).status for _ in range(3)] == [202, 202, 429]
    assert receiver.post({"X-Gitlab-Token": "other"}, path="/webhook/ops/test").status == 202
    receiver.now += 30.0
    assert receiver.post(SENDERS["GitHub"]).status == 202


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_anything_but_a_post_is_refused_for_any_fleet(receiver: Receiver, method: str) -> None:
    assert receiver.running is not None
    for path in (PATH, "/webhook/ops/nothing"):
        answer = ask(receiver.running, method, path, headers=SENDERS["GitLab"])
        assert (answer.status, answer.headers["allow"]) == (405, "POST")
    assert receiver.woken == []


def test_nothing_else_is_served(receiver: Receiver) -> None:
    for path in (
        "/",
        "/webhook",
        "/webhook/",
        "/webhook/ops",
        "/webhook/ops/prod/",
        "/webhook/ops/prod/x",
        "/healthz",
        "/metrics",
    ):
        answer = receiver.post(SENDERS["GitLab"], path=path)
        assert (path, answer.status) == (path, 404)
        assert "server" not in answer.headers


def test_what_is_no_http_is_told_and_forgotten(receiver: Receiver) -> None:
    assert receiver.running is not None
    assert raw(receiver.running, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n").startswith(
        b"HTTP/1.1 400 "
    )
    assert raw(receiver.running, b"POST /webhook/ops/prod HTTP/1.1\r\nContent-Length: -1\r\n\r\n").startswith(
        b"HTTP/1.1 400 "
    )
    assert receiver.post(SENDERS["GitLab"]).status == 202


_NAMES = st.sampled_from(
    [
        "X-Hub-Signature-256",
        "X-Gitea-Signature",
        "X-Forgejo-Signature",
        "X-Gitlab-Token",
        "X-Signature-256",
        "Authorization",
        "Content-Type",
        "X-Other",
        "Expect",
    ]
)
_VALUES = st.binary(max_size=80).map(lambda b: b.translate(None, b"\r\n\0").strip()) | st.sampled_from(
    [b"sha256=", b"Bearer", b"bearer  ", b"sha256=" + b"0" * 64, b"\xff\xfe", b"100-continue"]
)


def test_no_body_and_no_headers_make_it_stumble(receiver: Receiver, caplog: pytest.LogCaptureFixture) -> None:
    running = receiver.running
    assert running is not None

    @settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(st.binary(max_size=300), st.lists(st.tuples(_NAMES, _VALUES), max_size=12), st.binary(max_size=12))
    def fuzz(body: bytes, headers: list[tuple[str, bytes]], name: bytes) -> None:
        path = PATH if not name else "/webhook/ops/" + "".join(f"%{letter:02x}" for letter in name)
        lines = b"".join(n.encode() + b": " + v + b"\r\n" for n, v in headers)
        head = f"POST {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {len(body)}\r\n".encode()
        answer = raw(running, head + lines + b"\r\n" + body)
        final = re.sub(rb"\AHTTP/1.1 100 .*?\r\n\r\n", b"", answer, flags=re.DOTALL)
        assert final[:13] in {b"HTTP/1.1 401 ", b"HTTP/1.1 400 ", b"HTTP/1.1 404 "}

    with caplog.at_level(logging.DEBUG):
        fuzz()
    assert receiver.woken == []
    assert receiver.errors == []
    assert [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING and r.exc_info] == []


def test_whoever_ties_up_its_connections_is_thrown_out(receiver: Receiver) -> None:
    with served(receiver.webhook().app(), idle_limit=0.3) as running:
        held = [socket.create_connection(("127.0.0.1", running.port)) for _ in range(200)]
        try:
            deadline = time.monotonic() + 10
            status = 503
            while status == 503 and time.monotonic() < deadline:
                status = ask(running, "POST", PATH, BODY, SENDERS["GitHub"]).status
            assert status == 202
        finally:
            for connection in held:
                connection.close()


def test_many_at_once_are_all_answered(receiver: Receiver) -> None:
    found: list[int] = []
    threads = [
        threading.Thread(target=lambda: found.append(receiver.post(SENDERS["Gitea"]).status))
        for _ in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [202] * 20


def test_a_fault_of_the_program_is_reported_and_told_to_nobody_outside(receiver: Receiver) -> None:
    with served(replace(receiver.webhook(), wake=_fails).app()) as running:
        answer = ask(running, "POST", PATH, BODY, SENDERS["GitLab"])
    assert (answer.status, answer.text) == (500, "error\n")
    assert [str(error) for error in receiver.errors] == ["no such loop"]


def _fails(fleet: FleetName) -> None:
    raise LookupError("no such loop")
