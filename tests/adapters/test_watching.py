"""Which changed files are worth another run."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitops_mc.adapters.watching import is_configuration, moves_a_branch

ROOT = Path("/repo")


@pytest.mark.parametrize(
    ("path", "matters"),
    [
        ("fleet.yaml", True),
        ("clusters/edge-1/a.yaml", True),
        ("clusters/edge-1/files/.bashrc", True),
        ("clusters/edge-1/.hidden/a.yaml", True),
        (".git/index", False),
        (".git", False),
        (".venv/x.py", False),
        ("clusters/a/.x.yaml.swp", False),
        ("clusters/a/x.yaml~", False),
        ("clusters/a/4913", False),
        (".gitops-mc-state.json", False),
        (".gitops-mc-state.json.lock", False),
        (".gitops-mc-state.json.new", False),
    ],
)
def test_scratch_files_and_what_git_and_this_program_write_do_not_count(path: str, matters: object) -> None:
    assert is_configuration(ROOT / path, ROOT) is matters


@pytest.mark.parametrize(
    ("path", "moves"),
    [
        ("HEAD", True),
        ("packed-refs", True),
        ("refs/heads/main", True),
        ("refs/heads/main.lock", False),
        ("objects/ab/cdef", False),
        ("index", False),
        ("logs/HEAD", False),
    ],
)
def test_with_a_revision_only_moved_branches_count(path: str, moves: object) -> None:
    assert moves_a_branch(ROOT / path, ROOT) is moves
