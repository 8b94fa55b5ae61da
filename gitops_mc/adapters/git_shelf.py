"""The caches of one process, side by side in a folder: one for each address and ref that a Fleet has followed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from gitops_mc.adapters.git_folder import source_of

_NAME: Final = re.compile(r"(?P<fleet>.+)-[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class Shelf:
    """`folder` is of one process; the Fleets are those of one namespace."""

    folder: Path
    namespace: str

    def place(self, fleet: str, url: str, ref: str) -> Path:
        """Where the cache of a source is; `url` as an Address has it."""
        key = sha256(f"{self.namespace}/{fleet} {url} {ref}".encode()).hexdigest()[:16]
        return self.folder / f"{fleet}-{key}"

    def caches(self) -> dict[str, frozenset[Path]]:
        """Those that stand here, by Fleet. One is known by what it says of itself: its name follows from what it is a cache of. So
        nothing that somebody else has put here is among them. Raises OSError.
        """
        found: dict[str, frozenset[Path]] = {}
        for path in self.folder.iterdir():
            if (fleet := self._fleet_of(path)) is not None:
                found[fleet] = found.get(fleet, frozenset()) | {path}
        return dict(sorted(found.items()))

    def _fleet_of(self, path: Path) -> str | None:
        named = _NAME.fullmatch(path.name)
        if named is None or path.is_symlink():
            return None
        source = source_of(path)
        return named["fleet"] if source and self.place(named["fleet"], *source) == path else None
