"""The state file: whole or not at all, one writer, and no damage is ever read as "no memory"."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import signal
import stat
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitops_mc.adapters.memory import FileMemory, in_use, read_memory
from gitops_mc.core.errors import MemoryStoreError

if TYPE_CHECKING:
    from pathlib import Path

STATE = {"clusters": {"edge-01": {"content": "abc", "häld": True, "soak": 1.5}}}


def test_without_a_file_there_is_no_memory(tmp_path: Path) -> None:
    with FileMemory(tmp_path / "state.json") as memory:
        assert memory.load() is None
    assert read_memory(tmp_path / "state.json") is None


def test_a_device_a_pipe_or_a_folder_is_no_state_file_and_is_not_read_to_its_end(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("/dev/zero")
    for name in ("pipe", "folder", "link"):
        with pytest.raises(MemoryStoreError, match="is not a file"):
            read_memory(tmp_path / name)


def test_what_was_saved_is_loaded_by_the_next_process(tmp_path: Path) -> None:
    with FileMemory(tmp_path / "state.json") as memory:
        memory.save({"first": 1})
        memory.save(STATE)
        assert memory.load() == STATE
    with FileMemory(tmp_path / "state.json") as memory:
        assert memory.load() == STATE


@settings(max_examples=100, derandomize=True, deadline=None)
@given(
    st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs"])),
        st.recursive(
            st.none()
            | st.booleans()
            | st.integers()
            | st.floats(allow_nan=False, allow_infinity=False)
            | st.text(st.characters(exclude_categories=["Cs"])),
            lambda inner: st.lists(inner) | st.dictionaries(st.text("ab"), inner),
            max_leaves=8,
        ),
    )
)
def test_any_json_comes_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, state: dict[str, Any]
) -> None:
    path = tmp_path_factory.getbasetemp() / "roundtrip.json"
    with FileMemory(path) as memory:
        memory.save(state)
        assert memory.load() == state


def test_the_file_is_private_and_nothing_is_left_beside_it_but_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    path.touch(0o644)
    with FileMemory(path) as memory:
        memory.save(STATE)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert sorted(p.name for p in tmp_path.iterdir()) == ["state.json", "state.json.lock"]


def test_a_second_writer_is_told_who_has_it_and_since_when_but_may_look(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    with FileMemory(path) as memory:
        memory.save(STATE)
        with pytest.raises(
            MemoryStoreError, match=rf"in use by process {os.getpid()} since 20\d\d-"
        ) as caught:
            FileMemory(path)
        assert "one rollout at a time" in caught.value.hint
        assert read_memory(path) == STATE
    FileMemory(path).close()


def test_a_process_that_was_killed_holds_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    code = f"from gitops_mc.adapters.memory import *\nm = FileMemory(Path({str(path)!r}))\nprint(1, flush=True)\ninput()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        other.stdout.readline()
        with pytest.raises(MemoryStoreError, match=f"process {other.pid} since"):
            FileMemory(path)
        other.kill()
        other.wait()
    FileMemory(path).close()


def test_after_closing_nothing_is_saved(tmp_path: Path) -> None:
    memory = FileMemory(tmp_path / "state.json")
    memory.close()
    with pytest.raises(MemoryStoreError, match="closed"):
        memory.save(STATE)


def saved(path: Path) -> dict[str, Any]:
    with FileMemory(path) as memory:
        memory.save(STATE)
    found: dict[str, Any] = json.loads(path.read_bytes())
    return found


def edited(**changes: Any) -> Any:
    return lambda envelope: json.dumps(envelope | changes).encode()


DAMAGE: dict[str, tuple[Any, str]] = {
    "empty": (lambda _: b"", "is empty"),
    "zeros after a power cut": (lambda _: b"\0" * 4096, "is empty"),
    "cut short": (lambda e: json.dumps(e).encode()[:-9], "damaged: not JSON"),
    "not text": (lambda _: b"\xff\xfe\x00", "damaged: not JSON"),
    "absurdly nested": (lambda _: b"[" * 200_000, "damaged: not JSON"),
    "another program's": (lambda _: b'{"state": {}}', "no state file of gitops-mc"),
    "a list": (lambda _: b"[]", "no state file of gitops-mc"),
    "newer": (edited(format=2), r"newer gitops-mc \(format 2; this one knows 1\)"),
    "no format": (edited(format=None), "no state in it"),
    "no state": (edited(state=None), "no state in it"),
    "edited": (edited(state={"clusters": {}}), "checksum differs"),
    "no checksum": (edited(checksum=""), "checksum differs"),
    "not a number": (
        lambda e: json.dumps(e | {"state": {"a": float("nan")}, "checksum": ""}).encode(),
        "checksum",
    ),
    "half a character": (
        lambda e: json.dumps(e | {"state": {"a": "\ud800"}, "checksum": ""}).encode(),
        "checksum",
    ),
}


@pytest.mark.parametrize(("damage", "said"), DAMAGE.values(), ids=DAMAGE.keys())
def test_a_file_that_cannot_be_trusted_is_an_error_with_a_way_out(
    tmp_path: Path, damage: Any, said: str
) -> None:
    path = tmp_path / "state.json"
    path.write_bytes(damage(saved(path)))
    before = path.read_bytes()
    with FileMemory(path) as memory, pytest.raises(MemoryStoreError, match=said) as caught:
        memory.load()
    assert caught.value.hint
    assert path.read_bytes() == before


@settings(max_examples=300, derandomize=True, deadline=None)
@given(st.data())
def test_one_changed_byte_is_noticed_or_harmless(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.getbasetemp() / "flipped.json"
    saved(path)
    content = bytearray(path.read_bytes())
    at = data.draw(st.integers(0, len(content) - 1))
    content[at] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(content)
    with contextlib.suppress(MemoryStoreError):
        assert read_memory(path) == STATE


def test_a_missing_folder_is_not_a_first_run(tmp_path: Path) -> None:
    for attempt in (FileMemory, read_memory):
        with pytest.raises(MemoryStoreError, match=r"folder of the state file .* is not there") as caught:
            attempt(tmp_path / "volume" / "state.json")
        assert "mounted" in caught.value.hint


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "volume").mkdir()
    link = tmp_path / "state.json"
    link.symlink_to(tmp_path / "volume" / "real.json")
    with FileMemory(link) as memory:
        memory.save(STATE)
    assert link.is_symlink()
    assert read_memory(tmp_path / "volume" / "real.json") == STATE


def test_what_is_not_json_is_refused_and_the_old_state_stays(tmp_path: Path) -> None:
    with FileMemory(tmp_path / "state.json") as memory:
        memory.save(STATE)
        for bad in ({"a": float("nan")}, {"a": object()}):
            with pytest.raises(MemoryStoreError, match="not JSON"):
                memory.save(bad)
        assert memory.load() == STATE


def test_a_text_that_is_no_unicode_is_kept_as_it_is(tmp_path: Path) -> None:
    """An error of a server, quoted: half of a surrogate pair in it must not stop a memory from being saved."""
    with FileMemory(tmp_path / "state.json") as memory:
        memory.save({**STATE, "a": "\ud800"})
        assert memory.load() == {**STATE, "a": "\ud800"}


def test_a_half_written_new_file_is_never_read_and_does_not_hinder_the_next_save(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    saved(path)
    (tmp_path / "state.json.new").write_bytes(b'{"product"')
    with FileMemory(path) as memory:
        assert memory.load() == STATE
        memory.save({"next": 1})
        assert memory.load() == {"next": 1}


def test_where_nothing_can_be_written_the_error_says_so_and_the_old_state_stays(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    with FileMemory(path) as memory:
        memory.save(STATE)
        (tmp_path / "state.json.new").mkdir()
        with pytest.raises(MemoryStoreError, match=r"state\.json cannot be written"):
            memory.save({"next": 1})
        assert memory.load() == STATE


WRITER = """
import sys
from gitops_mc.adapters.memory import *
with FileMemory(Path(sys.argv[1])) as memory:
    number = int(sys.argv[2])
    while True:
        number += 1
        memory.save({"number": number, "filler": [number] * 2000})
        print(number, flush=True)
