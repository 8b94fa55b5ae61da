"""`gitops-mc apply`: carry the rollout out, wave by wave, and say how it goes."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from datetime import datetime
from difflib import get_close_matches
from pathlib import Path
from typing import assert_never

import click

from gitops_mc.app.executor import Look
from gitops_mc.app.use_cases.applying import (
    Interrupted,
    open_steps,
    policy_remarks,
    record_approval,
    roll,
    windows_kept,
)
from gitops_mc.app.use_cases.planning import Planned, Session, ask_servers, plan_fleet
from gitops_mc.app.use_cases.repository import chosen, usable
from gitops_mc.bootstrap import Access, open_memory, open_repository, session
from gitops_mc.cli import connecting, options
from gitops_mc.cli.asking import at_the_terminal, confirmed, whoami
from gitops_mc.cli.learning import Learnt
from gitops_mc.cli.reporting import QUIET, Reporter, reporting
from gitops_mc.cli.stopping import stop_on_signals
from gitops_mc.cli.terminal import Terminal
from gitops_mc.core.desired import DesiredState
from gitops_mc.core.errors import (
    EXIT_DONE,
    EXIT_INTERRUPTED,
    EXIT_PROBLEMS,
    EXIT_REFUSED,
    GitopsMcError,
    RefusedError,
    UsageError,
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
from gitops_mc.core.rollout.waves import lines


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the command line says."""

    yes: bool
    digest: str | None
    acts: Acts
    output: str
    typed: Typed


@click.command("apply", short_help="Carry it out, wave by wave, gate by gate.")
@options.REPO
@options.REVISION
@click.option(
    "--cluster",
    "clusters",
    metavar="CLUSTER",
    multiple=True,
    help="Write for this cluster only; opens no wave earlier. May be repeated.",
)
@click.option(
    "--approve",
    "approved",
    metavar="WAVE|CLUSTER",
    multiple=True,
    help="Approve this wave, or the first contact with this cluster. May be repeated.",
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option(
    "--plan-digest",
    "digest",
    metavar="DIGEST",
    help="Go on only with exactly this plan (exit 6 else); does not ask then.",
)
@click.option(
    "--now",
    "impatient",
    is_flag=True,
    help="Newer content need not wait until what rolls healthily has settled.",
)
@click.option(
    "--ignore-windows", is_flag=True, help="Go on although fleet.yaml has windows, which apply cannot keep."
)
@options.output("text", "json")
@connecting.STATE
@connecting.connection
@click.pass_obj
def command(
    terminal: Terminal,
    *,
    repo: str,
    revision: str | None,
    clusters: tuple[str, ...],
    approved: tuple[str, ...],
    yes: bool,
    digest: str | None,
    impatient: bool,
    ignore_windows: bool,
    output: str,
    state: Path | None,
    access: Access,
) -> int:
    """Carry the rollout out: clusters in waves, in each cluster step after step, each only when the gates of the one before
    are open. Shows the plan and asks first. Progress is told as it goes; with -o json one object a line.

    Exit 0 when every cluster has it; 4 when the repository has problems (clusters without problems are rolled all the
    same); 6 when it halted or a human has to act; 130 after Ctrl-C: nothing more is begun, and the next apply goes on.
    """
    repository = open_repository(repo, revision)
    found, commit = repository.read()
    learnt = Learnt(terminal, found)
    usable(found)
    if not ignore_windows:
        windows_kept(found.policy)
    terminal.say(*(Line(f"note: {remark}", Tone.WARN) for remark in policy_remarks(found.policy)))
    acts = Acts(
        approved=_known(approved, found),
        impatient=frozenset(c.name for c in found.clusters) if impatient else frozenset(),
        only=frozenset(c.name for c in chosen(found, clusters)) if clusters else None,
    )
    if not (yes or digest or at_the_terminal(terminal)):
        raise UsageError(
            "nobody is there to ask whether this plan is wanted",
            hint="--yes, or --plan-digest with the digest that gitops-mc plan has shown",
        )
    fleet = Fleet(found.policy, found.clusters, commit)
    names = tuple(c.name for c in found.clusters)
    file = connecting.state_file(state, repo)
    with (
        stop_on_signals() as stop,
        open_memory(file) as store,
        session(access, names, store, repository, stop) as connected,
    ):
        job = _Job(
            terminal,
            connected,
            fleet,
            learnt,
            Wanted(
                yes, digest, acts, output, Typed(repo, "" if state is None else str(state), revision or "")
            ),
            stop,
        )
        return job.run()


@dataclass(slots=True)
class _Job:
    terminal: Terminal
    session: Session
    fleet: Fleet
    learnt: Learnt
    wanted: Wanted
    stop: threading.Event

    def run(self) -> int:
        planned = plan_fleet(self.session, self.fleet, self.wanted.acts.only, ask_servers)
        self.learnt.look(planned.live)
        self._agreed(planned)
        acts = self.wanted.acts
        self._log(acts.approved & _approvals_needed(planned))
        while True:
            with reporting(self.terminal, self.wanted.output) as reporter:
                look, end = self._roll(acts, reporter)
            asked = self._approved(look, end)
            if not asked:
                return self._told(look, end)
            self._log(asked)
            acts = replace(acts, approved=acts.approved | asked)

    # ------------------------------------------------------------------------------------------------ before

    def _agreed(self, planned: Planned) -> None:
        """Somebody wants this very plan. Raises RefusedError, or GitopsMcError when nothing at all could be read."""
        preview = planned.preview
        readable = [c for c in preview.clusters if not c.desired.blocked]
        if readable and all(c.unknown for c in readable):
            raise GitopsMcError(f"no cluster could be read: {readable[0].unknown}")
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


def _known(names: tuple[str, ...], found: DesiredState) -> frozenset[str]:
    """Raises UsageError for a name that is neither a wave nor a cluster."""
    waves = [line.wave.name for line in lines(found.policy, found.clusters)[0]]
    known = [*waves, *(c.name for c in found.clusters)]
    for name in names:
        if name not in known:
            close = get_close_matches(name, known, n=1)
            hint = f"did you mean {close[0]}?" if close else f"waves: {', '.join(waves)}"
            raise UsageError(f"--approve {name}: there is no such wave or cluster", hint=hint)
    return frozenset(names)


def _of_writes(look: Look) -> list[Event]:
    done = [
        Event(look.at, "write", {"cluster": w.cluster, "what": w.what}, f"{w.cluster}: {w.what}", Tone.HEAD)
        for w in look.written
    ]
    return done + [Event(look.at, "trouble", {"what": t}, f"not yet: {t}", Tone.WARN) for t in look.troubles]
