"""What is known of the open pull requests of one Fleet: what stands on them, what it was made of, and what is due."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import Enum, auto
from typing import Final

from gitops_mc.core.custom.commit_status import CommitStatus
from gitops_mc.core.custom.pull_request import PreviewScope, PullRequest
from gitops_mc.core.model import Commit
from gitops_mc.core.preview.model import State

EVER: Final = datetime.min.replace(tzinfo=UTC)
LIVE_EVERY: Final = timedelta(minutes=5)
"""How often a preview is made again because the clusters changed, while neither head nor base has."""
UNKNOWN_EVERY: Final = timedelta(minutes=10)
"""When one is made again that ended in not knowing, whatever changed."""
LOOKED_EVERY: Final = timedelta(minutes=30)
"""How often it is looked whether the comment stands yet, where the forge does not say that anything has changed."""
REWORDED_EVERY: Final = timedelta(hours=1)
"""How often a status gets other words while its state stays: GitHub takes a thousand of a commit and context."""


@dataclass(frozen=True, slots=True)
class Basis:
    """What a preview was made of."""

    head: Commit
    base: Commit
    live: str
    """Digest of the live state; of one that knows nothing of it, too."""


class Due(Enum):
    """What is to be done about a pull request."""

    MAKE = auto()
    """Its preview, again."""
    LOOK = auto()
    """Whether its comment stands as it was left."""


@dataclass(frozen=True, slots=True)
class PullNote:
    """One pull request."""

    pull: PullRequest
    """As it was listed last."""
    made: Basis | None = None
    """What the preview that stands was made of; None: none of this process does."""
    scope: PreviewScope = PreviewScope.OFFLINE
    state: State = State.UNKNOWN
    body: str = ""
    """What the comment is to say."""
    kept: str = ""
    """What it says, as the forge gave it back; empty: not known."""
    at: datetime = EVER
    """When it was made."""
    looked: str = ""
    """What the forge had said of its last change when the comment was looked at."""
    looked_at: datetime = EVER
    status: CommitStatus | None = None
    """What stands on the head of `status_of`."""
    status_of: Commit | None = None
    status_at: datetime = EVER
    not_before: datetime = EVER
    failures: int = 0
    """Of making it, in a row."""
    refused: bool = False
    """The forge did not want it the last time."""

    def due(self, base: Commit, live: str, now: datetime) -> Due | None:
        """What is to be done about it now."""
        if now < self.not_before:
            return None
        if self.made is None or (self.made.head, self.made.base) != (self.pull.head, base):
            return Due.MAKE
        since = now - self.at
        if self.scope is PreviewScope.LIVE and self.made.live != live and since >= LIVE_EVERY:
            return Due.MAKE
        if self.state is State.UNKNOWN and since >= UNKNOWN_EVERY:
            return Due.MAKE
        if self.looked != self.pull.updated or now - self.looked_at >= LOOKED_EVERY:
            return Due.LOOK
        return None

    def stands(self) -> CommitStatus | None:
        """What is known to be shown beside its head; None: nothing is known."""
        return self.status if self.status_of == self.pull.head else None

    def with_status(self, status: CommitStatus | None, at: datetime) -> PullNote:
        """With what is shown beside its head."""
        return replace(self, status=status, status_of=self.pull.head, status_at=at)

    def differs(self, wanted: CommitStatus, now: datetime) -> bool:
        """Whether a status is to be set."""
        shown = self.stands()
        if shown is None or shown.state is not wanted.state:
            return True
        return not shown.says(wanted) and now - self.status_at >= REWORDED_EVERY


@dataclass(slots=True)
class PullNotes:
    """Of one Fleet. One thread at a time."""

    notes: dict[int, PullNote] = field(default_factory=dict)

    def listed(self, pulls: Iterable[PullRequest]) -> None:
        """These are open; what is known of others is forgotten."""
        self.notes = {
            pull.number: replace(self.notes.get(pull.number) or PullNote(pull), pull=pull) for pull in pulls
        }

    def due(self, base: Commit, live: str, now: datetime) -> list[tuple[PullNote, Due]]:
        """What is to be done, what was never shown first, then what was made longest ago: nobody is starved."""
        found = [(n, d) for n in self.notes.values() if (d := n.due(base, live, now)) is not None]
        return sorted(found, key=lambda one: (one[1] is Due.LOOK, one[0].made is not None, one[0].at))

    @property
    def refused(self) -> bool:
        """Whether the forge does not want something of one of them."""
        return any(note.refused for note in self.notes.values())
