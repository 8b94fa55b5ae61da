"""A folder or a repository: what is told without Git's library is what the library says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gitops_mc.adapters.folder import FolderSource
from gitops_mc.adapters.git import GitSource, is_bare
from gitops_mc.adapters.sources import open_source
from tests.adapters.test_git import commit, git
from tests.e2e.program import plain_environment


@pytest.fixture
def world(tmp_path: Path) -> Path:
    """An ordinary clone with `clusters/`, and every other shape beside it."""
    plain = tmp_path / "plain"
    plain.mkdir()
    git(plain, "init", "-q", "-b", "main")
    commit(plain, clusters__a__x="1")
    git(tmp_path, "clone", "-q", "--bare", str(plain), "bare.git")
    git(plain, "worktree", "add", "-q", str(tmp_path / "linked"), "-b", "other")
    git(tmp_path, "clone", "-q", "--bare", str(plain), "hub/.bare")
    (tmp_path / "hub" / ".git").write_text("gitdir: ./.bare\n")
    git(tmp_path, "clone", "-q", str(plain), "said-bare")
    git(tmp_path / "said-bare", "config", "core.bare", "true")
    git(tmp_path, "clone", "-q", str(plain), "included")
    (tmp_path / "included" / ".git" / "more").write_text("[core]\n\tbare = true\n")
    git(tmp_path / "included", "config", "include.path", "more")
    git(tmp_path, "clone", "-q", "--bare", str(plain), "plain/inside.git")
    git(tmp_path, "clone", "-q", str(plain), "broken")
    (tmp_path / "broken" / ".git" / "HEAD").unlink()
    git(tmp_path, "clone", "-q", str(plain), "silent")
    git(tmp_path / "silent", "config", "--unset", "core.bare")
    (tmp_path / "nothing" / "clusters").mkdir(parents=True)
    return tmp_path


@pytest.mark.parametrize(
    ("path", "bare"),
    [
        ("plain", False),
        ("plain/clusters", False),
        ("plain/clusters/a", False),
        ("plain/inside.git", True),
        ("plain/inside.git/refs", True),
        ("plain/.git", False),
        ("bare.git", True),
        ("linked", False),
        ("linked/clusters", False),
        ("hub", True),
        ("said-bare", True),
        ("said-bare/clusters", True),
        ("included", True),
        ("broken", False),
        ("silent", False),
        ("nothing", False),
        ("nothing/clusters", False),
    ],
)
def test_a_path_is_what_the_library_says_of_it(world: Path, path: str, bare: bool) -> None:  # noqa: FBT001
    assert is_bare(str(world / path)) == bare
    assert isinstance(open_source(str(world / path)), GitSource if bare else FolderSource)


def loads_the_library(world: Path, path: str) -> bool:
    code = f"""
import sys
from gitops_mc.adapters.sources import open_source
open_source({str(world / path)!r})
print("pygit2" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], env=plain_environment(), capture_output=True, text=True, check=True
    )
    return done.stdout == "True\n"


def test_an_ordinary_clone_needs_no_library_to_be_told_from_a_bare_one(world: Path) -> None:
    assert not loads_the_library(world, "plain/clusters")
    assert loads_the_library(world, "included")
