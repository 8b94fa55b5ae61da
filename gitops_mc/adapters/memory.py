"""The rollout's memory in one file: whole or not at all, one writer, and never mistaken for "no memory".

    {"product": "gitops-mc", "format": 1, "saved": "2026-01-01T00:00:00Z", "checksum": "sha256:...", "state": {...}}

`checksum` is over the canonical JSON of `state`. A save writes a new file beside it, flushes it to the disk, renames it over
the old one and flushes the folder: whenever the process or the machine dies, `load` gives the old state or the new one.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Self

from gitops_mc.core.errors import MemoryStoreError
from gitops_mc.core.model import canonical_json, digest_of

if TYPE_CHECKING:
    from types import TracebackType

    from gitops_mc.core.model import JsonObject

FORMAT = 1
_PRODUCT = "gitops-mc"
_LOOKED = 0.3
"""Seconds after which whoever has the lock is no look any more, however busy the machine is."""
_NOT_FIRST_CONTACT = "restore it from a backup, or move it aside: then every cluster counts as first contact, and changes wait for approval"


def read_memory(path: Path) -> JsonObject | None:
    """What was saved last, without taking the lock (for a look while another process writes), or None if there has never been
    anything. MemoryStoreError when it is there but cannot be trusted, or when its folder is missing.
    """
    file = _resolved(path)
    if os.path.exists(file) and not os.path.isfile(file):  # noqa: PTH110, PTH113 - as in _resolved
        raise MemoryStoreError(f"{path} is not a file", hint="name a file with --state")
    try:
        data = file.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise MemoryStoreError(
            f"the state file {path} cannot be read: {error.strerror}", hint="check its owner and mode"
        ) from error
    return _state(data, path)


def in_use(path: Path) -> bool:
    """Whether another process holds the lock at this moment, which is how a rollout that runs is known. Raises nothing: where
    it cannot be told, nobody is known to hold it.
    """
    file = Path(os.path.realpath(path))
    try:
        descriptor = os.open(file.with_name(file.name + ".lock"), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return False


class FileMemory:
    """The MemoryStore port over a file. Holds an exclusive lock (`<file>.lock`) from the start until `close`.

    Opening raises MemoryStoreError when another process holds the lock; a dead process holds none.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = _resolved(path)
        self._lock = _locked(self._file.with_name(self._file.name + ".lock"), path)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def load(self) -> JsonObject | None:
        """As `read_memory`."""
        return read_memory(self._path)

    def save(self, state: JsonObject) -> None:
        """Durable when it returns. MemoryStoreError (disk full, read-only, not JSON): the old state is still there."""
        if self._lock < 0:
            raise MemoryStoreError(f"the state file {self._path} has been closed")
        try:
            data = _envelope(state)
        except (TypeError, ValueError) as error:
            raise MemoryStoreError(f"this state is not JSON and cannot be saved: {error}") from error
        fresh = self._file.with_name(self._file.name + ".new")
        try:
            _write_through(fresh, data)
            fresh.replace(self._file)
            _flush_folder(self._file.parent)
        except OSError as error:
            raise MemoryStoreError(
                f"the state file {self._path} cannot be written: {error.strerror}",
                hint="nothing further is written to a cluster until the state can be saved; check space and rights",
            ) from error

    def close(self) -> None:
        """Let the next writer in."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def _resolved(path: Path) -> Path:
    """The file behind links, so that a save replaces the file and not the link. Its folder must exist: a missing folder
    is a volume that is not mounted more often than a first run.
    """
    file = Path(os.path.realpath(path))
    if not os.path.isdir(file.parent):  # noqa: PTH112 - False, not an exception, where it may not be looked at
        raise MemoryStoreError(
            f"the folder of the state file {path} is not there",
            hint=f"is its volume mounted? if this is the first run: mkdir -p {file.parent}",
        )
    return file


def _locked(lock: Path, path: Path) -> int:
    """Descriptor of the locked side file. The lock lives and dies with the process; the file stays."""
    try:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise MemoryStoreError(f"the state file {path} cannot be locked: {error.strerror}") from error
    try:
        _take(descriptor)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"process {os.getpid()} since {_now()}\n".encode(), 0)
    except BlockingIOError:
        holder = os.pread(descriptor, 200, 0).decode(errors="replace").strip() or "another process"
        os.close(descriptor)
        raise MemoryStoreError(
            f"the state file {path} is in use by {holder}",
            hint="one rollout at a time: wait for it, or stop it; `gitops-mc status` may look at any time",
        ) from None
    except OSError as error:
        os.close(descriptor)
        raise MemoryStoreError(
            f"the state file {path} cannot be locked: {error.strerror}",
            hint="keep it on a local file system",
        ) from error
    return descriptor


def _take(descriptor: int) -> None:
    """The exclusive lock, or BlockingIOError. One who only looks (`in_use`) has it shared for an instant, no longer."""
    end = time.monotonic() + _LOOKED
    while time.monotonic() < end:
        with suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _envelope(state: JsonObject) -> bytes:
    envelope: JsonObject = {
        "product": _PRODUCT,
        "format": FORMAT,
        "saved": _now(),
        "checksum": _checksum(state),
        "state": state,
    }
    return canonical_json(envelope) + b"\n"


def _state(data: bytes, path: Path) -> JsonObject:
    if not data.strip(b"\0 \n"):
        raise MemoryStoreError(f"the state file {path} is empty", hint=_NOT_FIRST_CONTACT)
    try:
        envelope = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise MemoryStoreError(
            f"the state file {path} is damaged: not JSON", hint=_NOT_FIRST_CONTACT
        ) from error
    if not isinstance(envelope, dict) or envelope.get("product") != _PRODUCT:
        raise MemoryStoreError(f"{path} is no state file of gitops-mc", hint="name another file with --state")
    written = envelope.get("format")
    if isinstance(written, int) and written > FORMAT:
        raise MemoryStoreError(
            f"the state file {path} was written by a newer gitops-mc (format {written}; this one knows {FORMAT})",
            hint="use that newer version, or a newer one still",
        )
    state = envelope.get("state")
    if written != FORMAT or not isinstance(state, dict):
        raise MemoryStoreError(f"the state file {path} is damaged: no state in it", hint=_NOT_FIRST_CONTACT)
    checksum = _checksum(state)
    if not checksum or envelope.get("checksum") != checksum:
        raise MemoryStoreError(
            f"the state file {path} is damaged or was edited by hand: its checksum differs",
            hint=_NOT_FIRST_CONTACT,
        )
    return state


def _checksum(state: JsonObject) -> str:
    """`""` for what `save` could not have written (NaN, half a surrogate pair)."""
    try:
        return f"sha256:{digest_of(state)}"
    except ValueError:
        return ""


def _write_through(file: Path, data: bytes) -> None:
    """A private file with this content, on the disk when it returns. The lock makes its fixed name ours."""
    file.unlink(missing_ok=True)
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
    except OSError:
        file.unlink(missing_ok=True)
        raise


def _flush_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class MemoryView:
    """The MemoryStore port for those who only look: no lock, and nothing is ever saved."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def load(self) -> JsonObject | None:
        """As `read_memory`."""
        return read_memory(self._path)

    def save(self, state: JsonObject) -> None:  # noqa: ARG002 - the port's signature
        """Raises MemoryStoreError, always."""
        raise MemoryStoreError(f"the state file {self._path} is only looked at here")
