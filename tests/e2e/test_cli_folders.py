"""Folders that commands work in: what cannot be worked in is wrong usage, and no bug."""

from __future__ import annotations

import io
import os
import stat
import tempfile
from pathlib import Path

import pytest

from gitops_mc.cli.folders import working_folder
from gitops_mc.cli.program import run
from gitops_mc.cli.terminal import Terminal
from gitops_mc.core.errors import EXIT_USAGE, UsageError


@pytest.mark.parametrize(
    ("command", "option"),
    [
        (("demo",), "--keep"),
        (("demo", "--controller"), "--keep"),
        (("sandbox", "start"), "--dir"),
        (("controller",), "--cache"),
    ],
)
def test_a_folder_that_cannot_be_made_is_said_with_the_option_that_names_another(
    tmp_path: Path, command: tuple[str, ...], option: str
) -> None:
    (tmp_path / "file").write_text("x")
    out, err = io.StringIO(), io.StringIO()
    arguments = [*command, option, str(tmp_path / "file" / "below")]
    assert run(arguments, terminal=Terminal(out, err, {})) == EXIT_USAGE
    assert "cannot be made: Not a directory" in err.getvalue()
    assert f"hint: name another with {option}" in err.getvalue()


def test_a_folder_that_is_made_is_its_owners_alone_and_stays(tmp_path: Path) -> None:
    asked = tmp_path / "a" / "b"
    with working_folder(asked, "demo", "--keep") as folder:
        assert folder == asked
    assert stat.S_IMODE(asked.stat().st_mode) == 0o700


def test_a_temporary_folder_says_what_it_is_for_and_goes() -> None:
    with working_folder(None, "cache", "--cache") as folder:
        assert folder.parent.name.startswith("gitops-mc-cache-")
        assert folder.is_dir()
    assert not folder.parent.exists()


@pytest.mark.parametrize(("command", "option"), [(("controller",), "--cache"), (("demo",), "--keep")])
def test_where_no_temporary_folder_can_be_made_it_is_said_what_to_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], option: str
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "file"))
    out, err = io.StringIO(), io.StringIO()
    assert run(command, terminal=Terminal(out, err, {})) == EXIT_USAGE
    assert "no temporary folder can be made: Not a directory" in err.getvalue()
    assert f"hint: name a folder with {option}, or one for temporary files" in err.getvalue()


def test_credentials_that_have_no_place_end_the_controller_before_it_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "file"))
    out, err = io.StringIO(), io.StringIO()
    assert (
        run(["controller", "--cache", str(tmp_path / "cache")], terminal=Terminal(out, err, {})) == EXIT_USAGE
    )
    assert "hint: credentials are kept there as files" in err.getvalue()


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is kept from root")
def test_a_folder_that_may_not_be_written_is_refused_before_anything_begins(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with (
        pytest.raises(UsageError, match="nothing can be read and written"),
        working_folder(tmp_path, "x", "--y"),
    ):
        pass
