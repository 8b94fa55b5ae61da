"""One rollout from the terminal: what is agreed before it, how it is told meanwhile, and how it ends."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from datetime import datetime
from typing import assert_never

from gitops_mc.app.looks import Look
from gitops_mc.app.use_cases.applying import (
    Interrupted,
    open_steps,
    record_approval,
    record_override,
    roll,
)
from gitops_mc.app.use_cases.planning import Planned, Session, ask_servers, plan_fleet
from gitops_mc.cli.asking import at_the_terminal, confirmed, whoami
from gitops_mc.cli.fleets_governing import refuse_governed
from gitops_mc.cli.learning import Learnt
from gitops_mc.cli.reporting import QUIET, Reporter, reporting
from gitops_mc.cli.terminal import Terminal
from gitops_mc.core.errors import (
    EXIT_DONE,
    EXIT_INTERRUPTED,
    EXIT_PROBLEMS,
    EXIT_REFUSED,
    GitopsMcError,
    RefusedError,
)
from gitops_mc.core.render.commands import Typed
from gitops_mc.core.render.ending import Outcome, event_of_end, event_of_plan, lines_of_end
from gitops_mc.core.render.events import Event, changes
from gitops_mc.core.render.lines import Line, Tone
from gitops_mc.core.render.plan_text import plan_text
from gitops_mc.core.render.progress import Progress, progress_of
from gitops_mc.core.rollout.ending import Ending
from gitops_mc.core.rollout.inputs import Acts, Fleet
from gitops_mc.core.rollout.moves import Done, Halted, Hold, Standing, Wait, WaveState


@dataclass(frozen=True, slots=True)
class Override:
    """Whose change windows do not count for this run, as it was typed, and why."""

    clusters: tuple[str, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the command line says."""

    yes: bool
    digest: str | None
    acts: Acts
    output: str
    typed: Typed
    override: Override = Override()


@dataclass(slots=True)
class Job:
    terminal: Terminal
    session: Session
    fleet: Fleet
    learnt: Learnt
    wanted: Wanted
    stop: threading.Event

    def run(self) -> int:
        planned = plan_fleet(self.session, self.fleet, self.wanted.acts.only, ask_servers)
        self.learnt.look(planned.live)
        self._may_begin(planned)
        self._agreed(planned)
        acts = self.wanted.acts
        self._log(acts.approved & _approvals_needed(planned))
        self._log_override(self.wanted.override)
        while True:
            with reporting(self.terminal, self.wanted.output) as reporter:
                look, end = self._roll(acts, reporter)
            asked = self._approved(look, end)
            if not asked:
                return self._told(look, end)
            self._log(asked)
            acts = replace(acts, approved=acts.approved | asked)

    # ------------------------------------------------------------------------------------------------ before

    def _may_begin(self, planned: Planned) -> None:
        """Raises RefusedError where a controller drives one of the clusters, and GitopsMcError when nothing at all could be read, or
        nobody knows who drives them.
        """
        readable = [c for c in planned.preview.clusters if not c.desired.blocked]
        if readable and all(c.unknown for c in readable):
            raise GitopsMcError(f"no cluster could be read: {readable[0].unknown}")
        only = self.wanted.acts.only
        refuse_governed(
            self.session.api,
            tuple(c.name for c in self.fleet.clusters if only is None or c.name in only),
        )

    def _agreed(self, planned: Planned) -> None:
        """Somebody wants this very plan. Raises RefusedError."""
        preview = planned.preview
        if self.wanted.output == "json":
            with reporting(self.terminal, "json") as reporter:
                reporter.event(event_of_plan(preview, self.session.clock.now()))
        else:
            self.terminal.lines(plan_text(preview))
        if self.wanted.digest is not None and self.wanted.digest != preview.digest:
            raise RefusedError(
                f"this is not the plan that was confirmed: its digest is {preview.digest}, not {self.wanted.digest}",
                hint="Git, a cluster or the state has changed meanwhile: look at gitops-mc plan again",
            )
        idle = not any(c.changes for c in preview.clusters) and not open_steps(planned.memory)
        if self.wanted.yes or self.wanted.digest is not None or idle:
            return
        if not confirmed("Carry this out?"):
            raise RefusedError("not carried out")

    def _log(self, names: frozenset[str]) -> None:
        for name in sorted(names):
            record_approval(self.session.executor.store, whoami(), self.session.clock.now(), name)

    def _log_override(self, override: Override) -> None:
        for clusters in override.clusters:
            store, now = self.session.executor.store, self.session.clock.now()
            record_override(store, whoami(), now, clusters, override.why)

    # ----------------------------------------------------------------------------------------------- meanwhile

    def _roll(self, acts: Acts, reporter: Reporter) -> tuple[Look, Ending | Interrupted]:
        before: Progress | None = None
        said_at: datetime | None = None
        for look, end in roll(self.session, self.fleet, acts, self.stop.is_set):
            self.learnt.look(look.live)
            now = progress_of(look.at, look.decision, look.live)
            events = [*_of_writes(look), *changes(before, now)]
            quiet = said_at is not None and look.at - said_at >= QUIET
            if not events and quiet and isinstance(look.decision.outlook, Wait):
                reason = look.decision.outlook.reason
                events = [Event(look.at, "waiting", {"reason": reason}, f"still waiting: {reason}", Tone.DIM)]
            for event in events:
                reporter.event(event)
            if events or said_at is None:
                said_at = look.at
            reporter.state(now)
            before = now
            if end is not None:
                return look, end
        raise AssertionError("a rollout ends with an end")

    # --------------------------------------------------------------------------------------------------- after

    def _approved(self, look: Look, end: Ending | Interrupted) -> frozenset[str]:
        """What somebody at the terminal approves of what is waited for; empty where there is nothing, or nobody."""
        if not isinstance(end, Hold) or self.wanted.output == "json" or not at_the_terminal(self.terminal):
            return frozenset()
        waves = {w.wave: w.reason for w in look.decision.waves if w.state is WaveState.NEEDS_APPROVAL}
        first = {c.cluster: c.reason for c in look.decision.clusters if c.standing is Standing.APPROVAL}
        given = set()
        for name, reason in {**waves, **first}.items():
            self.terminal.say(Line(reason, Tone.WARN))
            if confirmed(f"Approve {name}?"):
                given.add(name)
        return frozenset(given)

    def _told(self, look: Look, end: Ending | Interrupted) -> int:
        outcome, code, reasons, told = _ending_words(look, end)
        acts = tuple(self.wanted.typed.command(act) for act in told)
        seen = None if outcome is Outcome.INTERRUPTED else look.live
        open_now = open_steps(look.memory, seen) if outcome is not Outcome.DONE else ()
        event = event_of_end(look.at, outcome, code, reasons, acts=acts, open_steps=open_now)
        if self.wanted.output == "json":
            with reporting(self.terminal, "json") as reporter:
                reporter.event(event)
        else:
            self.terminal.lines(lines_of_end(event))
        return code


