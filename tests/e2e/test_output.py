"""Where a result goes that has no room there, or nowhere to go."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.program import plain_environment

ROOT = Path(__file__).parents[2]


def run(redirection: str) -> subprocess.CompletedProcess[str]:
    command = f'"{sys.executable}" -m gitops_mc.cli validate examples/fleet {redirection}'
    return subprocess.run(
        ["sh", "-c", command],
        cwd=ROOT,
        env=plain_environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
def test_a_result_that_has_no_room_is_an_error_that_says_so_and_no_bug() -> None:
    ended = run("> /dev/full")
    assert ended.returncode == 1
    assert ended.stderr.splitlines() == [
        "error: the result cannot be written: No space left on device",
        "hint: is there room where the output goes?",
    ]


@pytest.mark.parametrize("redirection", [">&-", "2>&-", ">&- 2>&-"])
def test_a_stream_that_is_closed_is_written_nowhere(redirection: str) -> None:
    assert run(redirection).returncode == 0
