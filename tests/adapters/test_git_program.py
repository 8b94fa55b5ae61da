"""A program that is run within bounds leaves nobody behind."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from gitops_mc.adapters.git_program import Bounds, UnansweredSourceError, run

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="looks at /proc, which is Linux's"
)


def _runs(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in {"Z", "X"}
    except OSError:
        return False


def test_what_a_program_has_left_running_when_it_ended_itself_is_ended_when_its_time_is_over(
    tmp_path: Path,
) -> None:
    command = ("sh", "-c", "sleep 60 & echo $! >left")
    with pytest.raises(UnansweredSourceError, match="sh had not finished"):
        run(command, {"PATH": os.environ["PATH"]}, Bounds(time.monotonic() + 0.5), folder=tmp_path)
    left = int((tmp_path / "left").read_text())
    until = time.monotonic() + 5
    while _runs(left) and time.monotonic() < until:
        time.sleep(0.02)
    assert not _runs(left)
