"""The pull requests of a fleet's repository, on its forge and in Git, and whoever makes the preview of one.

As for every forge: a call has a time-out, is made once, follows no redirection, and raises the errors of API servers,
`UnreachableError`, and nothing else; no message holds a credential, or the title of a pull request.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

from gitops_mc.app.forge_ports import Forge, NoForge
from gitops_mc.core.custom.pull_comment import PreviewText
from gitops_mc.core.custom.pull_request import PreviewScope, PreviewSpec, PullRequest, Standing
from gitops_mc.core.errors import GitopsMcError
from gitops_mc.core.model import Commit

MOST_PULLS: Final = 200
"""Open pull requests that are looked at."""


class OutdatedError(GitopsMcError):
    """A pull request has moved on while its preview was made: what was made is of no use, and the next look makes another."""

    transient = True


@dataclass(frozen=True, slots=True)
class OpenPulls:
    """Those that are open, the one that changed last first."""

    pulls: tuple[PullRequest, ...]
    more: bool = False
    """There are more than are looked at."""


@dataclass(frozen=True, slots=True)
class PullComment:
    """One of ours."""

    number: int
    """The forge's own."""
    body: str


class PullRequests(Forge, Protocol):
    """The pull requests of one project of one forge. One thread at a time."""

    @property
    def longest_comment(self) -> int:
        """Bytes in UTF-8."""
        ...

    def open_pulls(self, onto: str) -> OpenPulls:
        """Those that are to be merged into a branch."""
        ...

    def pull(self, number: int) -> PullRequest | None:
        """One, as it is now; None: it is not open any more."""
        ...

    def standing(self, pull: PullRequest) -> Standing:
        """What its author may do here."""
        ...

    def comment(self, number: int, fleet: str) -> PullComment | None:
        """Our comment for a Fleet: one that begins with its marker, and that whoever asks has written. What somebody else has written
        is never ours, whatever it says. None: there is none on any page.
        """
        ...

    def add_comment(self, number: int, body: str) -> PullComment:
        """As the forge keeps it."""
        ...

    def edit_comment(self, number: int, comment: PullComment, body: str) -> PullComment:
        """In place; as the forge keeps it. NotFoundError where it is gone."""
        ...


@dataclass(frozen=True, slots=True)
class PullDesk:
    """What a Fleet's previews need: its forge, and what its spec says of them."""

    pulls: PullRequests
    spec: PreviewSpec


class OpenPullDesk(Protocol):
    """The forges of Fleets that want previews (`<namespace>/<name>`). Any thread; of one Fleet one at a time."""

    def __call__(self, fleet: str) -> PullDesk | NoForge:
        """NONE_NAMED, too, where no previews are wanted. Raises GitopsMcError where it cannot be made."""
        ...

    def leave(self, fleet: str) -> None:
        """Drop what was made for a Fleet; nobody uses it any more."""
        ...


@dataclass(frozen=True, slots=True)
class PreviewWanted:
    """Of what a preview is to be made."""

    fleet: str
    """`<namespace>/<name>`"""
    pull: PullRequest
    base: Commit
    """What the Fleet follows of the branch that it is to be merged into."""
    scope: PreviewScope
    longest: int
    """Bytes in UTF-8 that its Markdown may have."""


MakePreview: TypeAlias = Callable[[PreviewWanted], PreviewText]
"""May take its time. Raises OutdatedError where the head is not what it was, GitopsMcError where none can be made now."""


@dataclass(frozen=True, slots=True)
class Fork:
    """Where two commits part."""

    commit: Commit
    behind: int
    """Commits that base is ahead of it."""


@dataclass(frozen=True, slots=True)
class NoFork:
    """Why it is not known where they part."""

    why: str


class PullSource(Protocol):
    """The commits of pull requests in Git. All are fetched from the repository that the Fleet follows, those of forks, too. Nothing is
    ever checked out: what a commit holds is read, and runs nowhere. One at a time: with the next pull request the one before goes.
    """

    def bring(self, pull: PullRequest, base: Commit) -> Fork | NoFork:
        """Fetch the head of a pull request, `base`, and so much of their history, within reason, that it is known where they part.
        Bounded in time and size. Raises OutdatedError where its head is another one by now, SourceError where they cannot be had.
        """
        ...

    def merge_base(self, base: Commit, head: Commit) -> Fork | NoFork:
        """By what has been brought; nobody is asked."""
        ...

    def leave(self) -> None:
        """It is used no more, and what was fetched goes."""
        ...
