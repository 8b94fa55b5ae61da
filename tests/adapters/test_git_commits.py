"""The demo's repository is a real one: the product's own Git adapter reads what was committed."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pygit2

from gitops_mc.adapters.git_commits import CommittedRepository
from gitops_mc.adapters.sources import open_source

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)


def contents(path: Path, revision: str | None = None) -> dict[str, bytes]:
    tree = open_source(str(path), revision).tree()
    return {entry.path: tree.read(entry) for entry in tree.entries}


def test_a_commit_has_its_files_and_those_of_the_commit_before(tmp_path: Path) -> None:
    made = CommittedRepository(tmp_path / "fleet.git")
    first = made.commit({"a.yaml": b"1\n", "deep/er/b.yaml": b"2\n"}, "first", NOON)
    made.commit({"a.yaml": b"changed\n"}, "second", NOON)
    assert contents(tmp_path / "fleet.git") == {"a.yaml": b"changed\n", "deep/er/b.yaml": b"2\n"}
    assert contents(tmp_path / "fleet.git", first) == {"a.yaml": b"1\n", "deep/er/b.yaml": b"2\n"}


def test_history_message_and_time_are_those_of_a_person_who_committed(tmp_path: Path) -> None:
    made = CommittedRepository(tmp_path / "fleet.git")
    first = made.commit({"a": b""}, "first", NOON)
    second = made.commit({"b": b""}, "second", NOON)
    commit: Any = pygit2.Repository(str(tmp_path / "fleet.git"))[second]
    assert (commit.message, [str(p.id) for p in commit.parents]) == ("second", [first])
    assert commit.commit_time == int(NOON.timestamp())


def test_the_same_story_has_the_same_commits(tmp_path: Path) -> None:
    ids = {CommittedRepository(tmp_path / name).commit({"a": b"1"}, "first", NOON) for name in ("one", "two")}
    assert len(ids) == 1


def test_a_repository_that_is_there_already_is_added_to_and_not_begun_anew(tmp_path: Path) -> None:
    first = CommittedRepository(tmp_path / "fleet.git").commit({"a": b"1"}, "first", NOON)
    again = CommittedRepository(tmp_path / "fleet.git")
    again.commit({"b": b"2"}, "second", NOON)
    assert set(contents(tmp_path / "fleet.git")) == {"a", "b"}
    assert contents(tmp_path / "fleet.git", first) == {"a": b"1"}
