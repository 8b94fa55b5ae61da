"""The forge that a fleet's repository lives on: GitHub, GitLab, Gitea, Forgejo.

Every call has a time-out, is made once, and follows no redirection: whoever calls decides when to try again. Raised are the
errors of API servers (`UnauthorizedError`, `ForbiddenError`, `NotFoundError`, `InvalidError`, `ThrottledError` with what the
forge says of waiting, `ServerError`), `UnreachableError`, and nothing else; no message holds a credential.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

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


OpenForge: TypeAlias = Callable[[str], Forge | None]
"""The forge that a Fleet (`<namespace>/<name>`) names; None: it names none. May be asked before every use: it is made anew only
where the Fleet names another one, or its credentials have changed. Raises GitopsMcError where it cannot be made.
"""
