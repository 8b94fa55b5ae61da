"""A controller's process and a forge, over real sockets and in real time."""

from __future__ import annotations

import threading
import time
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path

import pytest

from gitops_mc.app.ports import MERGE_PATCH, Response
from tests.adapters.forge_servers import CA, TOKEN, ForgeServer, GiteaServer, running
from tests.adapters.kube_peers import Seen
from tests.e2e.fleet_site import GROUP, PATIENCE, Site, controller, site

pytestmark = pytest.mark.slow
CORE = "/api/v1/namespaces/gitops-mc"


def name_forge(place: Site, server: ForgeServer) -> str:
    """Have the Fleet name it; the commit that is followed."""
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "forge"}}
    place.call("POST", f"{CORE}/secrets", {**secret, "data": {"token": b64encode(TOKEN.encode()).decode()}})
    ca = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "ca"},
        "data": {"ca.crt": CA.read_text()},
    }
    place.call("POST", f"{CORE}/configmaps", ca)
    forge = {
        "type": "gitea",
        "url": server.peer.url,
        "project": server.project,
        "tokenRef": {"name": "forge", "key": "token"},
        "caRef": {"name": "ca"},
    }
    place.call("PATCH", f"{GROUP}/fleets/prod", {"spec": {"forge": forge}}, MERGE_PATCH)
    head = (place.folder / "fleet.git" / "refs" / "heads" / "main").read_text().strip()
    server.commits.add(head)
    return head


def wait(so: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not so():
        assert time.monotonic() < end
        time.sleep(0.1)


def test_a_commit_is_pending_until_it_is_approved_and_a_success_in_the_end(tmp_path: Path) -> None:
    with running(GiteaServer()) as server, site(tmp_path) as place:
        head = name_forge(place, server)
        with controller(place):
            wait(lambda: bool(server.told(head)))
            place.wait(lambda fleet: (fleet.get("status") or {}).get("outlook") == "hold")
            assert {state for state, _ in server.told(head)} == {"pending"}
            assert place.run("approve", "rest", "--fleet", "prod").code == 0
            wait(lambda: server.told(head)[-1] == ("success", "3 of 3 clusters have it"))
        assert TOKEN not in (tmp_path / "controller.log").read_text()
        assert TOKEN not in str(place.fleet())


def test_a_forge_that_hangs_holds_up_no_rollout(tmp_path: Path) -> None:
    go = threading.Event()
    with running(GiteaServer()) as server, site(tmp_path) as place:
        name_forge(place, server)
        handle = server.peer.answer

        def hang(seen: Seen) -> Response:
            go.wait(PATIENCE)
            return handle(seen)

        server.peer.answer = hang
        with controller(place):
            wait(lambda: bool(server.peer.seen))
            place.wait(lambda fleet: (fleet.get("status") or {}).get("outlook") == "hold")
            assert server.statuses == []
            wait(lambda: '"forge_failed"' in (tmp_path / "controller.log").read_text())
            assert "no answer within 10 s" in (tmp_path / "controller.log").read_text()
        go.set()