def _ending_words(
    look: Look, end: Ending | Interrupted
) -> tuple[Outcome, int, tuple[str, ...], tuple[str, ...]]:
    """Outcome, exit code, reasons, and what helps."""
    match end:
        case Done(reason):
            troubled = [c for c in look.decision.clusters if c.standing is Standing.PROBLEMS]
            if not troubled:
                return Outcome.DONE, EXIT_DONE, (reason,), ()
            reasons = (reason, *(f"{c.cluster}: {c.reason}" for c in troubled))
            return Outcome.PROBLEMS, EXIT_PROBLEMS, reasons, ("gitops-mc validate",)
        case Halted(reason):
            failed = [c.cluster for c in look.decision.clusters if c.standing is Standing.FAILED]
            acts = (
                ("gitops-mc release --all",)
                if not failed
                else (
                    *(f"gitops-mc why {name}" for name in failed),
                    "push newer content that changes what failed, then: gitops-mc apply",
                    *(f"gitops-mc release {name}" for name in failed),
                )
            )
            return Outcome.HALTED, EXIT_REFUSED, (reason,), acts
        case Hold(reasons, acts):
            return Outcome.HELD, EXIT_REFUSED, reasons, acts
        case Interrupted():
            return Outcome.INTERRUPTED, EXIT_INTERRUPTED, (), ("it goes on from there with: gitops-mc apply",)
        case _:
            assert_never(end)


def _approvals_needed(planned: Planned) -> frozenset[str]:
    waves = (w.line.wave.name for w in planned.preview.waves if w.approve)
    return frozenset((*waves, *(c.name for c in planned.preview.clusters if c.approve)))


def _of_writes(look: Look) -> list[Event]:
    done = [
        Event(look.at, "write", {"cluster": w.cluster, "what": w.what}, f"{w.cluster}: {w.what}", Tone.HEAD)
        for w in look.written
    ]
    return done + [Event(look.at, "trouble", {"what": t}, f"not yet: {t}", Tone.WARN) for t in look.troubles]
