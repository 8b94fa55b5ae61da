"""A pull request as its forge shows it, and which of its authors are trusted with what the clusters say.

Its title, its author and its branches are whatever somebody wrote: nothing of them goes into a log or a comment as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import IntEnum, StrEnum, auto
from typing import Any, Final

from gitops_mc.core.custom.refs import FleetSpecError
from gitops_mc.core.model import Commit
from gitops_mc.core.spans import LONGEST, span_of

DEFAULT_INTERVAL: Final = timedelta(seconds=60)
SHORTEST_INTERVAL: Final = timedelta(seconds=15)


class Standing(IntEnum):
    """What the author of a pull request may do in the repository that it is for; more is higher."""

    NOT_KNOWN = 0
    """The forge does not tell. Nobody is trusted for that."""
    OUTSIDE = auto()
    """No more than to read."""
    WRITES = auto()
    ADMINISTERS = auto()
    """On GitLab from Maintainer on."""


@dataclass(frozen=True, slots=True)
class PullRequest:
    """One that is open; on GitLab a merge request."""

    number: int
    title: str
    author: str
    """The name that the forge knows its author by; empty: the account is gone."""
    author_id: int
    head: Commit
    head_branch: str
    """A name in the repository that it comes from, which may be another one."""
    base_branch: str
    fork: bool
    """It comes from another repository, or from one that is gone."""
    draft: bool = False
    updated: str = ""
    """When anything about it changed, as the forge says it: to be compared, and nothing else."""


class PreviewScope(StrEnum):
    """What a preview may be made of."""

    OFFLINE = "offline"
    """Git alone: what a stranger wrote makes nobody read the clusters, and shows nothing of them."""
    LIVE = "live"


class Needs(StrEnum):
    """What an author has to be allowed in the repository, to be trusted."""

    WRITE = "write"
    ADMIN = "admin"
    NAMED = "named"
    """To be named."""


@dataclass(frozen=True, slots=True)
class PreviewSpec:
    """What `spec.previews` says, of a Fleet that wants them."""

    interval: timedelta = DEFAULT_INTERVAL
    needs: Needs = Needs.WRITE
    users: frozenset[str] = frozenset()
    """Trusted whatever they may, in lower case: forges know no case in names."""

    def trusts(self, author: str) -> bool:
        """Whether somebody is named."""
        return bool(author) and author.lower() in self.users

    def scope(self, pull: PullRequest, standing: Standing) -> PreviewScope:
        """How far a pull request is trusted. One from a fork never is: its branch is nobody's here, whoever opened it."""
        if pull.fork:
            return PreviewScope.OFFLINE
        enough = {
            Needs.WRITE: standing >= Standing.WRITES,
            Needs.ADMIN: standing >= Standing.ADMINISTERS,
            Needs.NAMED: False,
        }
        trusted = self.trusts(pull.author) or enough[self.needs]
        return PreviewScope.LIVE if trusted else PreviewScope.OFFLINE


def preview_spec(said: Mapping[str, Any] | None) -> PreviewSpec | None:
    """The shape has been checked by the API server; None: no previews are wanted. Raises FleetSpecError."""
    if said is None or said.get("enabled") is not True:
        return None
    trusted = said.get("trusted") or {}
    try:
        needs = Needs(str(trusted.get("access") or Needs.WRITE))
    except ValueError:
        known = ", ".join(Needs)
        raise FleetSpecError(
            f"spec.previews.trusted.access is {str(trusted['access'])!r}", hint=f"one of {known}"
        ) from None
    users = frozenset(str(user).lower() for user in trusted.get("users") or () if user)
    return PreviewSpec(_interval(str(said.get("interval") or "")), needs, users)


def _interval(text: str) -> timedelta:
    if not text:
        return DEFAULT_INTERVAL
    found = span_of(text)
    if found is None or found > LONGEST:
        raise FleetSpecError(
            f"spec.previews.interval is {text!r}", hint="write 60s, 5m or 1h; a year at most"
        )
    return max(SHORTEST_INTERVAL, found)
