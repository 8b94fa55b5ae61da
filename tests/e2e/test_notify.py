"""A Fleet that waits for an approval tells people: a real controller, a real web service, and `gitops-mc notify test`."""

from __future__ import annotations

import json
import threading
import time
from base64 import b64encode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.docs.readme import ROOT
from tests.e2e.fleet_site import GROUP, PATIENCE, Site, controller, site

pytestmark = pytest.mark.slow

MERGE = "application/merge-patch+json"


@pytest.fixture
def got() -> Iterator[tuple[int, list[dict[str, Any]]]]:
    messages: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            messages.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield server.server_address[1], messages
    server.shutdown()
    server.server_close()
    thread.join(5)


def told_of(place: Site) -> dict[str, Any]:
    shown = (place.fleet().get("status") or {}).get("notifications") or []
    return {each["name"]: each for each in shown}


def test_people_are_told_once_also_when_the_controller_begins_anew(
    tmp_path: Any, got: tuple[int, list[dict[str, Any]]]
) -> None:
    port, messages = got
    with site(tmp_path) as place:
        assert "has no spec.notifications" in place.run("notify", "test", "--fleet", "prod").err
        address = f"# the channel of operations\njson://127.0.0.1:{port}/a-secret-path\n".encode()
        body = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "fleet-notify"},
            "data": {"ops": b64encode(address).decode()},
        }
        place.call("POST", "/api/v1/namespaces/gitops-mc/secrets", body)
        wanted = [
            {"name": "operations", "secretRef": {"name": "fleet-notify", "key": "ops"}},
            {"name": "on-call", "secretRef": {"name": "fleet-notify", "key": "on-call"}},
        ]
        place.call("PATCH", f"{GROUP}/fleets/prod", {"spec": {"notifications": wanted}}, MERGE)

        tried = place.run("notify", "test", "--fleet", "prod")
        assert tried.code == 1
        assert tried.out in (ROOT / "docs" / "notifications.md").read_text(encoding="utf-8")
        assert "a test of gitops-mc" in messages.pop()["title"]
        assert place.run("notify", "test", "operations", "--fleet", "prod").code == 0
        messages.clear()
        assert "there are: operations, on-call" in place.run("notify", "test", "x", "--fleet", "prod").err

        with controller(place):
            place.wait(lambda fleet: (fleet.get("status") or {}).get("outlook") == "hold")
            end = time.monotonic() + PATIENCE
            while "sent" not in told_of(place).get("operations", {}) and time.monotonic() < end:
                time.sleep(0.2)
        assert "wave rest" in "".join(m["message"] for m in messages)
        shown = told_of(place)
        assert shown["on-call"]["problem"].startswith("Secret fleet-notify has no key on-call")
        seen, asked = len(messages), place.fleet()["status"]["source"]["polled"]
        with controller(place):
            place.wait(lambda fleet: fleet["status"]["source"]["polled"] != asked)
            time.sleep(3)
        assert [m["message"] for m in messages[seen:]] == [], "it stood, and was told"
    assert "a-secret-path" not in (tmp_path / "controller.log").read_text()
