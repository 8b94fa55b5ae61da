"""A remote Git repository as a source: polls go there, and everything else reads the cache that they fill."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Final

from gitops_mc.adapters.git import GitSource
from gitops_mc.adapters.git_access import ANYBODY, Access, Trust
from gitops_mc.adapters.git_address import Unprotected, address_of
from gitops_mc.adapters.git_client import EVERYTHING, GitClient
from gitops_mc.adapters.git_followed import COMMIT_ID, Standing, checked_name, look
from gitops_mc.adapters.git_private import Private, private
from gitops_mc.adapters.git_program import Bounds
from gitops_mc.adapters.git_signatures import Signed, Unproven, checked
from gitops_mc.adapters.git_store import INCOMING, GitStore, wanted_name
from gitops_mc.app.ports import NotAccepted, Polled, Tree, TreeEntry
from gitops_mc.core.errors import GitopsMcError, SourceError
from gitops_mc.core.model import Commit

_DEPTHS: Final = (8, 64, 1024)
"""How far back is looked for the commit before, to tell a push from rewritten history: most pushes are short."""
_MANY_PACKS: Final = 8


@dataclass(frozen=True, slots=True)
class Limits:
    """What one poll may use up."""

    seconds: float = 120.0
    """In total, whatever it has to do."""
    fetched: int = 512 << 20
    """Bytes of one fetch, packed."""


class RemoteSource:
    """The PolledSource port over `url`, with its cache in `cache`, a folder that no other source uses.

    `ref` is a branch, a tag, or a full name (`refs/...`); empty: the default branch. `folder` is what is read of the
    repository. `access` is asked anew at every poll, since tokens, keys and certificates change; what it raises is passed on,
    an OSError as a SourceError. Raises SourceError for an address or a name that cannot be.
    """

    def __init__(
        self,
        url: str,
        cache: Path,
        access: Callable[[], Access] = lambda: ANYBODY,
        *,
        ref: str = "",
        folder: str = "",
        limits: Limits = Limits(),
        unprotected: frozenset[Unprotected] = frozenset(),
    ) -> None:
        self._address = address_of(url, unprotected)
        self._ref = checked_name(ref)
        self._folder = folder
        self._access = access
        self._limits = limits
        self._store = GitStore(cache.absolute())  # git runs in a folder of its own
        self.cache = cache
        self.brought = False
        """Whether a poll has brought a commit that is good."""
        self._polling = threading.Lock()
        self._left = False
        self._doubtful = True
        """Whether what is kept has to be looked through before it is built upon: after a start, and after a failure."""
        self._proven: tuple[str, str, str] = ("", "", "")
        """The last commit whose signature was checked, the digest of the keys, and who signed it."""
        self._gone: dict[Commit, str] = {}
        """Wanted commits that could not be had, and where the server stood then."""

    def standing(self) -> Commit | None:
        """The newest accepted commit, without asking anybody; None before the first."""
        self._hold()
        found = self._store.accepted()
        return None if found is None else Commit(found)

    def tree(self, revision: str | None = None) -> Tree:
        """The tree at the newest accepted commit, or at one that was accepted before or is wanted."""
        self._hold()
        commit = (
            self._store.accepted() if revision is None or (revision and revision == self._ref) else revision
        )
        if commit is None:
            raise SourceError(
                f"{self._address.url}: no commit has been fetched and accepted yet",
                hint="see what the last poll said",
            )
        if not self._store.readable(commit):
            raise SourceError(
                f"{self._address.url}: commit {commit[:40]} is not kept",
                hint="a poll brings it when it is wanted, if the server still has it",
            )
        found = self._read_tree(commit)
        return Tree(found.commit, found.entries, _Reading(self, commit, found).read)

    def poll(self, wanted: frozenset[Commit] = frozenset()) -> Polled | NotAccepted:
        """As the port promises."""
        for commit in wanted:
            if not COMMIT_ID.fullmatch(commit):
                raise SourceError(f"{commit!r} is no whole id of a commit", hint="give 40 hexadecimal digits")
        try:
            with self._polling:
                access = self._given()
                self._hold()
                try:
                    return self._poll_with(access, wanted)
                except OSError as error:
                    raise SourceError(
                        f"{self._address.url}: this machine fails: {error.strerror}",
                        hint="is there room on the disk and in memory, and may files be written?",
                    ) from error
        finally:
            if self._left:
                self._let_go()

    def leave(self) -> None:
        """As the port promises: another one may use the cache then."""
        self._left = True
        self._let_go()

    def _let_go(self) -> None:
        """Whoever is the last to be here lets the cache go: the one that leaves, or the poll that runs meanwhile."""
        if self._polling.acquire(blocking=False):
            try:
                self._store.leave()
            finally:
                self._polling.release()

    def doubt(self) -> None:
        """Something has gone wrong, and it may be the cache: the next poll looks through all of it."""
        self._doubtful = True

    def _poll_with(self, access: Access, wanted: frozenset[Commit]) -> Polled | NotAccepted:
        until = time.monotonic() + self._limits.seconds
        with private(self._address, access) as held:
            bounds = Bounds(until)
            git = GitClient(self._address, held, bounds, self._store.repository, self._limits.fetched)
            try:
                return self._poll(git, access.trust, wanted)
            except (SourceError, OSError):
                self.doubt()
                self._store.tidy()
                raise

    def _poll(self, git: GitClient, trust: Trust | None, wanted: frozenset[Commit]) -> Polled | NotAccepted:
        if self._store.opens():
            self._store.pin(wanted)
        if self._doubtful:
            git.check_version()
        found = look(git, self._ref)
        damaged = not self._store.opens() or (self._doubtful and not git.sound())
        if damaged:  # only once the server has answered: until then it may still be good for something
            git.repository = self._store.renew()
        self._doubtful = False
        before = self._store.accepted()
        fetched = self._store.target_of(INCOMING) != found.target
        if fetched:
            self._bring(git, found, before)
        commit = self._store.commit_of(INCOMING)
        if commit is None:
            raise SourceError(
                f"{self._address.url}: {found.name} does not lead to a commit",
                hint="follow a branch, or a tag of a commit",
            )
        gone = self._bring_wanted(git, found, wanted)
        self._store.unpin(frozenset(wanted))
        if self._store.packs() > _MANY_PACKS:
            with suppress(SourceError):  # the next fetch says it, if there is no room; this one was good
                git.clean()
        signer = self._signer(commit, trust, git.held, git.bounds)
        if isinstance(signer, Unproven):
            standing = None if before is None else Commit(before)
            return NotAccepted(Commit(commit), found.name, signer.reason, signer.hint, standing, gone)
        rewritten = before not in (None, commit) and not git.descends(commit, str(before))
        self._store.accept(commit)
        self.brought = True
        at, subject = self._store.committed(commit)
        return Polled(Commit(commit), found.name, at, subject, signer.by, rewritten, gone, damaged)

    def _bring(self, git: GitClient, found: Standing, before: str | None) -> None:
        """Fetch the followed commit; and so much of its history, within reason, that it leads to the one before."""
        if before is None:
            git.fetch(found.name, INCOMING, 1)
            return
        for depth in _DEPTHS:
            git.fetch(found.name, INCOMING, depth)
            commit = self._store.commit_of(INCOMING)
            if commit is None or not git.shallow or git.descends(commit, before):
                return

    def _bring_wanted(self, git: GitClient, found: Standing, wanted: frozenset[Commit]) -> frozenset[Commit]:
        """Fetch the wanted commits that are not here; those that cannot be had are returned. Where the server stands as it did when
        one was gone, it is not asked for that one again.
        """
        absent = [commit for commit in sorted(wanted) if not self._store.has(commit)]
        missing = [commit for commit in absent if self._gone.get(commit) != found.target]
        if missing and git.fetch_commits({commit: wanted_name(commit) for commit in missing}) is not None:
            for commit in missing:
                self._bring_one(git, found, commit)
        gone = frozenset(commit for commit in absent if not self._store.has(commit))
        self._gone = dict.fromkeys(gone, found.target)
        self._store.pin(wanted)
        return gone

    def _bring_one(self, git: GitClient, found: Standing, commit: str) -> None:
        """One commit by its id or, from a server that gives out none by its id, with the whole history."""
        if self._store.has(commit):
            return
        refused = git.fetch_commits({commit: wanted_name(commit)})
        if refused is not None and not refused.gone:
            git.fetch(found.name, INCOMING, EVERYTHING)

    def _signer(self, commit: str, trust: Trust | None, held: Private, bounds: Bounds) -> Signed | Unproven:
        if trust is None:
            return Signed("")
        keys = sha256(b"%d %s%s" % (len(trust.gpg), trust.gpg, trust.ssh)).hexdigest()
        if self._proven[:2] == (commit, keys):
            return Signed(self._proven[2])
        found = checked(self._store.raw(commit), trust, held, bounds)
        if isinstance(found, Signed):
            self._proven = (commit, keys, found.by)
        return found

    def _given(self) -> Access:
        try:
            return self._access()
        except GitopsMcError:
            raise
        except OSError as error:
            raise SourceError(
                f"{self._address.url}: what it takes to be let in cannot be read: {error.strerror}",
                hint="are the Secret and its keys there, and mounted?",
            ) from error

    def _hold(self) -> None:
        self._store.hold(f"{self._address.url}\n{self._ref}\n")

    def _read_tree(self, commit: str) -> Tree:
        try:
            return GitSource(str(self._store.repository), folder=self._folder).tree(commit)
        except SourceError:
            self.doubt()
            raise


@dataclass(slots=True)
class _Reading:
    """Reads entries of a tree; a cleaning in between may have moved them to another file, so one failure is tried again."""

    source: RemoteSource
    commit: str
    found: Tree
    lock: threading.Lock = field(default_factory=threading.Lock)

    def read(self, entry: TreeEntry) -> bytes:
        try:
            return self.found.read(entry)
        except SourceError:
            with self.lock:
                self.found = self.source._read_tree(self.commit)  # noqa: SLF001 - a part of it
            try:
                return self.found.read(entry)
            except SourceError:
                self.source.doubt()
                raise
