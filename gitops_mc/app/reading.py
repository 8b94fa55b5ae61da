"""A source at a revision -> desired state, reading only the blobs that matter, and each once."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from gitops_mc.app.ports import Source, Tree, TreeEntry
from gitops_mc.core.desired import Cache, CheckedCache, DesiredState, SourceFile, load
from gitops_mc.core.fleetfile import FLEET_FILE

_SPARE = 1_000
"""Parsed files of other revisions that are kept at least, beside as many again as the tree has."""


@dataclass(slots=True)
class ReadingCache:
    """What was read before, by blob id; and the last result, for a tree that has not changed. One thread at a time."""

    parsed: Cache = field(default_factory=dict)
    checked: CheckedCache = field(default_factory=dict)
    contents: dict[str, bytes] = field(default_factory=dict)
    """Of fleet.yaml, links and payload; manifests stand in `parsed`."""
    last_entries: tuple[TreeEntry, ...] = ()
    last: DesiredState | None = None


def read_desired(source: Source, revision: str | None, cache: ReadingCache) -> tuple[DesiredState, str]:
    """The desired state and its commit (`""` for a folder). Raises SourceError when the source cannot be read:
    nothing is known then, and that is never an empty fleet.
    """
    tree = source.tree(revision)
    return read_tree(tree, cache), tree.commit


def read_tree(tree: Tree, cache: ReadingCache) -> DesiredState:
    """The desired state of a tree. Raises SourceError where a file of it cannot be read."""
    if cache.last is None or cache.last_entries != tree.entries:
        state = _load(tree, cache)
        _forget(tree, cache)
        cache.last, cache.last_entries = state, tree.entries
    return cache.last


def _load(tree: Tree, cache: ReadingCache) -> DesiredState:
    """Load, read what was missing, load again: manifests first, then the files they name."""
    entries = {entry.path: entry for entry in tree.entries}
    files = {
        path: SourceFile(path, entry.blob, entry.mode, cache.contents.get(entry.blob), entry.size)
        for path, entry in entries.items()
    }
    wanted = [FLEET_FILE] if FLEET_FILE in files else []
    while True:
        read = {path: _content(entries[path], tree, cache) for path in wanted}
        files.update({path: replace(files[path], data=data) for path, data in read.items()})
        state = load(tuple(files.values()), cache=cache.parsed, checked_cache=cache.checked)
        wanted = [path for path in state.unread if files[path].data is None]
        if not wanted:
            return state


def _content(entry: TreeEntry, tree: Tree, cache: ReadingCache) -> bytes:
    found = cache.contents.get(entry.blob)
    if found is None:
        found = cache.contents[entry.blob] = tree.read(entry)
    return found


def _forget(tree: Tree, cache: ReadingCache) -> None:
    """Manifests' bytes are not needed once parsed; of other revisions only some are kept."""
    blobs = {entry.blob for entry in tree.entries}
    for blob in [blob for blob in cache.contents if blob in cache.parsed or blob not in blobs]:
        del cache.contents[blob]
    if len(cache.parsed) > 2 * len(blobs) + _SPARE:
        for blob in [blob for blob in cache.parsed if blob not in blobs]:
            del cache.parsed[blob]
