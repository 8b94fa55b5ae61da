"""A plain folder as a source: what cannot be read is an error, and what changes is seen."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from gitops_mc.adapters.folder import FolderSource
from gitops_mc.core.errors import SourceError

ROOT_READS_ALL = os.geteuid() == 0


def paths(folder: Path) -> list[str]:
    return [entry.path for entry in FolderSource(str(folder)).tree().entries]


def test_dot_folders_of_the_first_level_are_not_looked_into(tmp_path: Path) -> None:
    for name in (".git/x", ".venv/x", "clusters/a/.hidden/x", "clusters/a/y", ".top", "fleet.yaml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    assert paths(tmp_path) == [".top", "clusters/a/.hidden/x", "clusters/a/y", "fleet.yaml"]


def test_an_empty_folder_is_an_empty_tree(tmp_path: Path) -> None:
    assert paths(tmp_path) == []


def test_a_socket_is_named(tmp_path: Path) -> None:
    (tmp_path / "clusters").mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "clusters" / "s"))
        with pytest.raises(SourceError, match="clusters/s is neither"):
            paths(tmp_path)


@pytest.mark.skipif(ROOT_READS_ALL, reason="root may read everything")
def test_a_file_and_a_folder_that_may_not_be_read_are_named(tmp_path: Path) -> None:
    (tmp_path / "locked").write_text("x")
    (tmp_path / "locked").chmod(0)
    with pytest.raises(SourceError, match="locked cannot be read"):
        paths(tmp_path)
    (tmp_path / "locked").unlink()
    (tmp_path / "folder").mkdir(mode=0)
    with pytest.raises(SourceError, match="folder cannot be read"):
        paths(tmp_path)
    (tmp_path / "folder").chmod(0o755)


def test_a_link_is_its_target_and_is_never_followed(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to(".")
    (tmp_path / "nowhere").symlink_to("/does/not/exist")
    tree = FolderSource(str(tmp_path)).tree()
    assert {entry.path: tree.read(entry) for entry in tree.entries} == {
        "loop": b".",
        "nowhere": b"/does/not/exist",
    }


def test_a_changed_file_is_seen_by_the_next_call(tmp_path: Path) -> None:
    source = FolderSource(str(tmp_path))
    (tmp_path / "a").write_text("one")
    first = source.tree().entries[0]
    assert source.tree().entries[0] == first
    (tmp_path / "a").write_text("two")
    assert source.tree().entries[0].blob != first.blob


def test_a_file_that_changes_between_listing_and_reading_is_an_error_and_never_mixed(tmp_path: Path) -> None:
    source = FolderSource(str(tmp_path))
    (tmp_path / "a").write_text("one")
    tree = source.tree()
    (tmp_path / "a").write_text("two")
    with pytest.raises(SourceError, match="changed"):
        tree.read(tree.entries[0])
    (tmp_path / "a").unlink()
    with pytest.raises(SourceError, match="a cannot be read"):
        tree.read(tree.entries[0])
