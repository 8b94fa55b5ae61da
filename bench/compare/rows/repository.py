"""Reading the repository: cold, after a commit, and over the wire."""

from __future__ import annotations

import gc
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Final

import yaml

from bench.compare.manifests import EACH, committed, files, git, manifest
from bench.compare.measuring import Aim, Figure, Row, Work, in_turns
from gitops_mc.adapters.git import GitSource
from gitops_mc.adapters.git_remote import RemoteSource
from gitops_mc.app.reading import ReadingCache, read_desired
from gitops_mc.core.desired import load


def _cold(_folder: Path) -> Iterator[Figure]:
    for clusters in (20, 200):
        found = files(clusters)
        contents = [file.data or b"" for file in found]
        ours, yardstick = in_turns(
            lambda found=found: load(found, cache={}),  # type: ignore[misc]
            lambda contents=contents: [yaml.load(data, yaml.CSafeLoader) for data in contents],  # type: ignore[misc]
            turns=3,
            clock=time.process_time,
        )
        yield Figure(f"{clusters * EACH:,} manifests", ours, yardstick)


def _again(folder: Path) -> Iterator[Figure]:
    for clusters in (20, 200):
        repository = committed(folder / str(clusters), clusters)
        source = GitSource(str(repository))
        again, cold = [], []
        for turn in range(3):
            cache = ReadingCache()
            cold.append(_seconds(source, cache))
            (repository / "clusters/edge-0007/003.yaml").write_text(manifest("edge-0007", 3, f"{turn}"))
            git(repository, "commit", "-qam", "one")
            again.append(_seconds(source, cache))
        yield Figure(f"{clusters * EACH:,} manifests", median(again), median(cold))


def _seconds(source: GitSource, cache: ReadingCache) -> float:
    gc.collect()
    begun = time.perf_counter()
    read_desired(source, "main", cache)
    return time.perf_counter() - begun


def _fetch(folder: Path) -> Iterator[Figure]:
    """A commit of one file, fetched from a repository on this disk, and every file of its tree read."""
    for clusters in (20, 200):
        place = folder / f"fetched-{clusters}"
        upstream = committed(place / "upstream", clusters)
        url = f"file://{upstream}"
        source = RemoteSource(url, place / "cache", ref="main", unprotected=frozenset({"file"}))
        source.poll()
        git(place, "clone", "-q", "--bare", "--depth=1", url, "theirs")
        ours, theirs = [], []
        for turn in range(5):
            (upstream / "clusters/edge-0007/003.yaml").write_text(manifest("edge-0007", 3, f"{turn}"))
            git(upstream, "commit", "-qam", "one")
            ours.append(_timed(lambda source=source: _polled(source)))  # type: ignore[misc]
            theirs.append(_timed(lambda place=place: _by_git(place / "theirs")))  # type: ignore[misc]
        yield Figure(f"{clusters * EACH:,} files", median(ours), median(theirs))


def _polled(source: RemoteSource) -> None:
    source.poll()
    tree = source.tree()
    for entry in tree.entries:
        tree.read(entry)


def _by_git(clone: Path) -> None:
    git(clone, "fetch", "-q", "--depth=1", "origin", "main")
    listed = git(clone, "ls-tree", "-r", "FETCH_HEAD")
    blobs = "".join(f"{line.split()[2]}\n" for line in listed.splitlines())
    subprocess.run(
        ["git", "-C", str(clone), "cat-file", "--batch"],
        input=blobs.encode(),
        check=True,
        capture_output=True,
    )


def _timed(work: Work) -> float:
    gc.collect()
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


ROWS: Final = (
    Row(
        "cold-load", "cold load, every rule checked", "PyYAML CSafeLoader on the same bytes", Aim(3.0), _cold
    ),
    Row("fetch", "fetch of a commit, tree read", "git fetch, ls-tree and cat-file", Aim(1.0), _fetch),
    Row("reload", "reload after a commit of one file", "the cold load", Aim(0.02), _again),
)
