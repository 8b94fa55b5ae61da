"""Heads of pull requests, in a cache of their own: what a stranger pushes gets nowhere near the cache that is followed.

Forges keep the head of every pull request in the repository that it is for, those of forks, too (`refs/pull/N/head`; GitLab:
`refs/merge-requests/N/head`). So nothing is fetched from anywhere else, and no credential goes anywhere else. Fetched is into a bare
repository without hooks and without configuration, submodules are left alone, and nothing is checked out: no filter, no hook, no
merge driver of the repository runs.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pygit2

from gitops_mc.adapters.git_access import ANYBODY, Access
from gitops_mc.adapters.git_address import Unprotected, address_of
from gitops_mc.adapters.git_client import GitClient
from gitops_mc.adapters.git_folder import discard
from gitops_mc.adapters.git_followed import checked_name
from gitops_mc.adapters.git_private import private
from gitops_mc.adapters.git_program import Bounds
from gitops_mc.adapters.git_store import GitStore
from gitops_mc.app.pull_ports import Fork, NoFork, OutdatedError
from gitops_mc.core.custom.pull_request import PullRequest
from gitops_mc.core.errors import GitopsMcError, SourceError
from gitops_mc.core.model import Commit

GITHUB_HEADS: Final = "refs/pull/{}/head"
"""Gitea's and Forgejo's, too."""
GITLAB_HEADS: Final = "refs/merge-requests/{}/head"
_SPACE: Final = "refs/gitops-mc/pulls/"
_BASE: Final = f"{_SPACE}base"
_FOLLOWED: Final = f"{_SPACE}followed"
_HEAD: Final = f"{_SPACE}head"
_DEPTHS: Final = (20, 200, 2_000)
"""How far back is looked for where they part."""
_MANY_PACKS: Final = 8


@dataclass(frozen=True, slots=True)
class PullLimits:
    """What one pull request may use up."""

    seconds: float = 60.0
    """In total."""
    fetched: int = 128 << 20
    """Bytes of one fetch, packed."""
    kept: int = 256 << 20
    """Bytes of the cache; one that has grown beyond that is made anew. The volume that it stands on is the rollouts', too: whoever fills
    it with a pull request would end the controller.
    """
    files: int = 50_000
    """Of the head. A few kilobytes of trees within trees may stand for more files than there are atoms."""
    changed: int = 16 << 20
    """Bytes of the head's files that base does not have: somebody has to read them."""


