"""Messages over real HTTP and SMTP on loopback, through the library that the product uses."""

from __future__ import annotations

import json
import logging
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any

import apprise
import pytest

from gitops_mc.adapters import post
from gitops_mc.adapters.post import LOCAL, ApprisePost
from gitops_mc.app.notifying import NotSentError
from gitops_mc.core.render.notices import Message, Mood

MESSAGE = Message(
    "prod: 1 < 2 & *halted*", "- edge-1 failed, at <pool> *worker*\nlook: gitops-mc status", Mood.FAILURE
)
TOKEN = "s3cr3t-t0ken-of-the-channel"


@dataclass
class Web:
    """A web service that answers with `status` and notes what it got."""

    status: int = 200
    got: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    silent: threading.Event = field(default_factory=threading.Event)
    """Set: nothing is answered until it ends."""
    ended: threading.Event = field(default_factory=threading.Event)
    port: int = 0


@pytest.fixture
def web() -> Iterator[Web]:
    found = Web()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if found.silent.is_set():
                found.ended.wait(60)
                return
            found.got.append((self.path, json.loads(body)))
            self.send_response(found.status)
            self.end_headers()
            self.wfile.write(b"no: " + self.path.encode())

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    found.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield found
    found.ended.set()
    server.shutdown()
    server.server_close()
    thread.join(5)


def test_a_webhook_gets_title_body_and_how_bad_it_is_as_they_are(web: Web) -> None:
    ApprisePost().send(f"json://127.0.0.1:{web.port}/{TOKEN}", MESSAGE)
    ((path, body),) = web.got
    assert path.startswith(f"/{TOKEN}")
    assert (body["title"], body["message"], body["type"]) == (MESSAGE.title, MESSAGE.body, "failure")


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 503])
def test_a_refusal_is_told_with_its_code_and_without_the_address(web: Web, status: int) -> None:
    web.status = status
    with pytest.raises(NotSentError) as told:
        ApprisePost().send(f"json://user:{TOKEN}@127.0.0.1:{web.port}/{TOKEN}/more?-key={TOKEN}", MESSAGE)
    assert str(status) in told.value.message
    assert told.value.message.startswith("json://: ")
    assert TOKEN not in str(told.value.message) + str(told.value.hint)


def test_a_service_that_does_not_answer_is_waited_for_no_longer_than_promised(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(post, "WITHIN", 1.0)
    web.silent.set()
    with pytest.raises(NotSentError) as told:
        ApprisePost().send(f"json://127.0.0.1:{web.port}/{TOKEN}?rto=300", MESSAGE)
    assert TOKEN not in told.value.message


def test_a_service_that_is_not_there_is_told_without_the_address() -> None:
    with socketserver.TCPServer(("127.0.0.1", 0), socketserver.BaseRequestHandler) as free:
        port = free.server_address[1]
    with pytest.raises(NotSentError) as told:
        ApprisePost().send(f"json://127.0.0.1:{port}/{TOKEN}", MESSAGE)
    assert "onnection" in told.value.message
    assert TOKEN not in told.value.message


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        (f"pagerduty://integrationKEY123@{TOKEN}", f"sending to {TOKEN}"),
        (f"dingtalk://{TOKEN}@{TOKEN}x", f"sending to {TOKEN}x and {TOKEN}"),
        (
            f"mailto://me:{TOKEN}@smtp.example.com?to=ops@example.com",
            f"mail by smtp.example.com with {TOKEN}",
        ),
    ],
)
def test_whatever_the_library_says_nothing_of_an_address_but_a_host_that_is_one_is_shown(
    address: str, reason: str
) -> None:
    entry = SimpleNamespace(level="WARNING", message=reason)
    told = post._reason(address.partition(":")[0], address, [SimpleNamespace(logs=lambda: [entry])])
    assert TOKEN not in told
    assert ("smtp.example.com" in told) is address.startswith("mailto")


@pytest.mark.parametrize(
    "address",
    [
        "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ",
        "dingtalk://0123456789abcdef",
        f"feishu://{TOKEN}",
        f"wecombot://{TOKEN}",
        f"workflows://example.com:443/{TOKEN}/{TOKEN}",
        f"mailto://user:{TOKEN}@example.com",
    ],
)
def test_the_library_knows_the_services_that_the_documentation_names(address: str) -> None:
    assert apprise.Apprise.instantiate(address) is not None


@pytest.mark.parametrize(
    "address",
    ["", TOKEN, f"https://{TOKEN}", f"nonsense://{TOKEN}", f"slack://{TOKEN}", f"file:///{TOKEN}", "json://"],
)
def test_what_is_no_address_is_refused_without_showing_it(
    address: str, capfd: pytest.CaptureFixture[str]
) -> None:
    logged: list[str] = []
    at_the_root = logging.Handler()
    at_the_root.emit = lambda record: logged.append(record.getMessage())  # type: ignore[method-assign]
    logging.root.addHandler(at_the_root)
    try:
        with pytest.raises(NotSentError) as told:
            ApprisePost().send(address, MESSAGE)
    finally:
        logging.root.removeHandler(at_the_root)
    assert TOKEN not in "".join(logged) + "".join(capfd.readouterr())
    assert TOKEN not in told.value.message
    assert "apprise" in told.value.hint.lower() or "://" in told.value.message


@pytest.mark.parametrize("scheme", sorted(LOCAL))
def test_what_would_only_reach_this_machine_is_refused(scheme: str) -> None:
    with pytest.raises(NotSentError, match="nobody"):
        ApprisePost().send(f"{scheme}://localhost", MESSAGE)


@contextmanager
def mail_server(got: list[str]) -> Iterator[int]:
    """As much of SMTP (RFC 5321) as a client without TLS and password speaks."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.wfile.write(b"220 here\r\n")
            for line in iter(self.rfile.readline, b""):
                verb = line[:4].upper()
                if verb == b"DATA":
                    self.wfile.write(b"354 go on\r\n")
                    lines = list(iter(self.rfile.readline, b".\r\n"))
                    got.append(b"".join(lines).decode())
                self.wfile.write({b"QUIT": b"221 bye\r\n"}.get(verb, b"250 fine\r\n"))
                if verb == b"QUIT":
                    return

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join(5)


def test_a_mail_has_the_title_as_its_subject() -> None:
    got: list[str] = []
    with mail_server(got) as port:
        address = f"mailto://127.0.0.1:{port}?from=gitops-mc@example.com&to=ops@example.com&mode=insecure"
        ApprisePost().send(address, MESSAGE)
    (mail,) = got
    assert "ops@example.com" in mail
    assert "Subject:" in mail
