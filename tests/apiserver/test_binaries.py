"""The servers are built once, whole or not at all, and who lacks Go is told how to get it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.apiserver.binaries import kubernetes_version

ROOT = Path(__file__).parents[2]
_GO = """\
#!/bin/sh
if [ "$1" = version ]; then echo go version go1.26.8 linux/amd64; exit; fi
echo "$@" >> "$BUILDS"
while [ "$1" != -o ]; do shift; done
touch "$2/etcd" "$2/kube-apiserver"
if [ -n "$FAILS" ]; then echo no module >&2; exit 1; fi
sleep "$TAKES"
touch "$2/kubectl"
"""
"""In the place of Go: notes that it was called, and makes files as `go build` does."""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A cache of its own, and the Go above."""
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "go").write_text(_GO)
    (tools / "go").chmod(0o755)
    return {
        "PATH": f"{tools}:/usr/bin:/bin",
        "HOME": str(tmp_path),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "BUILDS": str(tmp_path / "builds"),
        "TAKES": "0",
        "PYTHONPATH": str(ROOT),
    }


def _start(environment: dict[str, str]) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.apiserver"]
    return subprocess.Popen(
        command, cwd=ROOT, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


def _said(environment: dict[str, str]) -> tuple[int, str]:
    run = _start(environment)
    told, _ = run.communicate(timeout=60)
    return run.returncode, told


def _folders(environment: dict[str, str]) -> list[Path]:
    """What the next run would take for built."""
    cache = Path(environment["XDG_CACHE_HOME"]) / "gitops-mc" / "apiserver"
    return [f for f in cache.glob("*") if f.is_dir() and not f.name.startswith("building-")]


def test_a_second_run_builds_nothing(environment: dict[str, str]) -> None:
    for _ in range(2):
        status, told = _said(environment)
        assert (status, f"kube-apiserver {kubernetes_version()}" in told) == (0, True)
    assert len(Path(environment["BUILDS"]).read_text().splitlines()) == 1
    (folder,) = _folders(environment)
    assert {"etcd", "kube-apiserver", "kubectl"} <= {f.name for f in folder.iterdir()}


def test_a_build_that_is_killed_leaves_nothing_that_could_be_taken_for_whole(
    environment: dict[str, str],
) -> None:
    run = _start(environment | {"TAKES": "600"})
    builds = Path(environment["BUILDS"])
    end = time.monotonic() + 30
    while not builds.exists() and time.monotonic() < end:
        time.sleep(0.05)
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    assert run.stdout is not None
    run.stdout.close()
    assert _folders(environment) == []
    assert _said(environment)[0] == 0
    (folder,) = _folders(environment)
    assert (folder / "kubectl").exists()
    assert not list(folder.parent.glob("building-*"))


def test_a_build_that_fails_says_what_go_said_and_leaves_nothing(environment: dict[str, str]) -> None:
    status, told = _said(environment | {"FAILS": "1"})
    assert status == 1
    assert "NOT RUN: no test met a real API server." in told
    assert "no module" in told
    assert _folders(environment) == []


def test_without_go_nothing_runs_and_it_is_said_how_to_get_it(
    environment: dict[str, str], tmp_path: Path
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    status, told = _said(environment | {"PATH": str(empty)})
    assert status == 1
    assert "NOT RUN: no test met a real API server. Go is not on the PATH" in told
    assert "https://go.dev/dl/" in told
