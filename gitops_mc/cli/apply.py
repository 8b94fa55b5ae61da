"""`gitops-mc apply`: carry the rollout out, wave by wave, and say how it goes."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path

import click

from gitops_mc.app.use_cases.repository import chosen, usable
from gitops_mc.bootstrap import Access, open_memory, open_repository, session
from gitops_mc.cli import completion, connecting, options
from gitops_mc.cli.asking import at_the_terminal, whoami
from gitops_mc.cli.carrying import Job, Override, Wanted
from gitops_mc.cli.explaining import Explained
from gitops_mc.cli.learning import Learnt
from gitops_mc.cli.stopping import stop_on_signals
from gitops_mc.cli.terminal import Terminal
from gitops_mc.core.desired import DesiredState
from gitops_mc.core.errors import UsageError
from gitops_mc.core.globs import name_matches
from gitops_mc.core.rollout.inputs import Acts, Fleet
from gitops_mc.core.rollout.waves import lines


@click.command("apply", cls=Explained)
@options.REPO
@options.REVISION
@click.option(
    "--cluster",
    "clusters",
    metavar="CLUSTER",
    shell_complete=completion.clusters,
    multiple=True,
    help="Write for this cluster only; opens no wave earlier. May be repeated.",
)
@click.option(
    "--approve",
    "approved",
    metavar="WAVE|CLUSTER",
    shell_complete=completion.clusters,
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
    "--override-window",
    "overridden",
    metavar="CLUSTER",
    shell_complete=completion.clusters,
    multiple=True,
    help="For this run the change windows and freezes of this cluster do not count; may be repeated, and be a glob. Needs --reason.",
)
@click.option("--reason", metavar="TEXT", default="", help="Why windows are overridden; kept with the act.")
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
    overridden: tuple[str, ...],
    reason: str,
    output: str,
    state: Path | None,
    access: Access,
) -> int:
    """Carry the rollout out: clusters in waves, in each cluster step after step, each only when the gates of the one before
    are open. Shows the plan and asks first. Progress is told as it goes; with -o json one object a line.

    Exit 0 when every cluster has it; 4 when the repository has problems (clusters without problems are rolled all the
    same); 6 when it halted or a human has to act, and at once where a Fleet that is not suspended governs one of the clusters; 130 after Ctrl-C: nothing more is begun, and the next apply goes on.
    """
    repository = open_repository(repo, revision)
    found, commit = repository.read()
    learnt = Learnt(terminal, found)
    usable(found)
    everybody = tuple(c.name for c in found.clusters)
    acts = Acts(
        approved=_known(approved, found),
        impatient=frozenset(everybody) if impatient else frozenset(),
        only=frozenset(c.name for c in chosen(found, clusters)) if clusters else None,
        overriding=_overriding(overridden, reason, everybody),
    )
    if not (yes or digest or at_the_terminal(terminal)):
        raise UsageError(
            "nobody is there to ask whether this plan is wanted",
            hint="--yes, or --plan-digest with the digest that gitops-mc plan has shown",
        )
    fleet = Fleet(found.policy, found.clusters, commit)
    typed = connecting.typed(repo, state, revision)
    wanted = Wanted(yes, digest, acts, output, typed, Override(overridden, reason))
    file = connecting.state_file(state, repo)
    with (
        stop_on_signals() as stop,
        open_memory(file) as store,
        session(access, everybody, store, repository, stop) as connected,
    ):
        return Job(terminal, connected, fleet, learnt, wanted, stop).run()


def _overriding(globs: tuple[str, ...], reason: str, everybody: tuple[str, ...]) -> dict[str, str]:
    """By cluster: who overrides its windows, and why. Raises UsageError."""
    if bool(globs) != bool(reason):
        raise UsageError(
            "windows are overridden for named clusters and for a reason",
            hint='--override-window CLUSTER --reason "the fix for tonight\'s outage"',
        )
    for glob in globs:
        if not any(name_matches(name, (glob,)) for name in everybody):
            close = get_close_matches(glob, everybody, n=1)
            hint = f"did you mean {close[0]}?" if close else f"clusters: {', '.join(everybody)}"
            raise UsageError(f"--override-window {glob}: there is no such cluster", hint=hint)
    told = f"{whoami()}: {reason}"
    return {name: told for name in everybody if name_matches(name, globs)}


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
