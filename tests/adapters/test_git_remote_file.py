"""Addresses that lead to something on this machine that is no repository: what it is is said, and no hope is given."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gitops_mc.adapters.git_remote import Limits, RemoteSource
from gitops_mc.core.errors import SourceError
from tests.adapters.git_servers import Origin, origin


@pytest.fixture
def fleet(tmp_path: Path) -> Origin:
    made = origin(tmp_path)
    made.commit("1")
    return made


def a_file(_fleet: Origin, place: Path) -> None:
    place.write_text("hello\n")


def a_bundle(fleet: Origin, place: Path) -> None:
    fleet.git("bundle", "create", "-q", str(place), "HEAD")


def a_worktree_whose_repository_is_gone(_fleet: Origin, place: Path) -> None:
    place.mkdir()
    (place / ".git").write_text("gitdir: /nowhere/at/all\n")


def an_empty_folder(_fleet: Origin, place: Path) -> None:
    place.mkdir()


def nothing(_fleet: Origin, place: Path) -> None:
    assert not place.exists()


def a_repository_of_another_user(fleet: Origin, place: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root gives files away")
    fleet.git("clone", "-q", "--bare", str(fleet.root / "fleet.git"), str(place))
    os.chown(place, 12345, 12345)


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (a_file, "leads to a file"),
        (a_bundle, "leads to a file"),
        (a_worktree_whose_repository_is_gone, "leads to a worktree whose repository is not there"),
        (an_empty_folder, "there is no such repository"),
        (nothing, "there is no such repository"),
        (a_repository_of_another_user, "belongs to another user"),
    ],
)
def test_what_is_no_repository_is_called_what_it_is_and_does_not_go_on_by_itself(
    made: Callable[[Origin, Path], None], told: str, fleet: Origin, tmp_path: Path
) -> None:
    place = tmp_path / "place"
    made(fleet, place)
    source = RemoteSource(
        place.as_uri(), tmp_path / "cache", limits=Limits(seconds=60), unprotected=frozenset({"file"})
    )
    with pytest.raises(SourceError, match=told) as caught:
        source.poll()
    assert not caught.value.transient
    assert "by itself" not in caught.value.hint
