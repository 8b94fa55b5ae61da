"""A controller's process, a forge with pull requests, and Git that keeps their heads: over real sockets and in real time."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gitops_mc.app.ports import MERGE_PATCH
from tests.adapters.forge_pull_servers import ME, GiteaPullServer, Pull
from tests.adapters.forge_servers import TOKEN, running
from tests.e2e.fleet_site import GROUP, PATIENCE, POLICY, Site, controller, site
from tests.e2e.test_forge import name_forge
from tests.scenarios.rollout_world import machine_config

pytestmark = pytest.mark.slow


def wait(so: Callable[[], bool], told: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not so():
        assert time.monotonic() < end, told()
        time.sleep(0.1)


def git(place: Site, *arguments: str) -> str:
    who = ("-c", "user.name=mei", "-c", "user.email=mei@example.com")
    done = subprocess.run(
        ["git", *who, *arguments], cwd=place.folder / "work", check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def head_of(place: Site, number: int, path: str, text: str) -> str:
    """A commit on main that only the pull request leads to, as forges keep it."""
    git(place, "checkout", "-q", "--detach", "main")
    (place.folder / "work" / path).write_text(text)
    git(place, "add", "-A")
    git(place, "commit", "-q", "-m", "theirs")
    git(place, "push", "-q", str(place.folder / "fleet.git"), f"+HEAD:refs/pull/{number}/head")
    head = git(place, "rev-parse", "HEAD")
    git(place, "checkout", "-q", "main")
    return head


def test_pull_requests_show_what_merging_them_does_and_those_of_strangers_nothing_of_the_clusters(
    tmp_path: Path,
) -> None:
    with running(GiteaPullServer()) as server, site(tmp_path) as place:
        assert isinstance(server, GiteaPullServer)
        name_forge(place, server)
        place.call("PATCH", f"{GROUP}/fleets/prod", {"spec": {"previews": {"enabled": True}}}, MERGE_PATCH)
        config = machine_config("50-worker-app", files={"/etc/app.conf": "two\n"})
        hers = head_of(place, 7, "clusters/edge-1/app.yaml", config)
        theirs = head_of(
            place, 8, "clusters/edge-2/app.yaml", config.replace("/etc/app.conf", "etc/app.conf")
        )
        server.commits |= {hers, theirs}
        server.put(Pull(7, hers, "mei", "<script>alert(1)</script>"))
        server.put(Pull(8, theirs, "eve", fork=True))

        def ours(number: int) -> list[str]:
            return [c.body for c in server.of_pull(number) if c.author == ME]

        def states(head: str) -> list[str]:
            return [s["state"] for s in server.of(head) if s["context"] == "gitops-mc/preview/prod"]

        log = tmp_path / "controller.log"
        with controller(place):
            wait(lambda: bool(ours(7) and ours(8)), lambda: log.read_text()[-3000:])
            wait(
                lambda: all(s and s[-1] != "pending" for s in (states(hers), states(theirs))),
                lambda: log.read_text()[-3000:],
            )
            (trusted,), (stranger,) = ours(7), ours(8)
            assert "/etc/app.conf" in trusted
            assert "edge-1-w1" in trusted
            assert "edge-1-w1" not in stranger
            assert "edge-2-w1" not in stranger
            assert "fork" in stranger
            assert states(theirs)[-1] == "failure"
            pushed = head_of(place, 7, "clusters/edge-1/app.yaml", config.replace("two", "three"))
            server.commits.add(pushed)
            server.pulls[7].head = pushed
            server.touch(server.pulls[7])
            wait(lambda: pushed[:12] in ours(7)[0], lambda: log.read_text()[-3000:])
            assert len(ours(7)) == 1
        assert "<script" not in log.read_text() + trusted
        assert TOKEN not in log.read_text()
        assert "previews" not in (place.fleet().get("status") or {})


def test_what_a_preview_has_shown_is_remembered_and_what_none_has_shown_waits(tmp_path: Path) -> None:
    with running(GiteaPullServer()) as server, site(tmp_path) as place:
        assert isinstance(server, GiteaPullServer)
        name_forge(place, server)
        place.call("PATCH", f"{GROUP}/fleets/prod", {"spec": {"previews": {"enabled": True}}}, MERGE_PATCH)
        log = tmp_path / "controller.log"

        def standing() -> tuple[str, str]:
            status = place.call("GET", f"{GROUP}/clusterrollouts/edge-1").get("status") or {}
            return status.get("standing", ""), str(status)

        with controller(place):
            place.wait(lambda fleet: (fleet.get("status") or {}).get("outlook") == "hold")
            assert place.run("approve", "rest", "--fleet", "prod").code == 0
            place.wait(lambda fleet: (fleet.get("status") or {}).get("outlook") == "done")
            place.commit({"fleet.yaml": POLICY.replace("rollout:", "rollout:\n    requirePreview: true")})
            config = machine_config("50-worker-app", files={"/etc/app.conf": "two\n"})
            head = head_of(place, 7, "clusters/edge-1/app.yaml", config)
            server.commits.add(head)
            server.put(Pull(7, head))
            wait(lambda: "pull request 7" in standing()[1], lambda: log.read_text()[-3000:])
            place.commit({"clusters/edge-1/app.yaml": config})
            merged = git(place, "rev-parse", "HEAD")
            place.wait(
                lambda fleet: (
                    fleet["status"]["outlook"] == "done" and fleet["status"]["source"]["commit"] == merged
                )
            )
            assert standing()[0] == "passed"
            place.commit({"clusters/edge-1/app.yaml": config.replace("two", "three")})
            wait(lambda: "no preview has shown what this content does here" in standing()[1], standing)
