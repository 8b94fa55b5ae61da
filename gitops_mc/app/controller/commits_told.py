"""What the forges of the Fleets are to show beside commits, and the jobs that bring it there.

Passes and polls only leave a note here. A job of its own, one a Fleet, asks the forge; one that hangs or is down holds up no pass,
and no other Fleet's. The forge is the memory: a process that begins reads what stands there before it sets anything, so that a
restart neither repeats a status nor takes back a success.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial

from gitops_mc.app.controller.commit_notes import EVER, Note, Notes
from gitops_mc.app.controller.forge_patience import (
    ABOUT_THE_ONE,
    AGAIN_LAST,
    LOOK_AGAIN,
    MENDED_WITHIN,
    OursError,
    pause,
)
from gitops_mc.app.controller.forge_trouble import Answer, Followed, Outcome
from gitops_mc.app.forge_ports import Forge, ForgeWell, NoForge, OpenForge
from gitops_mc.app.looks import Look
from gitops_mc.app.telemetry_ports import PollerView
from gitops_mc.core.custom.commit_status import (
    CommitState,
    CommitStatus,
    of_decision,
    of_refusal,
    of_superseded,
)
from gitops_mc.core.errors import GitopsMcError
from gitops_mc.core.model import Commit
from gitops_mc.core.render.fleet_commands import FleetCommands
from gitops_mc.core.rollout.moves import Standing


@dataclass(slots=True)
class CommitsTold:
    """Every call returns at once, and may come from any thread; what `jobs` gives is run by threads that may wait."""

    open_forge: OpenForge
    may: Callable[[], bool]
    """Whether this process may still speak: it leads."""
    forged: Callable[[str, GitopsMcError | ForgeWell], object]
    """Hears of a Fleet (`<namespace>/<name>`) why its forge takes no status, and why that is over."""
    redact: Callable[[str], str]
    """Takes out what is sensitive in all Fleets, as it was read last."""
    now: Callable[[], datetime]
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _fleets: dict[str, Followed] = field(default_factory=dict)

    # ------------------------------------------------------------------------------------------------- what is heard

    def looked(self, fleet: str, look: Look) -> None:
        """A pass has been decided, and the whole fleet is without fault."""
        commit, decision = look.fleet.commit, look.decision
        if not commit or not decision.clusters:
            return
        unread = any(c.standing is Standing.NOT_KNOWN for c in decision.clusters)
        wanted = of_decision(decision, _name(fleet), partial(self._said, fleet))
        with self._lock:
            notes = self._fleets.setdefault(fleet, Followed()).notes
            if notes.current != commit:
                notes.follow(commit, of_superseded(commit, _name(fleet)))
            elif unread and commit in notes.commits:  # a look that saw half of it cannot tell how far it is
                return
            if commit != notes.refused:
                notes.want(commit, wanted)

    def polled(self, fleet: str, poller: PollerView) -> None:
        """The source answered."""
        refused = poller.pulled.refused
        with self._lock:
            notes = self._fleets.setdefault(fleet, Followed()).notes
            if notes.current is None and poller.before:
                notes.current = poller.before
            notes.refused = refused.commit if refused is not None else None
            if refused is not None:
                said = partial(self._said, fleet)
                notes.want(refused.commit, of_refusal(refused.why, _name(fleet), said))

    def left(self, fleet: str) -> None:
        """It is gone, or another installation acts for it."""
        with self._lock:
            followed = self._fleets.pop(fleet, None)
            free = followed is not None and not followed.busy
        if free:  # otherwise the job does it that uses the forge
            self.open_forge.leave(fleet)

    def _said(self, fleet: str, text: str) -> str:
        namespace, _, name = fleet.rpartition("/")
        return self.redact(FleetCommands(name, namespace).said(text))

    # -------------------------------------------------------------------------------------------------- what is done

    def jobs(self) -> Mapping[str, Callable[[], None]]:
        """What is to be done now; each takes as long as its forge does. No error that is expected comes out of them; of a
        fault of ours the forge is left alone as of any other trouble.
        """
        now = self.now()
        with self._lock:
            due = [f for f, x in self._fleets.items() if x.is_due(now) or x.may_be_mended(now)]
        return {fleet: partial(self._work, fleet) for fleet in due}

    def _work(self, fleet: str) -> None:
        if not self.may():
            return
        with self._lock:
            followed = self._fleets.get(fleet)
            if followed is None:
                return
            followed.busy = True
        try:
            self._tell(fleet, followed, self._asked(fleet, followed))
        except GitopsMcError as error:
            self._troubled(fleet, followed, error)
        except Exception as error:
            self._troubled(fleet, followed, OursError(error))
            raise
        finally:
            with self._lock:
                followed.busy, followed.look_at = False, self.now() + MENDED_WITHIN
                left = self._fleets.get(fleet) is not followed
            if left:
                self.open_forge.leave(fleet)

    def _asked(self, fleet: str, followed: Followed) -> Outcome:
        """What came of what is due. Raises GitopsMcError where the forge takes nothing, or cannot be asked."""
        with self._lock:
            early = not followed.is_due(self.now())
        try:
            forge = self.open_forge(fleet)
        except GitopsMcError:
            with self._lock:
                followed.forge = None  # the next one is another one, even where it is the same again
            raise
        with self._lock:
            if early and forge is followed.forge:
                return Answer.NONE
            if forge is not followed.forge:
                followed.failures = 0
        outcome = forge if isinstance(forge, NoForge) else self._bring_all(followed, forge)
        with self._lock:
            if isinstance(forge, NoForge):
                followed.not_before = self.now() + LOOK_AGAIN
            else:
                followed.failures, followed.not_before = 0, EVER
            if forge is NoForge.NONE_NAMED:
                followed.forge = None
        return outcome

    def _troubled(self, fleet: str, followed: Followed, error: GitopsMcError) -> None:
        with self._lock:
            if followed.forge is not None or followed.is_due(self.now()):  # else it was only looked at
                followed.failures += 1
                followed.not_before = self.now() + pause(error, followed.failures)
        self._tell(fleet, followed, error)

    def _tell(self, fleet: str, followed: Followed, outcome: Outcome) -> None:
        """Once, and its end once; the same trouble in other words is no news, and no answer is none. Who leads no more, or
        was left meanwhile, says nothing.
        """
        if not self.may():
            return
        with self._lock:
            if self._fleets.get(fleet) is not followed:
                return
            news = followed.news(outcome)
        if news is not None:
            self.forged(fleet, news)

    def _bring_all(self, followed: Followed, forge: Forge) -> Outcome:
        """Why the forge does not take one of them, where it takes others. Raises GitopsMcError where it takes none."""
        notes = followed.notes
        with self._lock:
            if followed.forge is not forge:
                followed.forge = forge
                notes.doubt()
            due = notes.due(self.now())
        outcome: Outcome = Answer.NONE
        trouble: GitopsMcError | None = None
        for commit in due:
            try:
                if self._bring(notes, forge, commit):
                    outcome = Answer.TOOK
            except ABOUT_THE_ONE as error:
                trouble = error if self._refused(notes, commit) else trouble
        return trouble or outcome

    def _bring(self, notes: Notes, forge: Forge, commit: Commit) -> bool:
        """What the forge shows is read before the first time, so that nothing is set twice, or taken back. Whether it answered."""
        with self._lock:
            note = notes.commits.get(commit)
        if note is None or not self.may():
            return False
        read = not note.known
        if read:
            shown = forge.status(commit, note.wanted.context)
            note = self._seen(notes, commit, shown) or note.seen(shown, self.now())
        if not note.differs(self.now()):
            return read
        lasts = note.shown is not None and note.shown.state is note.wanted.state is CommitState.PENDING
        if not self.may():
            return read
        sets = forge.rewords or not lasts
        if sets:
            forge.set_status(commit, note.wanted)
        self._seen(notes, commit, note.wanted)
        return read or sets

    def _seen(self, notes: Notes, commit: Commit, shown: CommitStatus | None) -> Note | None:
        with self._lock:
            note = notes.commits.get(commit)
            if note is not None:
                note = notes.commits[commit] = note.seen(shown, self.now())
            return note

    def _refused(self, notes: Notes, commit: Commit) -> bool:
        """Whether it matters: a commit that is not followed any more may be gone from the forge, with its project."""
        with self._lock:
            note = notes.commits.get(commit)
            if note is None or note.superseded:
                notes.commits.pop(commit, None)
                return False
            notes.commits[commit] = replace(note, refused=True, not_before=self.now() + AGAIN_LAST)
            return True


def _name(fleet: str) -> str:
    return fleet.rpartition("/")[2]
