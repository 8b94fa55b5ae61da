"""The forge that a fleet's repository lives on: GitHub, GitLab, Gitea, Forgejo.

Every call has a time-out, is made once, and follows no redirection: whoever calls decides when to try again. Raised are the
errors of API servers (`UnauthorizedError`, `ForbiddenError`, `NotFoundError`, `InvalidError`, `ThrottledError` with what the
forge says of waiting, `ServerError`), `UnreachableError`, and nothing else; no message holds a credential.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Protocol

from gitops_mc.core.custom.commit_status import CommitStatus
from gitops_mc.core.model import Commit


class Forge(Protocol):
    """One project of one forge. One thread at a time."""

    @property
    def rewords(self) -> bool:
        """Whether a status that stays pending can be given another description. Where not, its `lasting` one is shown."""
        ...

    def status(self, commit: Commit, context: str) -> CommitStatus | None:
        """What was set last on a commit under this context; None: nothing, or nothing that we would set."""
        ...

    def set_status(self, commit: Commit, status: CommitStatus) -> None:
        """Set it. To set what stands already is no error."""
        ...

    def close(self) -> None:
        """Drop its connections."""
        ...


class NoForge(Enum):
    """Why there is nobody to ask."""

    NONE_NAMED = auto()
    """The Fleet names none."""
    NOT_KNOWN = auto()
    """The Fleet has not been read: it may name one."""


class OpenForge(Protocol):
    """The forges of Fleets (`<namespace>/<name>`). Any thread; of one Fleet one at a time."""

    def __call__(self, fleet: str) -> Forge | NoForge:
        """What a Fleet names. May be asked before every use: it is made anew only where the Fleet names another one, or its
        credentials have changed. Raises GitopsMcError where it cannot be made.
        """
        ...

    def leave(self, fleet: str) -> None:
        """Drop what was made for a Fleet; nobody uses it any more."""
        ...


class ForgeWell(Enum):
    """Why the trouble with the forge of a Fleet, told before, is over."""

    TAKES_AGAIN = auto()
    NONE_NAMED = auto()
    """The Fleet names none any more."""
