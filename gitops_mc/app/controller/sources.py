"""The repository, asked now and then by a job of its own: a server that hangs delays no pass.

What was read last stays until something newer has been read, and whatever goes wrong meanwhile is told beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from gitops_mc.app.ports import Clock, NotAccepted, Polled, PolledSource, Workers
from gitops_mc.app.reading import ReadingCache, read_desired
from gitops_mc.core.custom.shown import Pulled, RefusedCommit
from gitops_mc.core.desired import DesiredState
from gitops_mc.core.errors import GitopsMcError, SourceError
from gitops_mc.core.model import Commit, Severity
from gitops_mc.core.rollout.memory import NO_COMMIT

_JOB: Final = "(repository)"
_SPREAD: Final = 0.1
"""Of the interval: fleets that were made together do not ask together for ever."""
_NO_WAIT: Final = 0.0
AGAIN: Final = timedelta(seconds=15)
AGAIN_AT_MOST: Final = timedelta(minutes=5)
"""When a source that could not be read is asked again, at first and at last; never later than its interval says."""


@dataclass(frozen=True, slots=True)
class _Good:
    """A state that may be followed, and its commit."""

    state: DesiredState
    commit: Commit


@dataclass(frozen=True, slots=True)
class _Brought:
    """What a job came back with."""

    answer: Polled | NotAccepted | SourceError
    state: DesiredState | None
    """Of the commit that was accepted."""
    earlier: _Good | None
    """What was followed before this process began, where the newest may not be."""


@dataclass(slots=True)
class Poller:
    """One source, followed. One thread calls it; the job runs on `workers`, which are its own."""

    source: PolledSource
    interval: timedelta
    clock: Clock
    workers: Workers
    jitter: Callable[[], float]
    before: Commit = NO_COMMIT
    """What was followed by the process before this one."""
    desired: DesiredState | None = None
    """What Git said last, of what may be followed; None: nothing yet."""
    pulled: Pulled = field(default_factory=Pulled)
    answers: int = 0
    """Polls that came back, whatever they brought."""
    faults: list[Exception] = field(default_factory=list)
    """Of this program, met in reading; whoever reports them takes them out."""
    rewritten: Commit = NO_COMMIT
    """The last commit that history was rewritten for."""
    _cache: ReadingCache = field(default_factory=ReadingCache)
    _due: datetime | None = None
    _woken: bool = False
    _asked_at: datetime | None = None
    _failures: int = 0
    """In a row."""

    @property
    def asking(self) -> bool:
        """Whether the server has been asked, and what it says has not been looked at."""
        return _JOB in self.workers.running()

    def close(self) -> bool:
        """Follow it no more. Whether that is over: a job that asks the server ends when it ends, and is heard no more; until
        then nobody else can follow the same source. May be called again.
        """
        self.source.leave()
        return not self.workers.close()

    def wake(self) -> None:
        """Ask soon, whatever the interval says. What is being read now may be older than what woke us: it is asked again."""
        self._woken = True

    def look(self, wanted: frozenset[Commit]) -> None:
        """Take what a job has brought, and begin the next one where it is time. Returns at once."""
        now = self.clock.now()
        due = self._due is None or now >= self._due or self._woken
        jobs: Mapping[str, Callable[[], _Brought]] = {}
        if due and not self.asking:
            jobs = {_JOB: partial(self._bring, wanted, NO_COMMIT if self.desired else self.before)}
            self._woken, self._asked_at = False, now
            self._due = now + self.interval * (1 + _SPREAD * (2 * self.jitter() - 1))
        for result in self.workers.map(jobs, within=_NO_WAIT).values():
            self._take(result)

    def _bring(self, wanted: frozenset[Commit], before: Commit) -> _Brought:
        """Where the newest may not be followed, or cannot be had, a process that has followed nothing yet goes on with what the one
        before it followed; with that and nothing else, for anything older would take back what has been rolled out since.
        """
        state: DesiredState | None = None
        answer: Polled | NotAccepted | SourceError
        try:
            answer = self.source.poll(wanted | ({before} - {NO_COMMIT}))
        except SourceError as error:
            answer = error
        if isinstance(answer, Polled):
            state, _ = read_desired(self.source, answer.commit, self._cache)
            if not state.fleet_blocked:
                return _Brought(answer, state, None)
        return _Brought(answer, state, self._earlier(before) if before else None)

    def _earlier(self, commit: Commit) -> _Good | None:
        with suppress(SourceError):  # it is gone: then nothing is followed until somebody corrects the newest
            state, _ = read_desired(self.source, commit, self._cache)
            return None if state.fleet_blocked else _Good(state, commit)
        return None

    def _take(self, result: _Brought | BaseException) -> None:
        self.answers += 1
        match result:
            case _Brought(answer, state, earlier):
                if earlier is not None:
                    self.desired, self.pulled = earlier.state, Pulled(earlier.commit)
                if isinstance(answer, SourceError):
                    self._failed(answer)
                else:
                    self._failures = 0
                    self._follow(answer, state)
            case GitopsMcError() as error:
                self._failed(error)
            case Exception() as error:  # what is in Git stops no order, an abort least of all
                self.faults.append(error)
                told = f"a fault of gitops-mc in reading it ({type(error).__name__}), which its log tells of"
                self._failed(SourceError(told, hint="what was read before stays; another commit may be read"))
            case BaseException():
                raise result

    def _follow(self, answer: Polled | NotAccepted, state: DesiredState | None) -> None:
        """A commit that is not accepted, and a fleet.yaml with problems, are not followed: the last good revision stays."""
        self.pulled = replace(self.pulled, polled=self._asked_at, ref=answer.ref)
        if isinstance(answer, NotAccepted):
            told = f"{answer.reason}; {answer.hint}" if answer.hint else answer.reason
            self._refuse(answer.commit, f"is not accepted: {told}")
            return
        assert state is not None
        if answer.rewritten:
            self.rewritten = answer.commit
        if state.fleet_blocked:
            errors = [p for p in state.problems if p.severity is Severity.ERROR]
            first = f"{errors[0].place}: {errors[0].message}" if errors else "fleet.yaml has problems"
            self._refuse(answer.commit, f"is not followed: {first}")
            return
        self.desired, self.pulled = state, Pulled(answer.commit, self._asked_at, ref=answer.ref)

    def _refuse(self, commit: Commit, why: str) -> None:
        self.pulled = replace(self.pulled, refused=RefusedCommit(commit, why))
        self._trouble(f"commit {commit[:12]} {why}")

    def _failed(self, error: GitopsMcError) -> None:
        again = min(AGAIN * 2 ** min(self._failures, 10), AGAIN_AT_MOST)
        self._failures += 1
        soon = self.clock.now() + again
        self._due = soon if self._due is None else min(self._due, soon)
        self._trouble(f"{error.message}{f'; {error.hint}' if error.hint else ''}")

    def _trouble(self, told: str) -> None:
        self.pulled = replace(self.pulled, problem=told)
