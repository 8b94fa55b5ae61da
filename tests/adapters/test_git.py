"""A local Git repository and a plain folder as sources. Repositories are made by the git program itself."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from gitops_mc.adapters.folder import FolderSource, blob_id
from gitops_mc.adapters.git import GitSource
from gitops_mc.adapters.sources import open_source
from gitops_mc.app.ports import Tree
from gitops_mc.core.errors import SourceError

ENVIRONMENT = {
    **{key: value for key, value in os.environ.items() if not key.startswith("GIT_")},
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.com",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.com",
}


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments], env=ENVIRONMENT, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def commit(folder: Path, message: str = "x", **texts: str) -> str:
    """Write files (`__` in a name is a slash) and commit everything."""
    for name, text in texts.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", message)
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    return folder


def texts(tree: Tree) -> dict[str, str]:
    return {entry.path: tree.read(entry).decode() for entry in tree.entries}


def refused(source: GitSource | FolderSource, revision: str | None = None) -> SourceError:
    with pytest.raises(SourceError) as caught:
        source.tree(revision)
    assert caught.value.hint
    return caught.value


def test_a_branch_a_tag_and_a_commit_are_read_without_touching_the_work_tree(repository: Path) -> None:
    first = commit(repository, a="1", deep__b="2")
    git(repository, "tag", "light")
    git(repository, "tag", "-a", "annotated", "-m", "x")
    git(repository, "tag", "-a", "nested", "-m", "x", "annotated")
    second = commit(repository, a="changed")
    (repository / "a").write_text("not committed")
    source = GitSource(str(repository))
    for revision in (first, first[:9], "light", "annotated", "nested", "refs/tags/light", "HEAD~1", "main^"):
        tree = source.tree(revision)
        assert tree.commit == first
        assert texts(tree) == {"a": "1", "deep/b": "2"}
    for branch in (None, "main", "refs/heads/main", "HEAD"):
        assert source.tree(branch).commit == second
    assert texts(source.tree())["a"] == "changed"
    assert GitSource(str(repository), "light").tree().commit == first


def test_a_bare_repository_is_read(repository: Path, tmp_path: Path) -> None:
    head = commit(repository, a="1")
    bare = tmp_path / "bare.git"
    git(tmp_path, "clone", "-q", "--bare", str(repository), str(bare))
    source = open_source(str(bare))
    assert isinstance(source, GitSource)
    assert source.tree().commit == head
    assert texts(source.tree("main")) == {"a": "1"}


def test_a_linked_work_tree_and_packed_references_are_read(repository: Path, tmp_path: Path) -> None:
    head = commit(repository, a="1")
    git(repository, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    git(repository, "pack-refs", "--all")
    git(repository, "gc", "-q")
    assert GitSource(str(tmp_path / "side")).tree("main").commit == head
    assert GitSource(str(repository)).tree("side").commit == head


def test_a_moved_a_rewritten_and_a_deleted_branch_are_seen_by_an_open_source(repository: Path) -> None:
    first = commit(repository, a="1")
    git(repository, "branch", "live")
    source = GitSource(str(repository), "live")
    assert source.tree().commit == first
    second = commit(repository, a="2")
    git(repository, "branch", "-f", "live", second)
    assert source.tree().commit == second
    git(repository, "commit", "-q", "--amend", "-m", "rewritten")
    git(repository, "branch", "-f", "live", "main")
    git(repository, "reflog", "expire", "--expire=now", "--all")
    git(repository, "gc", "-q", "--prune=now")
    rewritten = git(repository, "rev-parse", "main")
    tree = source.tree()
    assert tree.commit == rewritten
    assert texts(tree) == {"a": "2"}
    git(repository, "branch", "-D", "live")
    error = refused(source)
    assert "no branch, tag or commit live" in error.message
    assert "deleted" in error.message


def test_a_misspelt_branch_is_told_with_the_right_one(repository: Path) -> None:
    commit(repository, a="1")
    git(repository, "branch", "release-2026")
    assert "release-2026" in refused(GitSource(str(repository)), "release-2025").hint


def test_a_name_that_is_a_branch_and_a_tag_is_refused(repository: Path) -> None:
    commit(repository, a="1")
    git(repository, "branch", "v1")
    git(repository, "tag", "v1")
    assert "refs/heads/v1" in refused(GitSource(str(repository)), "v1").hint
    assert GitSource(str(repository)).tree("refs/tags/v1").commit


def test_an_empty_revision_is_an_error_and_never_head(repository: Path) -> None:
    commit(repository, a="1")
    refused(GitSource(str(repository), ""))
    refused(GitSource(str(repository)), "")


def test_a_repository_without_commits_is_an_error_and_never_an_empty_tree(repository: Path) -> None:
    assert "no commits" in refused(GitSource(str(repository))).message
    refused(GitSource(str(repository)), "main")


def test_a_commit_whose_tree_is_empty_is_an_empty_tree(repository: Path) -> None:
    commit(repository)
    assert GitSource(str(repository)).tree().entries == ()


def test_a_tag_of_a_blob_is_no_revision(repository: Path) -> None:
    commit(repository, a="1")
    git(repository, "tag", "blob", git(repository, "rev-parse", "HEAD:a"))
    refused(GitSource(str(repository)), "blob")


def test_links_submodules_programs_and_lfs_pointers_are_told_by_mode_and_as_they_are_stored(
    repository: Path, tmp_path: Path
) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    commit(other, x="1")
    git(repository, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other), "sub")
    (repository / "program").write_text("#!/bin/sh\n")
    (repository / "program").chmod(0o755)
    (repository / "link").symlink_to("../outside")
    commit(repository, big=pointer)
    for source in (GitSource(str(repository)), FolderSource(str(repository))):
        tree = source.tree()
        modes = {entry.path: entry.mode for entry in tree.entries if entry.path != ".gitmodules"}
        assert modes == {"big": 0o100644, "link": 0o120000, "program": 0o100755, "sub": 0o160000}
        content = {entry.path: entry for entry in tree.entries}
        assert tree.read(content["link"]) == b"../outside"
        assert tree.read(content["big"]).decode() == pointer
        assert content["big"].size == len(pointer)


def test_strange_file_names_come_through(repository: Path) -> None:
    names = [b"caf\xe9.yaml", "é.yaml".encode(), b"new\nline", b'quote"s', b"-dash", b"back\\slash"]
    for name in names:
        (Path(os.fsdecode(bytes(repository) + b"/" + name))).write_text("x")
    commit(repository)
    expected = sorted(name.decode("utf-8", "surrogateescape") for name in names)
    for source in (GitSource(str(repository)), FolderSource(str(repository))):
        tree = source.tree()
        assert [entry.path for entry in tree.entries] == expected
        assert all(tree.read(entry) == b"x" for entry in tree.entries)


def test_a_shallow_clone_reads_what_it_has_and_says_what_it_lacks(repository: Path, tmp_path: Path) -> None:
    first = commit(repository, a="1")
    second = commit(repository, a="2")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--depth=1", repository.as_uri(), str(clone))
    source = GitSource(str(clone))
    assert source.tree().commit == second
    assert "--unshallow" in refused(source, first).hint


def loose_object(repository: Path, name: str) -> Path:
    identity = git(repository, "rev-parse", name)
    return repository / ".git" / "objects" / identity[:2] / identity[2:]


def test_a_missing_object_is_an_error_and_never_an_empty_tree(repository: Path) -> None:
    commit(repository, deep__a="1", b="2")
    loose_object(repository, "HEAD:b").unlink()
    tree = GitSource(str(repository)).tree()
    content = {entry.path: entry for entry in tree.entries}
    assert tree.read(content["deep/a"]) == b"1"
    with pytest.raises(SourceError, match="the content of b"):
        tree.read(content["b"])
    loose_object(repository, "HEAD:deep").unlink()
    assert "missing" in refused(GitSource(str(repository))).message


def test_a_damaged_object_is_an_error(repository: Path) -> None:
    commit(repository, a="1")
    path = loose_object(repository, "HEAD^{tree}")
    path.chmod(0o644)
    path.write_bytes(b"garbage")
    refused(GitSource(str(repository)))


def test_a_branch_whose_commit_is_damaged_is_not_told_as_a_branch_that_is_not_there(repository: Path) -> None:
    damaged = loose_object(repository, commit(repository, a="1"))
    damaged.chmod(0o644)
    damaged.write_bytes(b"")
    error = refused(GitSource(str(repository), "main"))
    assert "main of" in error.message
    assert "is there, but its commit cannot be read" in error.message
    assert "fsck" in error.hint


def test_a_folder_inside_a_work_tree_is_the_root_of_what_is_read(repository: Path) -> None:
    first = commit(repository, a="1")
    commit(repository, fleet__clusters__a="2")
    source = open_source(str(repository / "fleet"), "main")
    assert texts(source.tree()) == {"clusters/a": "2"}
    with pytest.raises(SourceError, match="has no folder fleet"):
        source.tree(first)


def test_a_work_tree_is_read_as_it_lies_there_unless_a_revision_is_asked_for(repository: Path) -> None:
    commit(repository, a="1")
    (repository / "a").write_text("edited")
    (repository / "new").write_text("new")
    folder = open_source(str(repository)).tree()
    assert (folder.commit, texts(folder)) == ("", {"a": "edited", "new": "new"})
    assert texts(open_source(str(repository), "HEAD").tree()) == {"a": "1"}


def test_blob_ids_of_a_folder_are_those_of_git(repository: Path) -> None:
    commit(repository, a="1", deep__b="two\n", empty="")
    ids = [
        {entry.path: entry.blob for entry in source.tree().entries}
        for source in (GitSource(str(repository)), FolderSource(str(repository)))
    ]
    assert ids[0] == ids[1]
    assert ids[0]["empty"] == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391" == blob_id(b"")


def test_what_is_no_folder_and_what_is_no_repository_is_an_error(tmp_path: Path) -> None:
    for path in (tmp_path / "none", tmp_path / "file"):
        (tmp_path / "file").write_text("x")
        with pytest.raises(SourceError):
            open_source(str(path))
        refused(FolderSource(str(path)))
    assert "not in a Git repository" in refused(GitSource(str(tmp_path)), "main").message
    assert "no revision" in refused(FolderSource(str(tmp_path)), "main").message
