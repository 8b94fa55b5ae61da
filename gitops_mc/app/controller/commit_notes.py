"""What a forge is to show beside the commits of one Fleet, and what it shows."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from gitops_mc.core.custom.commit_status import CommitState, CommitStatus
from gitops_mc.core.model import Commit

REWORDED_EVERY: Final = timedelta(minutes=5)
"""How often a status gets another description while its state stays: GitHub takes a thousand of a commit and context."""
KEPT_AT_MOST: Final = 16
"""Commits of a Fleet, beside the one that is followed."""
EVER: Final = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Note:
    """Of one commit: what its forge is to show, and what it shows."""

    wanted: CommitStatus
    superseded: bool = False
    """It is wanted only where the forge shows the commit as pending."""
    known: bool = False
    """What the forge shows has been read, or was set by us."""
    shown: CommitStatus | None = None
    at: datetime = EVER
    """When that was."""
    not_before: datetime = EVER
    """When the forge may be asked for this commit again."""
    refused: bool = False
    """The forge did not want it the last time."""

    def is_due(self, now: datetime) -> bool:
        """Whether the forge is to be asked."""
        return now >= self.not_before and (not self.known or self.differs(now))

    def differs(self, now: datetime) -> bool:
        """Whether it is to be set. A success is taken back by a failure only: that a cluster is away for an hour, or is new, does
        not undo that all of them had this commit.
        """
        if self.superseded:
            return self.shown is not None and self.shown.state is CommitState.PENDING
        if self.shown is None:
            return True
        if self.shown.says(self.wanted):
            return False
        if self.shown.state is self.wanted.state:
            return now - self.at >= REWORDED_EVERY
        return not (self.shown.state is CommitState.SUCCESS and self.wanted.state is CommitState.PENDING)

    def seen(self, shown: CommitStatus | None, at: datetime) -> Note:
        """With what the forge shows at a time."""
        return replace(self, known=True, shown=shown, at=at, not_before=EVER, refused=False)


@dataclass(slots=True)
class Notes:
    """Of one Fleet. One thread at a time."""

    current: Commit | None = None
    """The commit that is followed; None: nothing has been heard."""
    refused: Commit | None = None
    """What the last poll refused. It may be the one that is followed: then the refusal is what is shown, not how far it is."""
    commits: dict[Commit, Note] = field(default_factory=dict)
    """Oldest first."""

    def want(self, commit: Commit, wanted: CommitStatus) -> None:
        """The forge is to show this."""
        before = self.commits.get(commit)
        if before is None:
            self.commits[commit] = Note(wanted)
            self._forget_the_oldest()
        else:
            again = EVER if before.superseded else before.not_before
            self.commits[commit] = replace(before, wanted=wanted, superseded=False, not_before=again)

    def follow(self, commit: Commit, superseded: CommitStatus) -> None:
        """Another commit is followed. The one before is not left pending, for nothing would come of it any more; what has come
        of it stays.
        """
        before, self.current = self.current, commit
        if before is None:
            return
        note = self.commits.get(before)
        if note is None:
            self.commits[before] = Note(superseded, superseded=True)
        elif note.wanted.state is CommitState.PENDING:
            self.commits[before] = replace(note, wanted=superseded, superseded=True, not_before=EVER)

    def doubt(self) -> None:
        """Nothing is known of what is shown: it is another forge."""
        self.commits = {
            c: replace(n, known=False, shown=None, not_before=EVER, refused=False)
            for c, n in self.commits.items()
        }

    def due(self, now: datetime) -> list[Commit]:
        """The commits that the forge is to be asked for."""
        return [commit for commit, note in self.commits.items() if note.is_due(now)]

    def _forget_the_oldest(self) -> None:
        others = [c for c in self.commits if c != self.current]
        for commit in others[: max(0, len(others) - KEPT_AT_MOST)]:
            del self.commits[commit]
