"""Files that hold what is secret, for libraries that want a path: readable by this process's user alone."""

from __future__ import annotations

import os
from pathlib import Path

from gitops_mc.core.errors import UsageError


def write_privately(path: Path, content: bytes) -> None:
    """A file that nobody else can read at any moment, also where one was there before. Raises OSError."""
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(content)


class PrivateFiles:
    """One folder of them. What has not changed is not written again, so that its readers see no change either."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[str, bytes] = {}

    def write(self, name: str, content: bytes) -> Path:
        """The path of a file with this content. It is replaced whole: no reader sees half of it. `name` is no path. Raises
        UsageError where nothing can be written.
        """
        path = self._folder / name
        if self._known.get(name) == content:
            return path
        fresh = self._folder / f"{name}.new"
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_privately(fresh, content)
            fresh.replace(path)
        except OSError as error:
            raise UsageError(
                f"a credential cannot be kept in {self._folder}: {error.strerror}",
                hint="it needs a little space in the folder for temporary files",
            ) from error
        self._known[name] = content
        return path
