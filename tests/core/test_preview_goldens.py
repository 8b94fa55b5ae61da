"""What the platform's own examples come to as pull requests, each held against its golden file.

After a change that is meant: UPDATE_GOLDEN=1 pytest -n0 tests/core/test_preview_goldens.py, and read the difference.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from gitops_mc.core.preview.digest import pull_digest
from tests.core.preview_cases import CASES, DATA, EXPECTED, changes_of, everything, shown


@pytest.mark.parametrize("case", CASES)
def test_every_pool_gets_the_action_that_the_platform_s_pages_say(case: str) -> None:
    assert {
        cluster.name: {p.pool: tuple(str(a) for a in p.disruption.actions) for p in cluster.pools}
        for cluster in changes_of(case).clusters
    } == EXPECTED[case]


@pytest.mark.parametrize("case", CASES)
def test_the_changes_are_shown_as_in_the_golden_file(case: str) -> None:
    path = DATA / case / "changes.json"
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(shown(case))
    assert shown(case) == path.read_text()


def test_every_folder_is_a_case_that_is_looked_at() -> None:
    assert sorted(CASES) == sorted(p.name for p in DATA.iterdir() if p.is_dir())


def test_another_process_with_another_hash_seed_finds_the_same() -> None:
    script = "import sys; from tests.core.preview_cases import *; sys.stdout.write(everything())"
    other = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONHASHSEED": "4711", "PYTHONPATH": ".", "PYTHONUTF8": "1"},
        capture_output=True,
        check=True,
    )
    assert other.stdout.decode() == everything()


def test_no_two_cases_have_one_digest() -> None:
    assert len({pull_digest(changes_of(case)) for case in CASES}) == len(CASES)
