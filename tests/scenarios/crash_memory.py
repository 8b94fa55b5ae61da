"""The state file of a process that may die while it saves: the real FileMemory, stopped at its own system calls.

A save is a chain of steps on a file system: the old temporary file goes, a new one is opened, filled and flushed, it is
renamed over the state file, the folder is flushed. Python tells an audit hook of each of them before it is made, so the
process can end between any two of them without a stand-in for the file system.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path

from gitops_mc.adapters.memory import FileMemory, read_memory
from gitops_mc.core.model import JsonObject, digest_of
from tests.scenarios.rollout_world import KeptMemory

STATE = "state.json"


class Saving(StrEnum):
    """Where in a save a process ends."""

    NOT_BEGUN = "save not begun"
    EMPTY = "new file empty"
    WRITTEN = "new file not renamed"
    RENAMED = "folder not flushed"
    SAVED = "saved"


class DiskMemory(KeptMemory):
    """A state file in a folder of its own. `at` is told where a save stands, and may not return."""

    def __init__(self, folder: Path, at: Callable[[Saving], None]) -> None:
        super().__init__()
        self._folder = folder
        self._at = at
        self._open: FileMemory | None = None

    def begin(self) -> None:
        """A process starts: it has the lock. Raises MemoryStoreError while another one has it."""
        self._open = FileMemory(self._folder / STATE)

    def end(self) -> None:
        """The process is gone, and its descriptors with it."""
        if self._open is not None:
            self._open.close()
            self._open = None

    def move(self, folder: Path) -> None:
        """From now on the state is the one in this folder."""
        self._folder = folder

    def copy(self, folder: Path) -> None:
        """The files as they stand at this moment, in another folder."""
        shutil.copytree(self._folder, folder)

    @property
    def path(self) -> Path:
        return self._folder / STATE

    def load(self) -> JsonObject | None:
        return read_memory(self.path)

    def save(self, state: JsonObject) -> None:
        assert self._open is not None, "only a process saves"
        self._at(Saving.NOT_BEGUN)
        _AUDIT.watching, before = self._audit, _AUDIT.watching
        try:
            self._open.save(state)
        finally:
            _AUDIT.watching = before
        self.saves += 1
        self._at(Saving.SAVED)

    def _audit(self, event: str, arguments: tuple[object, ...]) -> None:
        match event, arguments[0]:
            case "open", int():
                self._at(Saving.EMPTY)
            case "os.rename", _:
                self._at(Saving.WRITTEN)
            case "open", str(path) if path == os.fspath(self._folder):
                self._at(Saving.RENAMED)

    def stands(self) -> tuple[tuple[str, str], ...]:
        """What is in the folder, but for the wall clock's time of the save."""
        found = []
        for file in sorted(self._folder.iterdir()):
            if file.name == STATE:
                found.append((file.name, digest_of(read_memory(file) or {})))
            elif not file.name.endswith(".lock"):
                found.append((file.name, f"{file.stat().st_size > 0}"))
        return tuple(found)


class _Audit:
    """Python's audit hooks cannot be taken away again; this one listens only during a save."""

    def __init__(self) -> None:
        self.watching: Callable[[str, tuple[object, ...]], None] | None = None
        self.added = False

    def __call__(self, event: str, arguments: tuple[object, ...]) -> None:
        watching = self.watching
        if watching is None or event not in {"open", "os.rename"}:
            return
        self.watching = None  # what is done in there is none of the save's steps
        try:
            watching(event, arguments)
        finally:
            self.watching = watching


_AUDIT = _Audit()
sys.addaudithook(_AUDIT)