class PullHeads:
    """The `PullSource` port over `url`, with its cache in `cache`, a folder that nobody else uses.

    `heads` is how the forge names the head of a pull request, `ref` what the Fleet follows. Everything else is as for a RemoteSource.
    """

    def __init__(
        self,
        url: str,
        cache: Path,
        heads: str,
        access: Callable[[], Access] = lambda: ANYBODY,
        *,
        ref: str = "",
        limits: PullLimits = PullLimits(),
        unprotected: frozenset[Unprotected] = frozenset(),
    ) -> None:
        self._address = address_of(url, unprotected)
        self._heads = heads
        self._ref = ref
        self._access = access
        self._limits = limits
        self._store = GitStore(cache.absolute())
        self._busy = threading.Lock()
        self._doubtful = True
        self._depth = _DEPTHS[0]
        """That sufficed the last time."""

    def bring(self, pull: PullRequest, base: Commit) -> Fork | NoFork:
        """As the port promises."""
        branch = checked_name(pull.base_branch)
        with self._busy, self._failing():
            self._store.hold(f"{self._address.url}\n{self._ref}\n")
            until = time.monotonic() + self._limits.seconds
            with private(self._address, self._access()) as held:
                git = GitClient(
                    self._address, held, Bounds(until), self._store.repository, self._limits.fetched
                )
                self._look_after(git)
                return self._bring(git, pull, branch, base)

    @contextmanager
    def _failing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self._doubtful = True
            raise SourceError(
                f"{self._address.url}: this machine fails: {error.strerror}",
                hint="is there room on the disk and in memory, and may files be written?",
            ) from error
        except SourceError:
            self._doubtful = True
            self._store.tidy()
            raise

    def _look_after(self, git: GitClient) -> None:
        """A cache that is damaged, or has grown too large, is made anew; nothing in it is missed."""
        if self._doubtful:
            git.check_version()
        damaged = not self._store.opens() or (self._doubtful and not git.sound())
        if damaged or _size(self._store.repository) > self._limits.kept:
            git.repository = self._store.renew()
        elif self._store.packs() > _MANY_PACKS:
            with suppress(SourceError):
                git.clean()
        self._doubtful = False

    def _bring(self, git: GitClient, pull: PullRequest, branch: str, base: Commit) -> Fork | NoFork:
        into = {self._heads.format(pull.number): _HEAD, f"refs/heads/{branch}": _BASE}
        found: Fork | NoFork = NoFork("nothing has been fetched")
        for depth in (d for d in _DEPTHS if d >= self._depth):
            git.fetch_all(into, depth)
            if self._store.commit_of(_HEAD) != pull.head:
                raise OutdatedError(f"pull request {pull.number} has another head by now")
            if not self._store.has(base):
                self._bring_base(git, base)
            self._weigh(pull, base)
            found = self.merge_base(base, pull.head)
            self._depth = depth
            if isinstance(found, Fork) or not self._cut_off():
                return found
        self._depth = _DEPTHS[0]
        return found

    def _bring_base(self, git: GitClient, base: Commit) -> None:
        """What is followed may be older than the branch: its newest commit may have been refused. Raises SourceError."""
        if git.fetch_commits({base: _FOLLOWED}) is not None:
            raise SourceError(
                f"{self._address.url}: commit {base[:12]}, which is followed, is not given out any more",
                hint="was history rewritten? A preview is made of what is followed next",
            )

    def _weigh(self, pull: PullRequest, base: Commit) -> None:
        """Raises SourceError for a head that nobody should have to read."""
        told = f"{self._address.url}: pull request {pull.number}"
        with self._reading():
            repository = self._open()
            files = self._limits.files
            there = _blobs(repository, repository[base].peel(pygit2.Tree), 10 * files)
            here = _blobs(repository, repository[pull.head].peel(pygit2.Tree), files)
            if here is None or there is None:
                raise SourceError(f"{told} has more than {files} files", hint="previews are made of fewer")
            changed = 0
            for blob in here - there:
                changed += int(repository[blob].size)
                if changed > self._limits.changed:
                    raise SourceError(
                        f"{told} changes more than {self._limits.changed >> 20} MiB",
                        hint="previews are made of less",
                    )

    def merge_base(self, base: Commit, head: Commit) -> Fork | NoFork:
        """As the port promises. What is cut off may hide a nearer one: it is believed only where nothing above it is cut off."""
        with self._reading():
            repository = self._open()
            found = repository.merge_base(base, head)
            edge = self._cut_off()
            if found is None:
                return NoFork(_not_within() if edge else "they have no commit in common")
            ahead = _between(repository, base, found)
            if edge & (ahead | _between(repository, head, found)):
                return NoFork(_not_within())
            return Fork(Commit(str(found)), len(ahead))

    @property
    def repository(self) -> Path:
        """Where what was brought last stands, a bare repository; to be read until the next one is brought."""
        return self._store.repository

    def leave(self) -> None:
        """As the port promises."""
        with self._busy:
            self._store.leave()
            with suppress(SourceError, OSError):
                discard(self._store.folder)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except GitopsMcError:
            raise
        except (KeyError, ValueError, pygit2.GitError) as error:
            self._doubtful = True
            raise SourceError(
                f"{self._address.url}: what was fetched of a pull request cannot be read",
                hint="the next preview fetches it anew",
            ) from error

    def _open(self) -> Any:
        return pygit2.Repository(str(self._store.repository))

    def _cut_off(self) -> frozenset[str]:
        """Commits whose parents were not fetched."""
        file = self._store.repository / "shallow"
        return frozenset(file.read_text(encoding="ascii").split()) if file.is_file() else frozenset()


def _blobs(repository: Any, tree: Any, most: int) -> frozenset[Any] | None:
    """The files of a tree, by what they hold; None where there are more, in which nobody goes on looking."""
    found, seen, trees = set(), 0, [tree]
    while trees:
        for item in trees.pop():
            seen += 1
            if seen > most:
                return None
            if item.filemode == pygit2.enums.FileMode.TREE:
                trees.append(repository[item.id])
            elif item.filemode != pygit2.enums.FileMode.COMMIT:
                found.add(item.id)
    return frozenset(found)


def _between(repository: Any, tip: str, below: Any) -> frozenset[str]:
    """Commits that lead to `tip`, and not to `below`."""
    walker = repository.walk(tip, pygit2.enums.SortMode.NONE)
    walker.hide(below)
    return frozenset(str(commit.id) for commit in walker)


def _not_within() -> str:
    return f"where they part is not within the last {_DEPTHS[-1]} commits"


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("objects/pack/*"))
