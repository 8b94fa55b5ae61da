"""Temporary folders: theirs who live, and gone with the next process where somebody was killed."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gitops_mc.adapters import git_private
from gitops_mc.adapters.git_access import Access, Bearer
from gitops_mc.adapters.git_address import address_of
from gitops_mc.adapters.git_private import private, sweep_private
from gitops_mc.adapters.own_folder import own_folder, sweep, temporary_folder
from gitops_mc.core.errors import UsageError
from tests.adapters.git_servers import origin

HOLD = """
import sys, time
from pathlib import Path
from gitops_mc.adapters.own_folder import own_folder
with own_folder("test", Path(sys.argv[1])) as folder:
    (folder / "prod").mkdir()
    (folder / "prod" / "token").write_text("a token")
    print(folder, flush=True)
    time.sleep(60)
"""


@contextmanager
def another_process(place: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """One that has a folder, and that folder."""
    command = [sys.executable, "-c", HOLD, str(place)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process, Path(process.stdout.readline().strip())
        finally:
            process.kill()


def test_a_folder_is_empty_for_its_owner_alone_and_gone_afterwards(tmp_path: Path) -> None:
    with own_folder("test", tmp_path) as folder:
        assert list(folder.iterdir()) == []
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        (folder / "a").write_text("x")
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_is_removed_and_what_a_living_one_has_is_not(tmp_path: Path) -> None:
    with another_process(tmp_path) as (dying, left), another_process(tmp_path) as (_, theirs):
        assert left.is_dir()
        os.kill(dying.pid, signal.SIGKILL)
        dying.wait()
        assert (left / "prod" / "token").read_text() == "a token"
        with own_folder("test", tmp_path) as ours:
            assert sorted(tmp_path.iterdir()) == sorted([ours.parent, theirs.parent])
            assert stat.S_IMODE(ours.stat().st_mode) == 0o700
            sweep("test", tmp_path)
            assert ours.is_dir()
            assert (theirs / "prod" / "token").is_file()
        assert list(tmp_path.iterdir()) == [theirs.parent]


def test_whatever_else_stands_there_is_left_alone(tmp_path: Path) -> None:
    for name in ("gitops-mc-test-made", "gitops-mc-other-x", "another", "elsewhere"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "kept").write_text("x")
    for name in ("gitops-mc-other-x", "elsewhere"):
        (tmp_path / name / ".lock").touch()
    (tmp_path / "gitops-mc-test-file").write_text("x")
    (tmp_path / "gitops-mc-test-link").symlink_to(tmp_path / "elsewhere")
    before = sorted(tmp_path.rglob("*"))
    sweep("test", tmp_path)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_what_belongs_to_another_user_is_left_alone(tmp_path: Path) -> None:
    theirs = tmp_path / "gitops-mc-test-theirs"
    theirs.mkdir()
    (theirs / ".lock").touch()
    os.chown(theirs, 12345, 12345)
    sweep("test", tmp_path)
    assert theirs.is_dir()


def test_credentials_of_git_that_a_killed_poll_left_go_whatever_it_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_private, "_IN_MEMORY", tmp_path)
    left = tmp_path / "gitops-mc-git-left"
    left.mkdir()
    (left / ".lock").touch()
    (left / "identity").write_text("a key")
    with private(address_of("https://git.example.com/x"), Access(Bearer("t"))) as held:
        assert not left.exists()
        sweep_private()
        assert (held.folder / "gitconfig").is_file()
    assert list(tmp_path.iterdir()) == []


def test_no_place_for_temporary_files_is_wrong_usage_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "file"))
    with (
        pytest.raises(UsageError, match="no temporary folder can be made: Not a directory") as caught,
        temporary_folder("test", "do this"),
    ):
        pass
    assert (caught.value.hint, caught.value.exit_code) == ("do this", 2)


FOLLOW = """
import sys
from pathlib import Path
from gitops_mc.adapters.git_remote import RemoteSource
from gitops_mc.adapters.git_store import read_no_configuration
read_no_configuration()
print(RemoteSource(sys.argv[1], Path(sys.argv[2]), unprotected=frozenset({"file"})).poll().commit)
"""


def test_a_home_that_cannot_be_looked_into_is_no_obstacle(tmp_path: Path) -> None:
    fleet = origin(tmp_path)
    head = fleet.commit("1")
    (tmp_path / "home").symlink_to("home")  # nobody may, not even root
    command = [sys.executable, "-c", FOLLOW, (fleet.root / "fleet.git").as_uri(), str(tmp_path / "cache")]
    environment = {**os.environ, "HOME": str(tmp_path / "home")}
    environment.pop("XDG_CONFIG_HOME", None)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == (head, "")
