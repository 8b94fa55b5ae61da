"""Processes that are killed amid a fetch, disks that are full, caches that are damaged: the next poll puts it right."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from gitops_mc.adapters import git_private
from gitops_mc.adapters.git_remote import Limits
from gitops_mc.core.errors import SourceError
from gitops_mc.core.model import Commit
from tests.adapters.git_servers import (
    Answer,
    Asked,
    GitServer,
    Origin,
    beside,
    origin,
    polled,
    serving,
    source,
    texts,
)
from tests.adapters.kube_peers import TLS

POLL = """
import sys
from pathlib import Path
from gitops_mc.adapters import git_private
from gitops_mc.adapters.git_access import Access, Bearer
from gitops_mc.adapters.git_remote import RemoteSource
git_private._IN_MEMORY = Path(sys.argv[4])
access = Access(Bearer("a-token"), Path(sys.argv[3]).read_bytes())
print(RemoteSource(sys.argv[1], Path(sys.argv[2]), lambda: access).poll().commit)
"""


@pytest.fixture
def fleet(tmp_path: Path) -> Origin:
    made = origin(tmp_path)
    made.commit("1")
    return made


@pytest.fixture
def server(fleet: Origin) -> Iterator[GitServer]:
    with serving(GitServer(), fleet.root) as found:
        yield found


def children(of: int) -> set[int]:
    """All processes below one, by the kernel's own list."""
    found = set()
    for task in Path(f"/proc/{of}/task").glob("*/children"):
        for child in map(int, task.read_text().split()):
            found |= {child} | children(child)
    return found


