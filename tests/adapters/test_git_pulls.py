"""The four trees of a pull request. Repositories are made by the git program itself, and it says what a merge comes to."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gitops_mc.adapters.git_pulls import GitPulls
from gitops_mc.app.ports import Tree
from gitops_mc.core.errors import SourceError
from gitops_mc.core.preview.model import Conflict
from tests.adapters.test_git import commit, git, texts

LINES = "".join(f"line {number}\n" for number in range(40))


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    commit(folder, "first", a=LINES, clusters__edge__b="b")
    return folder


def merged(found: Tree | Conflict) -> dict[str, str]:
    assert isinstance(found, Tree)
    return texts(found)


def everything_in(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def both_sides_change(repository: Path) -> tuple[str, str]:
    """Two places of one file, and a file each."""
    git(repository, "checkout", "-q", "-b", "topic")
    head = commit(repository, a=LINES.replace("line 3\n", "line three\n"), from_head="1")
    git(repository, "checkout", "-q", "main")
    base = commit(repository, a=LINES.replace("line 33\n", "line thirty-three\n"), from_base="2")
    return base, head


def test_where_base_has_not_moved_head_is_what_is_merged(repository: Path) -> None:
    start = git(repository, "rev-parse", "HEAD")
    git(repository, "checkout", "-q", "-b", "topic")
    head = commit(repository, clusters__edge__b="changed")
    found = GitPulls(str(repository)).trees("main", "topic")
    assert (found.revisions.base, found.revisions.head, found.revisions.merge_base) == (start, head, start)
    assert not found.revisions.moved
    assert found.revisions.behind == 0
    assert found.merge_base == found.base
    assert found.merged == found.head
    assert texts(found.head)["clusters/edge/b"] == "changed"


def test_where_both_have_moved_the_merge_is_what_git_makes_of_it(repository: Path) -> None:
    start = git(repository, "rev-parse", "HEAD")
    base, head = both_sides_change(repository)
    git(repository, "checkout", "-q", "--detach", "main")
    git(repository, "merge", "-q", "--no-edit", "topic")
    tree = {path: (repository / path).read_text() for path in git(repository, "ls-files").splitlines()}
    git(repository, "checkout", "-q", "main")
    found = GitPulls(str(repository)).trees("main", "topic")
    assert found.revisions.merge_base == start
    assert found.revisions.moved
    assert found.revisions.behind == 1
    assert merged(found.merged) == tree
    assert "line three\n" in tree["a"]
    assert "line thirty-three\n" in tree["a"]
    assert (found.base.commit, found.head.commit) == (base, head)


def test_nothing_in_the_repository_and_its_work_tree_is_touched(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both_sides_change(repository)
    (repository / "a").write_text("not committed")
    (repository / ".gitattributes").write_text("a merge=binary\n")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    before = everything_in(repository)
    found = GitPulls(str(repository)).trees("main", "topic")
    assert "line three" in merged(found.merged)["a"]
    assert everything_in(repository) == before
    assert not list(scratch.iterdir())


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere: run the tests as another user")
def test_a_clone_that_may_only_be_read_is_enough(repository: Path) -> None:
    both_sides_change(repository)
    folders = [path for path in (repository, *repository.rglob("*")) if path.is_dir()]
    for folder in folders:
        folder.chmod(0o555)
    try:
        assert "line three" in merged(GitPulls(str(repository)).trees("main", "topic").merged)["a"]
    finally:
        for folder in folders:
            folder.chmod(0o755)


def test_a_conflict_names_its_paths_once_each(repository: Path) -> None:
    git(repository, "checkout", "-q", "-b", "topic")
    commit(repository, a="head", z="head", fine="head")
    git(repository, "checkout", "-q", "main")
    commit(repository, a="base", z="base")
    found = GitPulls(str(repository)).trees("main", "topic")
    assert found.merged == Conflict(("a", "z"))
    assert texts(found.head)["fine"] == "head"


def test_a_file_that_one_side_removes_and_the_other_one_changes_is_a_conflict(repository: Path) -> None:
    git(repository, "checkout", "-q", "-b", "topic")
    (repository / "a").unlink()
    commit(repository)
    git(repository, "checkout", "-q", "main")
    commit(repository, a=LINES + "more\n")
    assert GitPulls(str(repository)).trees("main", "topic").merged == Conflict(("a",))


def test_what_has_been_merged_already_changes_nothing_any_more(repository: Path) -> None:
    git(repository, "checkout", "-q", "-b", "topic")
    commit(repository, a="changed")
    git(repository, "checkout", "-q", "main")
    git(repository, "merge", "-q", "--no-ff", "--no-edit", "topic")
    found = GitPulls(str(repository)).trees("main", "topic")
    assert found.revisions.merge_base == found.revisions.head
    assert found.merge_base == found.head
    assert found.merged == found.base


def test_every_way_to_name_a_commit_will_do(repository: Path, tmp_path: Path) -> None:
    base, head = both_sides_change(repository)
    git(repository, "tag", "-a", "v1", "-m", "x", "topic")
    git(repository, "update-ref", "refs/pull/7/head", "topic")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(repository), str(clone))
    git(clone, "fetch", "-q", "origin", "refs/pull/7/head:refs/pull/7/head")
    for named in ("origin/topic", "v1", head, head[:10], "refs/pull/7/head", "v1~0"):
        found = GitPulls(str(clone)).trees("origin/main", named)
        assert (found.revisions.base, found.revisions.head) == (base, head), named


def test_a_branch_that_only_the_server_has_is_told_with_its_name_here(
    repository: Path, tmp_path: Path
) -> None:
    both_sides_change(repository)
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(repository), str(clone))
    with pytest.raises(SourceError) as caught:
        GitPulls(str(clone)).trees("main", "topic")
    assert "origin/topic" in caught.value.hint


def test_a_shallow_clone_lacks_the_commit_that_both_come_from_and_says_how_to_get_it(
    repository: Path, tmp_path: Path
) -> None:
    both_sides_change(repository)
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--depth=1", "--no-single-branch", f"file://{repository}", str(clone))
    with pytest.raises(SourceError) as caught:
        GitPulls(str(clone)).trees("origin/main", "origin/topic")
    assert "shallow" in caught.value.message
    assert "fetch-depth: 0" in caught.value.hint
    git(clone, "fetch", "-q", "--unshallow")
    assert GitPulls(str(clone)).trees("origin/main", "origin/topic").revisions.behind == 1


def test_histories_without_a_common_commit_are_refused(repository: Path) -> None:
    git(repository, "checkout", "-q", "--orphan", "other")
    commit(repository, a="another beginning")
    with pytest.raises(SourceError) as caught:
        GitPulls(str(repository)).trees("main", "other")
    assert "no commit in common" in caught.value.message


def test_a_folder_of_the_repository_and_a_linked_work_tree_are_read_as_such(
    repository: Path, tmp_path: Path
) -> None:
    both_sides_change(repository)
    linked = tmp_path / "linked"
    git(repository, "worktree", "add", "-q", str(linked), "topic")
    found = GitPulls(str(linked / "clusters")).trees("main", "HEAD")
    assert texts(found.head) == {"edge/b": "b"}
    assert merged(found.merged) == {"edge/b": "b"}


def test_a_bare_repository_is_read_from_the_folder_that_is_named(repository: Path, tmp_path: Path) -> None:
    both_sides_change(repository)
    bare = tmp_path / "bare.git"
    git(tmp_path, "clone", "-q", "--bare", str(repository), str(bare))
    found = GitPulls(str(bare), "clusters").trees("main", "topic")
    assert merged(found.merged) == {"edge/b": "b"}


def test_histories_that_cross_are_merged_as_git_merges_them(repository: Path) -> None:
    """Two merge bases: Git merges those first."""
    git(repository, "checkout", "-q", "-b", "topic")
    ours = commit(repository, x="1")
    git(repository, "checkout", "-q", "main")
    theirs = commit(repository, y="1")
    git(repository, "merge", "-q", "--no-edit", ours)
    git(repository, "checkout", "-q", "topic")
    git(repository, "merge", "-q", "--no-edit", theirs)
    commit(repository, z="head")
    git(repository, "checkout", "-q", "main")
    commit(repository, w="base")
    found = merged(GitPulls(str(repository)).trees("main", "topic").merged)
    assert {name: found[name] for name in "wxyz"} == {"w": "base", "x": "1", "y": "1", "z": "head"}
