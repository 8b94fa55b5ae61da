"""Previews on the open pull requests of the Fleets' repositories: one comment, edited in place, and a status of the head.

Passes and polls only say what is followed. A job of its own, one a Fleet, asks the forge now and then; one that hangs or is down
holds up no pass, and no other Fleet's. The forge is the memory: our comment is found by its marker, and says of what it was made.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Final, TypeAlias

from gitops_mc.app.controller.forge_patience import LOOK_AGAIN, MENDED_WITHIN, OursError, TroubleTold, pause
from gitops_mc.app.controller.pull_notes import EVER, Due, PullNotes
from gitops_mc.app.controller.pull_showing import NotOursError, Showing
from gitops_mc.app.forge_ports import ForgeWell, NoForge
from gitops_mc.app.looks import Look
from gitops_mc.app.pull_ports import MOST_PULLS, MakePreview, OpenPullDesk, PullDesk
from gitops_mc.app.telemetry_ports import PollerView
from gitops_mc.core.errors import GitopsMcError
from gitops_mc.core.model import Commit
from gitops_mc.core.rollout.showing import Shown

_HEADS: Final = "refs/heads/"
_SPREAD: Final = 0.1
"""Of the interval: Fleets of one forge do not ask together for ever."""
MADE_AT_ONCE: Final = 5
LOOKED_AT_ONCE: Final = 20
"""Pull requests in one job of a Fleet; the next one goes on, once other Fleets had their turn."""


class _MoreError(GitopsMcError):
    """There are more than are looked at."""


@dataclass(frozen=True, slots=True)
class Followed:
    """What a Fleet follows."""

    branch: str
    commit: Commit


@dataclass(slots=True)
class _Watched:
    """One Fleet."""

    followed: Followed | None = None
    """None: nothing has been read yet, or it is no branch: nothing is merged into a tag."""
    notes: PullNotes = field(default_factory=PullNotes)
    pulls: object = None
    """What is known was read from this one."""
    trouble: TroubleTold = field(default_factory=TroubleTold)
    failures: int = 0
    """In a row, of the forge as a whole."""
    not_before: datetime = EVER
    look_at: datetime = EVER
    """In trouble: when it is looked at whether what leads to the forge has been corrected."""
    busy: bool = False

    def is_due(self, now: datetime) -> bool:
        """Whether the forge is to be asked, or what leads to it is to be looked at."""
        return self.followed is not None and (
            now >= self.not_before or (self.failures > 0 and now >= self.look_at)
        )


_Outcome: TypeAlias = GitopsMcError | ForgeWell | None
"""What came of a round; None: nothing that says how it stands with the forge."""


@dataclass(slots=True)
class PreviewsTold:
    """Every call returns at once, and may come from any thread; what `jobs` gives is run by threads that may wait."""

    open_desk: OpenPullDesk
    make: MakePreview
    live: Callable[[str], str]
    """A digest of the live state of a Fleet (`<namespace>/<name>`): where it is another one, previews are made again."""
    shown: Callable[[str, Mapping[str, Shown]], object]
    """Hears of a Fleet what stands on a pull request, by cluster."""
    may: Callable[[], bool]
    """Whether this process may still speak: it leads."""
    told: Callable[[str, GitopsMcError | ForgeWell], object]
    """Hears of a Fleet why its pull requests get no previews, and why that is over."""
    stumbled: Callable[[str, Exception], object]
    """Hears of a fault of this program in making one; the others go on."""
    redact: Callable[[str], str]
    """Takes out what is sensitive in all Fleets, as it was read last."""
    now: Callable[[], datetime]
    jitter: Callable[[], float]
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _fleets: dict[str, _Watched] = field(default_factory=dict)

    # ------------------------------------------------------------------------------------------------- what is heard

    def looked(self, fleet: str, look: Look) -> None:
        """A pass has been decided. What it says of the clusters comes by `live`."""

    def polled(self, fleet: str, poller: PollerView) -> None:
        """The source answered."""
        pulled = poller.pulled
        followed = None
        if pulled.commit and pulled.ref.startswith(_HEADS):
            followed = Followed(pulled.ref.removeprefix(_HEADS), pulled.commit)
        with self._lock:
            watched = self._fleets.setdefault(fleet, _Watched())
            if watched.followed != followed and not watched.failures:
                watched.not_before = EVER
            watched.followed = followed

    def left(self, fleet: str) -> None:
        """It is gone, or another installation acts for it. Its comments stay as they are."""
        with self._lock:
            watched = self._fleets.pop(fleet, None)
            free = watched is not None and not watched.busy
        if free:  # otherwise the job does it that uses the forge
            self.open_desk.leave(fleet)

    # -------------------------------------------------------------------------------------------------- what is done

    def jobs(self) -> Mapping[str, Callable[[], None]]:
        """What is to be done now; each takes as long as its forge does. No error that is expected comes out of them."""
        now = self.now()
        with self._lock:
            due = [f for f, w in self._fleets.items() if w.is_due(now)]
        return {fleet: partial(self._work, fleet) for fleet in due}

    def _work(self, fleet: str) -> None:
        if not self.may():
            return
        with self._lock:
            watched = self._fleets.get(fleet)
            if watched is None or watched.followed is None:
                return
            watched.busy, followed = True, watched.followed
        try:
            self._tell(fleet, watched, self._asked(fleet, watched, followed))
        except NotOursError:
            return
        except GitopsMcError as error:
            self._troubled(fleet, watched, error)
        except Exception as error:
            self._troubled(fleet, watched, OursError(error))
            raise
        finally:
            self._done(fleet, watched)

    def _done(self, fleet: str, watched: _Watched) -> None:
        with self._lock:
            watched.busy, watched.look_at = False, self.now() + MENDED_WITHIN
            left = self._fleets.get(fleet) is not watched
        if left:
            self.open_desk.leave(fleet)

    def _asked(self, fleet: str, watched: _Watched, followed: Followed) -> _Outcome:
        """Raises GitopsMcError where the forge cannot be asked."""
        early = self.now() < watched.not_before
        try:
            desk = self.open_desk(fleet)
        except GitopsMcError:
            watched.pulls = None  # the next one is another one, even where it is the same again
            raise
        if isinstance(desk, NoForge):
            self._wait(watched, LOOK_AGAIN)
            if desk is NoForge.NOT_KNOWN:
                return None
            watched.notes, watched.pulls = PullNotes(), None
            return ForgeWell.NONE_NAMED
        if desk.pulls is not watched.pulls:
            watched.failures = 0
        elif early:
            return None
        with self._lock:
            if (
                watched.followed == followed
            ):  # else a poll has brought another one meanwhile, which is looked at next
                span = desk.spec.interval * (1 + _SPREAD * (2 * self.jitter() - 1))
                watched.not_before = self.now() + span
        showing = Showing(
            fleet,
            desk,
            followed.commit,
            self.live(fleet),
            self.make,
            self.shown,
            self.redact,
            self.may,
            self.now,
        )
        more = self._round(watched, desk, followed, showing)
        watched.failures = 0
        for fault in showing.faults:
            self.stumbled(fleet, fault)
        if showing.refusals:
            return showing.refusals[0]
        if watched.notes.refused:
            return None
        return more or ForgeWell.TAKES_AGAIN

    def _round(
        self, watched: _Watched, desk: PullDesk, followed: Followed, showing: Showing
    ) -> _MoreError | None:
        """Look at all, and do what is due, so much of it at once."""
        if watched.pulls is not desk.pulls:
            watched.pulls, watched.notes = desk.pulls, PullNotes()
        notes = watched.notes
        listed = desk.pulls.open_pulls(followed.branch)
        notes.listed(listed.pulls)
        due = notes.due(followed.commit, showing.live, self.now())
        make = [note for note, what in due if what is Due.MAKE]
        look = [note for note, what in due if what is Due.LOOK]
        for note in make[:MADE_AT_ONCE]:
            found = showing.made(note)
            if found is None:
                del notes.notes[note.pull.number]
            else:
                notes.notes[note.pull.number] = found
        for note in look[:LOOKED_AT_ONCE]:
            notes.notes[note.pull.number] = showing.looked(note)
        if len(make) > MADE_AT_ONCE or len(look) > LOOKED_AT_ONCE:
            self._wait(watched, timedelta())
        if not listed.more:
            return None
        return _MoreError(
            f"there are more than {MOST_PULLS} open pull requests, of which those that changed last have previews",
            hint="close what nobody needs",
        )

    def _wait(self, watched: _Watched, span: timedelta) -> None:
        with self._lock:
            watched.not_before = self.now() + span

    def _troubled(self, fleet: str, watched: _Watched, error: GitopsMcError) -> None:
        if watched.pulls is not None or self.now() >= watched.not_before:  # else it was only looked at
            watched.failures += 1
            self._wait(watched, pause(error, watched.failures))
        self._tell(fleet, watched, error)

    def _tell(self, fleet: str, watched: _Watched, outcome: _Outcome) -> None:
        """Once, and its end once. Who leads no more, or was left meanwhile, says nothing."""
        if outcome is None or not self.may():
            return
        with self._lock:
            if self._fleets.get(fleet) is not watched:
                return
            trouble = watched.trouble
            news = trouble.troubled(outcome) if isinstance(outcome, GitopsMcError) else trouble.well(outcome)
        if news is not None:
            self.told(fleet, news)