def running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="looks at /proc, which is Linux's")
@pytest.mark.parametrize("part", ["greeting", "pack"])
def test_a_process_killed_amid_a_fetch_takes_its_programs_along_and_the_next_one_goes_on(
    part: str, fleet: Origin, server: GitServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    cache = tmp_path / "cache"
    first = fleet.head()
    early = source(server, cache)
    polled(early)
    early.leave()
    with Path("/dev/urandom").open("rb") as random:
        head = fleet.commit(random.read(300_000).hex(), name="big")
    reached, over = threading.Event(), threading.Event()

    def stalling(asked: Asked) -> Answer:
        whole = asked.backend()
        if (part == "greeting") == (asked.method == "GET") and (part != "pack" or len(whole.body) > 100_000):
            reached.set()
            if part == "pack":
                return replace(whole, sent=len(whole.body) // 2, until=over)
            over.wait(30)
        return whole

    server.answer = stalling
    process = subprocess.Popen(
        [sys.executable, "-c", POLL, server.url, str(cache), str(TLS / "ca.crt"), str(shelf)],
        stdout=subprocess.PIPE,
    )
    assert reached.wait(20)
    while part == "pack" and not list(cache.glob("repository-*.git/objects/pack/tmp_pack_*")):
        time.sleep(0.01)
    below = children(process.pid)
    assert len(below) >= 3
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    end = time.monotonic() + 5
    while any(map(running, below)) and time.monotonic() < end:
        time.sleep(0.01)
    assert not any(map(running, below))
    over.set()
    assert list(shelf.iterdir())
    server.answer = lambda asked: asked.backend()
    monkeypatch.setattr(git_private, "_IN_MEMORY", shelf)
    again = source(server, cache)
    assert again.standing() == first
    assert list(shelf.iterdir()) == []
    found = polled(again)
    assert (found.commit, found.renewed) == (head, False)
    assert not list(cache.glob("repository-*.git/objects/pack/tmp_*"))


def only(cache: Path) -> Path:
    (found,) = cache.glob("repository-*.git")
    return found


def packs(cache: Path) -> list[Path]:
    return sorted(cache.glob("repository-*.git/objects/pack/*.pack"))


def break_pack(cache: Path) -> None:
    for pack in packs(cache):
        pack.chmod(0o600)
        pack.write_bytes(pack.read_bytes()[:-60])


def lose_pack(cache: Path) -> None:
    for pack in packs(cache):
        pack.unlink()


def empty_references(cache: Path) -> None:
    for path in (only(cache) / "refs").rglob("*"):
        if path.is_file():
            path.write_bytes(b"")


def spoil_head(cache: Path) -> None:
    (only(cache) / "HEAD").write_bytes(b"\0\0\0")


def spoil_shallow(cache: Path) -> None:
    (only(cache) / "shallow").write_bytes(b"nonsense\n")


def lose_objects(cache: Path) -> None:
    (only(cache) / "objects").rename(cache / "elsewhere")


def spoil_configuration(cache: Path) -> None:
    (only(cache) / "config").write_bytes(b"[core\n")


Damage = Callable[[Path], None]
DAMAGES = [
    break_pack,
    lose_pack,
    empty_references,
    spoil_head,
    spoil_shallow,
    lose_objects,
    spoil_configuration,
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_cache_is_put_right_by_the_next_process(
    damage: Damage, fleet: Origin, tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    fleet.commit("2")
    first = beside(fleet, cache)
    polled(first)
    first.leave()
    damage(cache)
    second = beside(fleet, cache)
    for _ in range(2):
        assert polled(second).commit == fleet.head()
        assert texts(second.tree()) == {"a": "2"}
    head = fleet.commit("3")
    assert polled(second).commit == head


def test_damage_that_a_reader_meets_is_put_right_by_the_next_poll(fleet: Origin, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    followed = beside(fleet, cache)
    polled(followed)
    break_pack(cache)
    with pytest.raises(SourceError):
        texts(followed.tree())
    assert polled(followed).renewed
    assert texts(followed.tree()) == {"a": "1"}


def test_a_cache_that_is_deleted_under_a_running_process_is_made_anew(fleet: Origin, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    followed = beside(fleet, cache)
    polled(followed)
    shutil.rmtree(cache / only(cache).name)
    with pytest.raises(SourceError):
        followed.tree()
    assert polled(followed).renewed
    assert texts(followed.tree()) == {"a": "1"}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_cache_that_is_damaged_under_a_running_process_is_made_anew(
    damage: Damage, fleet: Origin, tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    followed = beside(fleet, cache)
    polled(followed)
    damage(cache)
    head = fleet.commit("2")
    for _ in range(2):  # the first one may be what meets the damage
        with suppress(SourceError):
            polled(followed)
            texts(followed.tree())
    assert polled(followed).commit == head
    assert texts(followed.tree()) == {"a": "2"}


def test_a_damaged_cache_is_kept_while_the_server_is_down(fleet: Origin, tmp_path: Path) -> None:
    """What can still be read of it stays readable: it is made anew only when it can be filled again."""
    cache = tmp_path / "cache"
    first = beside(fleet, cache)
    polled(first)
    (only(cache) / "refs" / "gitops-mc" / "wanted").mkdir(exist_ok=True)
    (only(cache) / "refs" / "gitops-mc" / "wanted" / ("1" * 40)).write_text("1" * 40 + "\n")
    first.leave()
    (fleet.root / "fleet.git").rename(tmp_path / "away")
    second = beside(fleet, cache)
    with pytest.raises(SourceError):
        second.poll()
    assert texts(second.tree()) == {"a": "1"}
    (tmp_path / "away").rename(fleet.root / "fleet.git")
    assert polled(second).renewed
    assert texts(second.tree()) == {"a": "1"}


def test_leftovers_of_killed_programs_are_removed(fleet: Origin, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    first = beside(fleet, cache)
    polled(first)
    first.leave()
    repository = only(cache)
    left = [
        repository / name
        for name in (
            "shallow.lock",
            "packed-refs.lock",
            "refs/gitops-mc/incoming.lock",
            "objects/pack/tmp_pack_AbCdEf",
            "objects/pack/.tmp-1-pack-0.pack",
            "objects/pack/pack-1234.pack",
            "objects/pack/pack-1234.keep",
        )
    ]
    for path in left:
        path.write_bytes(b"x" * 1000)
    (repository / "objects" / "tmp_objdir-incoming-x" / "pack").mkdir(parents=True)
    head = fleet.commit("2")
    second = beside(fleet, cache)
    found = polled(second)
    assert (found.commit, found.renewed) == (head, False)
    assert not [path for path in left if path.exists()]
    assert not (repository / "objects" / "tmp_objdir-incoming-x").exists()


def test_a_fetch_that_fails_leaves_no_half_a_pack_behind(
    fleet: Origin, server: GitServer, tmp_path: Path
) -> None:
    over = threading.Event()
    followed = source(server, tmp_path / "cache", limits=Limits(seconds=2))
    polled(followed)
    with Path("/dev/urandom").open("rb") as random:
        fleet.commit(random.read(300_000).hex(), name="big")

    def stalling(asked: Asked) -> Answer:
        whole = asked.backend()
        return replace(whole, sent=len(whole.body) // 2, until=over) if len(whole.body) > 100_000 else whole

    server.answer = stalling
    for _ in range(2):
        with pytest.raises(SourceError, match="time for the poll was over"):
            polled(followed)
    over.set()
    assert not list((tmp_path / "cache").rglob("tmp_*"))
    assert texts(followed.tree()) == {"a": "1"}


def test_a_disk_that_is_full_is_told_and_what_was_read_stays(fleet: Origin, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(cache)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("no right to mount a small disk: run as root")
    try:
        followed = beside(fleet, cache)
        polled(followed)
        with Path("/dev/urandom").open("rb") as random:
            (fleet.work / "big").write_bytes(random.read(2 << 20))
        fleet.commit("2")
        with pytest.raises(SourceError) as caught:
            polled(followed)
        assert "disk of the cache is full" in caught.value.message
        assert texts(followed.tree()) == {"a": "1"}
        (fleet.work / "big").unlink()
        fleet.git("reset", "-q", "--soft", "HEAD~1")
        head = fleet.commit("4")
        assert polled(followed).commit == head
        followed.leave()
    finally:
        subprocess.run(["umount", "--lazy", str(cache)], check=True)


def test_a_cache_that_cannot_be_is_told(fleet: Origin, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(SourceError) as caught:
        beside(fleet, tmp_path / "file" / "cache").poll()
    assert "cannot be used" in caught.value.message


def test_readers_are_not_disturbed_by_polls_and_their_cleaning(fleet: Origin, tmp_path: Path) -> None:
    for number in range(20):
        (fleet.work / f"f{number}").write_text(str(number))
    stood = fleet.commit("x")
    followed = beside(fleet, tmp_path / "cache")
    polled(followed)
    over = threading.Event()
    failures: list[BaseException] = []
    read = [0]

    def reading() -> None:
        while not over.is_set():
            try:
                assert len(texts(followed.tree(Commit(stood)))) == 21
                assert len(texts(followed.tree())) == 21
                read[0] += 1
            except BaseException as error:  # noqa: BLE001 - whatever it is, the test tells
                failures.append(error)
                return

    thread = threading.Thread(target=reading)
    thread.start()
    for number in range(12):
        fleet.commit(str(number))
        polled(followed, stood)
    over.set()
    thread.join(20)
    assert failures == []
    assert read[0] > 10
