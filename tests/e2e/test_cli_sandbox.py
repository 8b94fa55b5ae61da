"""sandbox start as a process: what it prints works, and it ends cleanly."""

from __future__ import annotations

import re
import signal
import subprocess
import threading
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from gitops_mc.adapters.sandbox_clock import first_server, sandbox_clock
from gitops_mc.core.errors import UnreachableError
from gitops_mc.sandbox.gateway import SandboxTime, start
from tests.e2e.program import PROGRAM, Place, plain_environment


def test_it_prints_how_to_reach_it_and_that_works_and_ctrl_c_ends_it(tmp_path: Path) -> None:
    words = (
        "sandbox",
        "start",
        "--clusters",
        "1",
        "--nodes",
        "2",
        "--speed",
        "60",
        "--dir",
        "box",
        "--fault",
        "late-render@edge-1",
    )
    process = subprocess.Popen(
        [*PROGRAM, *words],
        env=plain_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    assert process.stdout is not None
    shown = ""
    for line in process.stdout:
        shown += line
        if line.startswith("Ctrl-C"):
            break
    try:
        url = re.search(r"gateway: +(\S+)", shown)
        assert url is not None
        assert "late-render@edge-1" in shown
        environment = {"GITOPS_MC_GATEWAY": url[1], "GITOPS_MC_TOKEN_FILE": str(tmp_path / "box/token")}
        asked = Place(tmp_path, environment).run("doctor")
        assert asked.code == 0, asked
        by_kubeconfig = Place(tmp_path).run("doctor", "--cluster", "edge-1", "--kubeconfig", "box/kubeconfig")
        assert by_kubeconfig.code == 0, by_kubeconfig
        assert first_server(tmp_path / "box/kubeconfig").startswith(url[1])
        assert (tmp_path / "box/token").stat().st_mode & 0o077 == 0
    finally:
        process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 0, err
    assert "the sandbox has ended" in err


def test_every_fault_is_listed_and_one_that_nobody_knows_is_wrong_usage(tmp_path: Path) -> None:
    listed = Place(tmp_path).run("sandbox", "faults")
    assert listed.code == 0
    assert "node-degraded" in listed.out
    wrong = Place(tmp_path).run("sandbox", "start", "--fault", "late-rendr")
    assert wrong.code == 2
    assert "did you mean late-render?" in wrong.err


def test_the_engine_takes_the_time_of_the_sandbox_it_talks_to() -> None:
    there = datetime(2031, 1, 1, tzinfo=UTC)
    gateway = start({}, time=SandboxTime(lambda: there, 60.0))
    try:
        clock = sandbox_clock(gateway.url + "/as/token/kubernetes/edge-1")
        assert clock is not None
        before = clock.now()
        assert there <= before < there + timedelta(minutes=5)
        clock.wait(before + timedelta(seconds=6))
        assert clock.now() >= before + timedelta(seconds=6)
    finally:
        gateway.stop()


def test_a_gateway_without_a_clock_and_one_that_is_not_on_this_machine_keep_real_time() -> None:
    gateway = start({})
    try:
        assert sandbox_clock(gateway.url) is None
    finally:
        gateway.stop()
    assert sandbox_clock("https://127.0.0.1:1") is None
    assert sandbox_clock("http://acp.example.com") is None


@pytest.mark.parametrize(
    "body",
    [b"[" * 100_000, b"<html>", b"7", b'{"speed": "x"}', b'{"speed": 0, "now": "2031-01-01T00:00:00Z"}'],
)
def test_whatever_else_answers_on_this_machine_is_no_sandbox(body: bytes) -> None:
    class Answering(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with HTTPServer(("127.0.0.1", 0), Answering) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        assert sandbox_clock(f"http://127.0.0.1:{server.server_port}") is None


def test_a_sandbox_that_does_not_answer_is_said() -> None:
    with pytest.raises(UnreachableError, match="does not answer"):
        sandbox_clock("http://127.0.0.1:1")
