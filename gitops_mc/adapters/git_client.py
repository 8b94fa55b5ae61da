"""The git program, told what a poll needs: what a server advertises, a fetch, and the care of the cache."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from gitops_mc.adapters.git_address import Address
from gitops_mc.adapters.git_errors import fetch_error, own_words
from gitops_mc.adapters.git_private import Private
from gitops_mc.adapters.git_program import Bounds, Done, run
from gitops_mc.core.errors import SourceError

EVERYTHING: Final = 0x7FFFFFFF
"""A depth that git takes for all of the history."""

_OLDEST: Final = (2, 32)
"""GIT_CONFIG_GLOBAL, which keeps a user's configuration out, is as old as that."""

_LINE: Final = re.compile(r"(?P<id>[0-9a-f]{40}(?:[0-9a-f]{24})?)\t(?P<name>\S+)")
_SYMBOLIC: Final = re.compile(r"ref: (?P<name>refs/\S+)\tHEAD")


@dataclass(frozen=True, slots=True)
class Advertised:
    """What a server has, by full name; `v1^{}` is the commit of an annotated tag. `head` is the default branch, or empty."""

    refs: Mapping[str, str]
    head: str = ""


@dataclass(frozen=True, slots=True)
class Refused:
    """A fetch of commits that the server does not give out."""

    gone: bool
    """It has not got one of them; otherwise it has a rule against asking for them."""


_GONE: Final = re.compile(r"not our ref", re.IGNORECASE)
_AGAINST_THE_RULES: Final = re.compile(
    r"unadvertised object|want [0-9a-f]+ not valid|not advertised|couldn't find remote ref [0-9a-f]{40}",
    re.IGNORECASE,
)
_NO_SHALLOW: Final = re.compile(r"\bshallow\b", re.IGNORECASE)


@dataclass(slots=True)
class GitClient:
    """One poll's worth of calls, all within the same bounds. Raises SourceError without a secret in it."""

    address: Address
    held: Private
    bounds: Bounds
    repository: Path
    """The cache."""
    fetched: int
    """Bytes of one fetch, at most."""
    shallow: bool = True
    """Turns False when the server does not know how to send a part of the history."""

    def check_version(self) -> None:
        """Raises SourceError for a git that is too old to be kept from a user's configuration."""
        said = self._anywhere("version").output.decode("ascii", "replace")
        found = re.search(r"(\d{1,9})\.(\d{1,9})", said)
        if found is None or (int(found[1]), int(found[2])) < _OLDEST:
            raise SourceError(
                f"this git is too old: {said.strip()[:60]}",
                hint=f"install {_OLDEST[0]}.{_OLDEST[1]} or newer",
            )

    def advertised(self, *patterns: str, only: tuple[str, ...] = ()) -> Advertised:
        """`only` (`--heads`, `--tags`) lets the server leave the rest out."""
        done = self._anywhere("ls-remote", "--symref", *only, "--", self.address.url, *patterns)
        if done.status != 0:
            raise self._failed(done)
        text = done.output.decode("utf-8", "surrogateescape")
        refs = {found["name"]: found["id"] for line in text.splitlines() if (found := _LINE.fullmatch(line))}
        head = next((found["name"] for line in text.splitlines() if (found := _SYMBOLIC.fullmatch(line))), "")
        return Advertised(refs, head)

    def fetch(self, name: str, into: str, depth: int) -> None:
        """The newest `depth` commits behind a name, and all that is in them."""
        done = self._fetch({name: into}, depth)
        if done.status != 0:
            raise self._failed(done)

    def fetch_all(self, into: Mapping[str, str], depth: int) -> None:
        """The newest `depth` commits behind each of several names, each into a reference: all of them, or none."""
        done = self._fetch(into, depth)
        if done.status != 0:
            raise self._failed(done)

    def fetch_commits(self, into: Mapping[str, str]) -> Refused | None:
        """Commits by their ids, each into a reference: all of them, or none."""
        done = self._fetch(into, 1)
        if done.status == 0:
            return None
        words = own_words(self.address.url, done.errors)
        if _GONE.search(words):
            return Refused(gone=True)
        if _AGAINST_THE_RULES.search(words):
            return Refused(gone=False)
        raise self._failed(done)

    def _fetch(self, into: Mapping[str, str], depth: int) -> Done:
        if self.shallow:
            done = self._run_fetch(into, f"--depth={depth}")
            if done.status == 0 or not _NO_SHALLOW.search(own_words(self.address.url, done.errors)):
                return done
            self.shallow = False
        return self._run_fetch(into)

    def _run_fetch(self, into: Mapping[str, str], *how: str) -> Done:
        quiet = (
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-recurse-submodules",
            "--no-auto-maintenance",
        )
        command = (
            "fetch",
            *quiet,
            *how,
            "--",
            self.address.url,
            *(f"+{name}:{ref}" for name, ref in into.items()),
        )
        return self._here(*command, bounds=replace(self.bounds, file=self.fetched))

    def descends(self, commit: str, ancestor: str) -> bool:
        """As far as the history at hand goes."""
        return self._here("merge-base", "--is-ancestor", ancestor, commit).status == 0

    def sound(self) -> bool:
        """Whether everything that is kept is there, and is what it was. Odd objects, which old programs made, are no damage."""
        packs = sorted(map(str, self.repository.glob("objects/pack/*.idx")))
        if packs and self._here("verify-pack", *packs).status != 0:
            return False
        return self._here("fsck", "--connectivity-only", "--no-dangling", "--no-progress").status == 0

    def clean(self) -> None:
        """One pack of what is kept; everything else goes. Raises SourceError, for one when there is no room for it."""
        for command in (("repack", "-a", "-d", "-q"), ("prune", "--expire=now")):
            done = self._here(*command)
            if done.status != 0:
                raise self._failed(done)

    def _here(self, *command: str, bounds: Bounds | None = None) -> Done:
        return self._anywhere(f"--git-dir={self.repository}", *command, bounds=bounds)

    def _anywhere(self, *command: str, bounds: Bounds | None = None) -> Done:
        """Outside of any repository, so that the state of the cache does not matter."""
        held = self.held
        done = run(("git", *command), held.environment, bounds or self.bounds, folder=held.folder)
        return replace(done, errors=held.hide(done.errors))

    def _failed(self, done: Done) -> SourceError:
        return fetch_error(self.address.url, done.errors or f"git ended with {done.status}", self.held.called)
