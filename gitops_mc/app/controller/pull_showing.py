"""How the preview of one pull request comes onto its forge: pending, made, looked at again, posted.

What was made of a head that is not the newest any more is never posted: it would be read as if it were of the newest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from gitops_mc.app.controller.forge_patience import ABOUT_THE_ONE, AGAIN_LAST, pause
from gitops_mc.app.controller.pull_notes import Basis, PullNote
from gitops_mc.app.pull_ports import MakePreview, OutdatedError, PreviewWanted, PullDesk
from gitops_mc.core.custom.commit_status import CommitState, CommitStatus
from gitops_mc.core.custom.pull_comment import (
    ROOM,
    PreviewText,
    comment_body,
    no_preview,
    preview_context,
    preview_pending,
    preview_status,
    says_the_same,
)
from gitops_mc.core.custom.pull_request import PreviewScope, Standing
from gitops_mc.core.errors import ForbiddenError, GitopsMcError
from gitops_mc.core.model import Commit
from gitops_mc.core.rollout.showing import Shown

_OF_THE_ONE: Final = (*ABOUT_THE_ONE, ForbiddenError)
"""A conversation that is locked is forbidden, too."""
_TRIED_SILENTLY: Final = 2


class NotOursError(Exception):
    """Another process speaks now, or the end has been asked for."""


@dataclass(slots=True)
class Showing:
    """One round over the pull requests of one Fleet. What it was told not to say, it does not."""

    fleet: str
    """`<namespace>/<name>`"""
    desk: PullDesk
    base: Commit
    live: str
    make: MakePreview
    shown: Callable[[str, Mapping[str, Shown]], object]
    """Hears of what stands on a pull request, by cluster."""
    redact: Callable[[str], str]
    may: Callable[[], bool]
    now: Callable[[], datetime]
    refusals: list[GitopsMcError] = field(default_factory=list)
    """Why the forge does not want one of them, where it wants others."""
    faults: list[Exception] = field(default_factory=list)
    """Of this program, in making one."""

    @property
    def _name(self) -> str:
        return self.fleet.rpartition("/")[2]

    def made(self, note: PullNote) -> PullNote | None:
        """The preview, made and posted; None: the pull request is not open any more. Raises GitopsMcError where the forge takes
        nothing, and NotOursError.
        """
        try:
            return self._made(note)
        except _OF_THE_ONE as error:
            return self._refused(note, error)

    def _made(self, note: PullNote) -> PullNote | None:
        scope = self._scope(note)
        note = self._pending(note)
        try:
            text = self._text(note, scope)
        except OutdatedError:
            return replace(note, failures=0)
        except GitopsMcError as error:
            return replace(
                note, failures=note.failures + 1, not_before=self.now() + pause(error, note.failures + 1)
            )
        self._speak()
        newest = self.desk.pulls.pull(note.pull.number)
        if newest is None:
            return None
        if (newest.head, newest.base_branch) != (note.pull.head, note.pull.base_branch):
            return replace(note, pull=newest)  # dropped; the next round makes another one
        body = comment_body(
            self._name, note.pull.head, self.base, self.redact(text.markdown), self.desk.pulls.longest_comment
        )
        basis = Basis(note.pull.head, self.base, self.live)
        kept = note.kept if body == note.body else ""
        note = replace(
            note,
            made=basis,
            scope=scope,
            state=text.state,
            body=body,
            kept=kept,
            at=self.now(),
            refused=False,
        )
        note = self._posted(note)
        if text.shown and not note.refused:
            self.shown(self.fleet, text.shown)
        summary = replace(text, summary=self.redact(text.summary))
        return self._with_status(note, preview_status(self._name, summary))

    def looked(self, note: PullNote) -> PullNote:
        """The comment as it was left: made anew where somebody has deleted it, set right where somebody has edited it."""
        return self._posted(note)

    def _scope(self, note: PullNote) -> PreviewScope:
        """Who is named, and what comes from a fork, needs no question."""
        spec, pull = self.desk.spec, note.pull
        if pull.fork or spec.trusts(pull.author):
            return spec.scope(pull, Standing.NOT_KNOWN)
        return spec.scope(pull, self.desk.pulls.standing(pull))

    def _pending(self, note: PullNote) -> PullNote:
        """Before the first preview of a head. A verdict that stands, of the process before, is not taken back while it is made again."""
        if note.status_of == note.pull.head:
            return note
        self._speak()
        context = preview_context(self._name)
        note = note.with_status(self.desk.pulls.status(note.pull.head, context), self.now())
        return note if note.status is not None else self._with_status(note, preview_pending(self._name))

    def _text(self, note: PullNote, scope: PreviewScope) -> PreviewText:
        """Raises OutdatedError; and GitopsMcError where it may be there the next time, and nobody need be told yet."""
        longest = self.desk.pulls.longest_comment - ROOM
        try:
            return self.make(PreviewWanted(self.fleet, note.pull, self.base, scope, longest))
        except OutdatedError:
            raise
        except GitopsMcError as error:
            if error.transient and note.failures < _TRIED_SILENTLY:
                raise
            return no_preview(self.redact(f"{error.message}{f'; {error.hint}' if error.hint else ''}"))
        except Exception as error:  # noqa: BLE001 - one pull request that cannot be read stops no other
            self.faults.append(error)
            return no_preview(f"a fault of gitops-mc ({type(error).__name__}), which its log tells of")

    def _posted(self, note: PullNote) -> PullNote:
        """With the comment as it should be. What is found is edited only where it says something else, and never where it is somebody
        else's.
        """
        number = note.pull.number
        try:
            found = self.desk.pulls.comment(number, self._name)
            self._speak()
            if found is None:
                kept = self.desk.pulls.add_comment(number, note.body).body
            elif found.body == note.kept or (not note.kept and says_the_same(found.body, note.body)):
                kept = found.body
            else:
                kept = self.desk.pulls.edit_comment(number, found, note.body).body
        except _OF_THE_ONE as error:
            return self._refused(note, error)
        return replace(
            note, kept=kept, looked=note.pull.updated, looked_at=self.now(), failures=0, refused=False
        )

    def _with_status(self, note: PullNote, wanted: CommitStatus) -> PullNote:
        if not note.differs(wanted, self.now()):
            return note
        self._speak()
        lasts = (s := note.stands()) is not None and s.state is wanted.state is CommitState.PENDING
        try:
            if self.desk.pulls.rewords or not lasts:
                self.desk.pulls.set_status(note.pull.head, wanted)
        except _OF_THE_ONE as error:
            return self._refused(note, error)
        return note.with_status(wanted, self.now())

    def _refused(self, note: PullNote, error: GitopsMcError) -> PullNote:
        self.refusals.append(error)
        return replace(note, refused=True, not_before=self.now() + AGAIN_LAST)

    def _speak(self) -> None:
        if not self.may():
            raise NotOursError
