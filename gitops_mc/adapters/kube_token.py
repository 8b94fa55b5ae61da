"""A bearer token in a file that somebody else renews. Its value is never logged, shown, or put into an error."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gitops_mc.core.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from gitops_mc.adapters.named_files import NamedFile


@dataclass(frozen=True, slots=True)
class Stamp:
    """What tells one state of a file from another without reading it. Links are followed: Kubernetes renews a
    projected token by swapping a link, so the inode changes.
    """

    device: int
    inode: int
    modified_ns: int
    size: int

    @classmethod
    def of(cls, path: Path) -> Stamp | None:
        """None when the file cannot be looked at."""
        try:
            found = os.stat(path)  # noqa: PTH116 - follows links, as meant
        except OSError:
            return None
        return cls(found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size)


class TokenFile:
    """The token in a file, as it is now. Safe to use from several threads."""

    def __init__(self, file: NamedFile) -> None:
        self._file = file
        self._path = file.path
        self._lock = threading.Lock()
        self._stamp: Stamp | None = None
        self._value = ""

    def __repr__(self) -> str:
        return f"TokenFile({self._file})"

    def value(self) -> str:
        """The token, read again if the file has changed. Raises UsageError if there has never been a readable one."""
        with self._lock:
            stamp = Stamp.of(self._path)
            if not self._value or (stamp is not None and stamp != self._stamp):
                self._read(stamp)
            return self._value

    def read_again(self) -> str:
        """The token after reading the file whatever its stamp: the server has refused the one at hand."""
        with self._lock:
            self._read(Stamp.of(self._path))
            return self._value

    def _read(self, stamp: Stamp | None) -> None:
        try:
            value = checked_token(self._path.read_text(encoding="utf-8"), self._file.called, self._file.hint)
        except (OSError, UnicodeDecodeError, UsageError) as error:
            if self._value:
                return  # amid a renewal that is not atomic: the server judges the token we have
            if isinstance(error, UsageError):
                raise
            reason = error.strerror if isinstance(error, OSError) else "not text"
            raise UsageError(
                f"{self._file} cannot be read: {reason}",
                hint=self._file.hint,
            ) from None  # a decoding error shows the file's bytes
        self._value, self._stamp = value, stamp


def checked_token(text: str, origin: str, hint: str) -> str:
    """The token without the white space around it. Raises UsageError if it could not stand in a header: the HTTP library's
    own complaint would show it.
    """
    token = text.strip()
    if not token:
        raise UsageError(f"{origin} is empty", hint=hint)
    if not token.isascii() or not token.isprintable():
        raise UsageError(f"{origin} holds characters that no bearer token has", hint=hint)
    return token
