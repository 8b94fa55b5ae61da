"""Every error the product expects, in one tree.

Adapters translate a library's exceptions into these once, at the edge (`raise ... from error`);
nothing above an adapter sees anything else. An exception outside this tree is a bug (exit code 3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeVar

from gitops_mc.core.model.counting import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitops_mc.core.model import Problem

EXIT_DONE = 0
EXIT_ERROR = 1
EXIT_USAGE = 2
EXIT_BUG = 3
EXIT_PROBLEMS = 4
EXIT_CHANGES = 5
EXIT_REFUSED = 6
EXIT_INTERRUPTED = 130


class GitopsMcError(Exception):
    """An expected error. `transient`: the same call may succeed later. `hint`: what the reader can do."""

    exit_code: ClassVar[int] = EXIT_ERROR
    transient: ClassVar[bool] = False

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(GitopsMcError):
    """The command line asks for something that makes no sense."""

    exit_code = EXIT_USAGE


class RefusedError(GitopsMcError):
    """A safety refusal, or a rollout that halted; the message gives the numbers and the way out."""

    exit_code = EXIT_REFUSED


_Same = TypeVar("_Same", "RefusedError", "SourceError")


def together(errors: Sequence[_Same]) -> _Same:
    """One error that tells all of these, at least one, in their order; what to do is said once."""
    if len(errors) == 1:
        return errors[0]
    messages, hints = (
        "; ".join(dict.fromkeys(filter(None, said)))
        for said in zip(*((e.message, e.hint) for e in errors), strict=True)
    )
    return type(errors[0])(messages, hint=hints)


class InputProblemsError(GitopsMcError):
    """The repository has problems; all of them, sorted by place."""

    exit_code = EXIT_PROBLEMS

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(f"{count(len(problems), 'problem')} in the repository")
        self.problems = tuple(problems)


class SourceError(GitopsMcError):
    """The repository, branch or commit cannot be read. Never to be taken for an empty repository."""


class MemoryStoreError(GitopsMcError):
    """The remembered state cannot be read or written."""


class ApiError(GitopsMcError):
    """An API server answered with an error status."""

    def __init__(
        self,
        message: str,
        *,
        status: int,
        reason: str = "",
        causes: tuple[ApiCause, ...] = (),
        retry_after: float | None = None,
        hint: str = "",
    ) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.reason = reason
        self.causes = causes
        self.retry_after = retry_after
        """Seconds the server asks to wait, or None."""


@dataclass(frozen=True, slots=True)
class ApiCause:
    """One entry of `details.causes` of a Status answer."""

    reason: str
    field: str
    message: str
    manager: str = ""
    """The other field manager, when the cause is a conflict of server-side apply."""


class NotFoundError(ApiError):
    """404: the object, or its API, is not there. The server answered: this *is* absence."""


class AlreadyExistsError(ApiError):
    """409 AlreadyExists on create."""


class StaleError(ApiError):
    """409 Conflict: what the write was decided on (resourceVersion, uid, `test`) has changed. Read again, decide again."""


class ApplyConflictError(ApiError):
    """409 on server-side apply: other managers own the fields; `causes` names them. Never forced silently."""


class InvalidError(ApiError):
    """422 or 400: the server refuses the object; trying again cannot help."""


class MalformedApplyError(ApiError):
    """500 with "failed to create typed patch object": a field outside the schema. Bad input, never retried."""


class UnauthorizedError(ApiError):
    """401: the token is not, or no longer, accepted."""


class ForbiddenError(ApiError):
    """403: the token's user may not do this."""


class ThrottledError(ApiError):
    """429: asked to slow down."""

    transient = True


class ServerError(ApiError):
    """Any other 5xx. Whether a write took effect is not known."""

    transient = True


class GoneError(ApiError):
    """410: the resourceVersion or continue token is too old; list again."""

    transient = True


class UnreachableError(GitopsMcError):
    """No answer: refused, reset, timed out, bad TLS. Whether a write took effect is not known."""

    transient = True
