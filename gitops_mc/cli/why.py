"""`gitops-mc why`: the chain from the file in Git to the node that holds it up, and what to type."""

from __future__ import annotations

from pathlib import Path

import click

from gitops_mc.app.use_cases.repository import chosen, usable
from gitops_mc.app.use_cases.standing import stand
from gitops_mc.bootstrap import driver_of, look_at_memory, open_repository, session
from gitops_mc.cli import completion, connecting, options
from gitops_mc.cli.connecting import Later
from gitops_mc.cli.explaining import Explained
from gitops_mc.cli.fleets import FleetAsked, looked_at
from gitops_mc.cli.fleets_governing import driver_beside
from gitops_mc.cli.fleets_shown import show_why
from gitops_mc.cli.learning import Learnt
from gitops_mc.cli.terminal import Terminal
from gitops_mc.core.errors import EXIT_DONE, UsageError
from gitops_mc.core.live import LiveCluster
from gitops_mc.core.model import Known
from gitops_mc.core.render.lines import Line
from gitops_mc.core.render.why import why_json, why_text
from gitops_mc.core.rollout.inputs import Fleet
from gitops_mc.core.why import Question, why


@click.command("why", cls=Explained)
@click.argument("subject", metavar="CLUSTER[/POOL]", shell_complete=completion.clusters)
@options.REPO
@options.REVISION
@options.output("text", "json")
@connecting.STATE
@looked_at
@click.pass_obj
def command(
    terminal: Terminal,
    *,
    subject: str,
    repo: str,
    revision: str | None,
    output: str,
    state: Path | None,
    access: Later,
    fleet: FleetAsked | None,
) -> int:
    """Say why a cluster, or one of its pools, stands where it stands: from file and commit over content, wave, halt,
    budgets, step and gates down to the node that holds it up; and what to type. Nothing is written.

    With --fleet: from what the controller shows and remembers in its objects on global, and one look at the pools.
    """
    if fleet is not None:
        return show_why(terminal, fleet, subject, output)
    name, _, pool = subject.partition("/")
    repository = open_repository(repo, revision)
    found, commit = repository.read()
    learnt = Learnt(terminal, found)
    usable(found)
    (wanted,) = chosen(found, (name,))
    everybody = Fleet(found.policy, found.clusters, commit)
    names = tuple(c.name for c in found.clusters)
    file = connecting.state_file(state, repo)
    with session(access(), names, look_at_memory(file), repository) as connected:
        standing = stand(connected, everybody)
        driver = driver_beside(terminal, connected.api, (name,), driver_of(file))
    learnt.look(standing.live)
    _check_pool(standing.live[name], pool)
    question = Question(
        desired=wanted,
        pool=pool,
        fleet=standing.fleet,
        memory=standing.memory,
        live=standing.live,
        decision=standing.decision,
        driver=driver,
        at=standing.at,
    )
    links = why(question)
    if output == "json":
        terminal.json(why_json(question, links))
        return EXIT_DONE
    typed = connecting.typed(repo, state, revision)
    terminal.lines(Line(typed.command(line.text), line.tone) for line in why_text(question, links))
    return EXIT_DONE


def _check_pool(cluster: LiveCluster, pool: str) -> None:
    """Raises UsageError for a pool that the cluster is known not to have."""
    if pool and isinstance(cluster.pools, Known) and pool not in cluster.pools.value:
        known = ", ".join(cluster.pools.value) or "none"
        raise UsageError(f"cluster {cluster.name} has no pool {pool}", hint=f"there are: {known}")
