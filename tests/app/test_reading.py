"""Reading a source into desired state: only the blobs that matter, each once, and nothing twice."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from gitops_mc.app.ports import Tree, TreeEntry
from gitops_mc.app.reading import ReadingCache, read_desired
from gitops_mc.core.errors import SourceError
from tests.core.desired_repositories import FLEET, config, desired, files


@dataclass
class Kept:
    """A source in memory that notes what is read of it."""

    texts: dict[str, str]
    links: dict[str, str] = field(default_factory=dict)
    commit: str = "c1"
    reads: list[str] = field(default_factory=list)

    def tree(self, revision: str | None = None) -> Tree:
        if revision == "gone":
            raise SourceError("there is no branch gone")
        contents = {file.path: file for file in files(self.texts, links=self.links)}

        def read(entry: TreeEntry) -> bytes:
            self.reads.append(entry.path)
            data = contents[entry.path].data
            assert data is not None
            return data

        entries = (TreeEntry(f.path, f.blob, len(f.data or b""), f.mode) for f in contents.values())
        return Tree(self.commit, tuple(sorted(entries, key=lambda entry: entry.path)), read)


def repository() -> Kept:
    return Kept(
        texts={
            "fleet.yaml": FLEET,
            "README.md": "hello",
            "clusters/a/x.yaml": config(local="files/used"),
            "clusters/a/files/used": "payload",
            "clusters/a/files/unused": "never read",
            "clusters/b/y.yaml": config("60-worker-b"),
            "clusters/c/y.yaml": config("60-worker-b"),
            "common/z.yaml": config("70-worker-c"),
        },
        links={"clusters/b/z.yaml": "../../common/z.yaml"},
    )


def test_only_what_matters_is_read_and_each_content_once() -> None:
    source = repository()
    state, commit = read_desired(source, None, ReadingCache())
    assert commit == "c1"
    assert sorted(source.reads) == [
        "clusters/a/files/used",
        "clusters/a/x.yaml",
        "clusters/b/y.yaml",
        "clusters/b/z.yaml",
        "common/z.yaml",
        "fleet.yaml",
    ]
    assert state.unread == ()
    assert state == desired(source.texts, links=source.links)


def test_an_unchanged_tree_is_not_read_again_even_under_another_commit() -> None:
    source, cache = repository(), ReadingCache()
    first, _ = read_desired(source, None, cache)
    source.reads.clear()
    source.commit = "c2"
    second, commit = read_desired(source, None, cache)
    assert (second, commit, source.reads) == (first, "c2", [])


def test_after_a_change_only_what_changed_is_read() -> None:
    source, cache = repository(), ReadingCache()
    before, _ = read_desired(source, None, cache)
    source.reads.clear()
    source.texts["clusters/a/files/used"] = "changed"
    after, _ = read_desired(source, None, cache)
    assert source.reads == ["clusters/a/files/used"]
    assert after.clusters[0].content != before.clusters[0].content
    assert after.clusters[1:] == before.clusters[1:]


def test_what_a_change_left_behind_is_forgotten_in_time() -> None:
    source, cache = Kept({"clusters/a/x.yaml": config()}), ReadingCache()
    for number in range(1_100):
        source.texts["clusters/a/x.yaml"] = config(f"50-worker-{number}")
        read_desired(source, None, cache)
    assert len(cache.parsed) < 1_050
    assert cache.contents == {}


def test_a_source_that_cannot_be_read_is_an_error_and_changes_nothing_remembered() -> None:
    source, cache = repository(), ReadingCache()
    first, _ = read_desired(source, None, cache)
    with pytest.raises(SourceError):
        read_desired(source, "gone", cache)
    assert cache.last == first
