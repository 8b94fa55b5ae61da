"""Connects ports to adapters. Nothing else does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gitops_mc.adapters.git import open_source
from gitops_mc.app.use_cases.repository import Repository


def open_repository(path: str, revision: str | None = None) -> Repository:
    """The configuration repository at `path`. Raises SourceError."""
    return Repository(open_source(path, revision))


def watch_repository(path: str, revision: str | None) -> Iterator[tuple[str, ...]]:
    """Names of the files that changed, each time some did. KeyboardInterrupt ends it."""
    from gitops_mc.adapters.watching import changes  # noqa: PLC0415 - only where it is used: it loads a native library

    return changes(Path(path), revision)