"""


def test_killed_at_any_moment_it_leaves_the_old_state_or_the_new_one(tmp_path: Path) -> None:
    path, number, chance = tmp_path / "state.json", 0, random.Random(7)
    for _ in range(25):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), str(number)], stdout=subprocess.PIPE, text=True
        ) as writer:
            assert writer.stdout is not None
            for _ in range(chance.randint(1, 12)):
                writer.stdout.readline()
            threading.Event().wait(chance.random() / 200)
            writer.send_signal(signal.SIGKILL)
            said = re.findall(r"\d+\n", writer.stdout.read())
        state = read_memory(path)
        assert state is not None
        assert state["filler"] == [state["number"]] * 2000
        assert state["number"] >= (int(said[-1]) if said else number)
        number = state["number"]


def test_a_look_tells_whether_a_process_holds_the_state_file_and_disturbs_none(tmp_path: Path) -> None:
    file = tmp_path / "state.json"
    assert not in_use(file), "nobody has ever written it"
    with FileMemory(file):
        assert in_use(file)
        assert in_use(file), "a look changes nothing"
    assert not in_use(file)


def test_a_writer_that_meets_a_look_is_not_refused(tmp_path: Path) -> None:
    file = tmp_path / "state.json"
    FileMemory(file).close()
    stop = threading.Event()

    def look() -> None:
        while not stop.is_set():
            in_use(file)

    looking = threading.Thread(target=look)
    looking.start()
    try:
        for _ in range(300):
            FileMemory(file).close()
    finally:
        stop.set()
        looking.join()
