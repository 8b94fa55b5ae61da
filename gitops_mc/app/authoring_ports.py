"""What writing into a repository needs of the outside world."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from gitops_mc.app.ports import Source
from gitops_mc.core.authoring.drafts import NewFile


@dataclass(frozen=True, slots=True)
class Edit:
    """A file that is there, and what is to stand in it."""

    path: str
    before: bytes
    after: bytes


class WorkFolder(Source, Protocol):
    """A repository as it lies in a folder; one that is not there yet is empty. Nothing is followed out of it by a link."""

    def add(self, files: Sequence[NewFile]) -> None:
        """Write files that are not there, in this order: all of them, or none. Each is whole at any moment. Raises SourceError
        where one is there already, a folder on the way is a link, or nothing can be written.
        """
        ...

    def change(self, edits: Sequence[Edit]) -> None:
        """Replace the contents of files, each at once, with its mode kept. Raises SourceError, before anything is written,
        where one holds something else than `before` by now, or is a link.
        """
        ...
