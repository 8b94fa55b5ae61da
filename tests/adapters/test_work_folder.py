"""Writing into a repository: whole files or none, nothing overwritten, no way out by a link."""

from __future__ import annotations

import os
import signal
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from gitops_mc.adapters.uninterrupted import uninterrupted
from gitops_mc.adapters.work_folder import WorkFolderFiles
from gitops_mc.app.authoring_ports import Edit
from gitops_mc.core.authoring.drafts import NewFile
from gitops_mc.core.errors import SourceError


def files_below(folder: Path) -> dict[str, bytes]:
    return {
        p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()
    }


def test_a_folder_that_is_not_there_is_empty_and_becomes_one(tmp_path: Path) -> None:
    folder = WorkFolderFiles(str(tmp_path / "a" / "fleet"))
    assert folder.tree().entries == ()
    folder.add(
        [
            NewFile("clusters/edge-1/files/x/secret", b"\0\xff", private=True),
            NewFile("clusters/edge-1/a.yaml", b"a"),
        ]
    )
    assert [(entry.path, entry.size) for entry in folder.tree().entries] == [
        ("clusters/edge-1/a.yaml", 1),
        ("clusters/edge-1/files/x/secret", 2),
    ]
    mode = (tmp_path / "a/fleet/clusters/edge-1/files/x/secret").stat().st_mode
    assert stat.S_IMODE(mode) == 0o600


def test_a_file_that_is_there_is_never_overwritten_and_then_none_is_written(tmp_path: Path) -> None:
    (tmp_path / "b").write_text("theirs")
    with pytest.raises(SourceError, match="b is there already"):
        WorkFolderFiles(str(tmp_path)).add(
            [NewFile("a", b"ours"), NewFile("b", b"ours"), NewFile("c", b"ours")]
        )
    assert files_below(tmp_path) == {"b": b"theirs"}


def test_all_that_is_in_the_way_is_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "b").write_text("theirs")
    (tmp_path / "c").symlink_to("nowhere")
    with pytest.raises(SourceError) as told:
        WorkFolderFiles(str(tmp_path)).add([NewFile(name, b"ours") for name in ("a", "b", "c", "d/e")])
    assert told.value.message == "b is there already; c is there already"
    assert told.value.hint == "it was left alone; run again"
    assert files_below(tmp_path) == {"b": b"theirs"}


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o027, 0o640), (0o077, 0o600), (0o002, 0o664)])
def test_new_files_are_for_those_whom_the_user_lets_read_his_files(
    tmp_path: Path, mask: int, mode: int
) -> None:
    before = os.umask(mask)
    try:
        WorkFolderFiles(str(tmp_path)).add([NewFile("a", b"a"), NewFile("secret", b"s", private=True)])
    finally:
        os.umask(before)
    assert [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("a", "secret")] == [mode, 0o600]


@pytest.mark.parametrize("target", ["elsewhere", "missing", "b"])
def test_nothing_is_written_through_a_link(tmp_path: Path, target: str) -> None:
    outside = tmp_path / "elsewhere"
    outside.mkdir()
    root = tmp_path / "fleet"
    (root / "clusters").mkdir(parents=True)
    (root / "clusters" / "edge-1").symlink_to(tmp_path / target)
    with pytest.raises(SourceError, match="link"):
        WorkFolderFiles(str(root)).add([NewFile("clusters/edge-1/a.yaml", b"ours")])
    assert files_below(outside) == {}


@pytest.mark.parametrize("path", ["../a", "a/../../b", "/etc/a", "", "a//b", "."])
def test_no_path_leads_out_of_the_folder(tmp_path: Path, path: str) -> None:
    root = tmp_path / "fleet"
    with pytest.raises(SourceError):
        WorkFolderFiles(str(root)).add([NewFile(path, b"ours")])
    assert files_below(tmp_path) == {}


def test_a_change_keeps_the_mode_and_leaves_no_other_file(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_bytes(b"before")
    file.chmod(0o770)  # which no usual umask would leave
    WorkFolderFiles(str(tmp_path)).change([Edit("a.yaml", b"before", b"after")])
    assert files_below(tmp_path) == {"a.yaml": b"after"}
    assert stat.S_IMODE(file.stat().st_mode) == 0o770


def test_a_file_that_has_changed_since_it_was_read_stops_all_of_the_change(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"before")
    (tmp_path / "b").write_bytes(b"somebody was faster")
    with pytest.raises(SourceError, match="b has changed since it was read"):
        WorkFolderFiles(str(tmp_path)).change(
            [Edit("a", b"before", b"after"), Edit("b", b"before", b"after")]
        )
    assert files_below(tmp_path) == {"a": b"before", "b": b"somebody was faster"}


def test_all_that_stops_a_change_is_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"before")
    (tmp_path / "b").write_bytes(b"somebody was faster")
    (tmp_path / "c").symlink_to("a")
    with pytest.raises(SourceError) as told:
        WorkFolderFiles(str(tmp_path)).change([Edit(name, b"before", b"after") for name in "abcd"])
    assert told.value.message == (
        "b has changed since it was read; c is a link; d cannot be written: No such file or directory"
    )
    assert files_below(tmp_path) | {"c": b""} == {"a": b"before", "b": b"somebody was faster", "c": b""}


def test_a_link_is_not_replaced_by_a_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"before")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(SourceError, match="b is a link"):
        WorkFolderFiles(str(tmp_path)).change([Edit("b", b"before", b"after")])
    assert (tmp_path / "b").is_symlink()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_to_is_told(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(SourceError, match="cannot be written"):
        WorkFolderFiles(str(tmp_path)).add([NewFile("a", b"ours")])


def test_where_a_file_stands_in_the_way_of_a_folder_it_is_told(tmp_path: Path) -> None:
    (tmp_path / "clusters").write_text("a file")
    with pytest.raises(SourceError, match="clusters"):
        WorkFolderFiles(str(tmp_path)).add([NewFile("clusters/edge-1/a.yaml", b"ours")])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_whoever_interrupts_it_finds_all_of_the_files_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    real, calls = os.link, 0

    def link(*arguments: Any, **options: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == 2:
            signal.raise_signal(number)
        real(*arguments, **options)

    class Heard(BaseException):
        pass

    def heard(*_: object) -> None:
        raise Heard

    monkeypatch.setattr(os, "link", link)
    before = signal.signal(number, heard)
    try:
        with pytest.raises(Heard):
            WorkFolderFiles(str(tmp_path)).add([NewFile(f"clusters/a/{n}.yaml", b"x") for n in range(4)])
        assert signal.getsignal(number) is heard
    finally:
        signal.signal(number, before)
    assert sorted(p.name for p in (tmp_path / "clusters" / "a").iterdir()) == [f"{n}.yaml" for n in range(4)]


def test_a_signal_that_comes_while_the_work_fails_is_heard_all_the_same() -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: heard.append(number))
    try:
        with suppress(ValueError), uninterrupted():
            signal.raise_signal(signal.SIGTERM)
            assert heard == []
            raise ValueError
        assert heard == [signal.SIGTERM]
    finally:
        signal.signal(signal.SIGTERM, before)
