"""`gitops-mc doctor`: the platform's prerequisites, cluster by cluster."""

from __future__ import annotations

import click

from gitops_mc.app.doctor import examine_fleet, registered_clusters
from gitops_mc.app.use_cases.repository import chosen, usable
from gitops_mc.bootstrap import Access, open_repository, reading, reading_many
from gitops_mc.cli import completion, connecting, options
from gitops_mc.cli.explaining import Explained
from gitops_mc.cli.learning import Learnt
from gitops_mc.cli.terminal import Terminal
from gitops_mc.core.desired import DesiredState
from gitops_mc.core.doctor import examine, versions_apart
from gitops_mc.core.errors import EXIT_DONE, EXIT_ERROR
from gitops_mc.core.model import GLOBAL_CLUSTER, MACHINE_CONFIG_MODULE, Kind
from gitops_mc.core.render.doctor import FLEET, any_failed, doctor_json, doctor_text


@click.command("doctor", cls=Explained)
@click.argument("repo", required=False, metavar="[REPO]", shell_complete=completion.folders)
@options.REVISION
@options.CLUSTERS
@options.output("text", "json")
@connecting.connection
@click.pass_obj
def command(
    terminal: Terminal,
    *,
    repo: str | None,
    revision: str | None,
    clusters: tuple[str, ...],
    output: str,
    access: Access,
) -> int:
    """Check the platform's prerequisites on every cluster: whether it answers, accepts the token and grants what is needed;
    nodes Ready, labelled and each in one pool; the plugin published, installed and Running; its components up; pools,
    base configs and the MachineConfiguration there. Each failure comes with the command that shows or mends it; what
    could not be asked is "not checked". Nothing is changed.

    The clusters are those of REPO; without it, the workload clusters that global knows. Exit 1 when a check fails.
    """
    state: DesiredState | None = None
    if repo is not None or revision is not None:
        state = open_repository(repo or ".", revision).read()[0]
        Learnt(terminal, state)
        usable(state)
    names = clusters if state is None else tuple(c.name for c in chosen(state, clusters))
    if not names:
        with reading(access, ()) as (api, _):
            names = tuple(name for name in registered_clusters(api) if name != GLOBAL_CLUSTER)
    with reading_many(access, names) as (api, clock, workers):
        found = examine_fleet(api, clock, workers, names, _wanted(state))
    findings = {x.name: examine(x) for x in found}
    if apart := versions_apart(found):
        findings[FLEET] = apart
    if output == "json":
        terminal.json(doctor_json(findings))
    else:
        terminal.lines(doctor_text(findings))
    return EXIT_ERROR if any_failed(findings) else EXIT_DONE


def _wanted(state: DesiredState | None) -> dict[str, str]:
    """The version of machine-config that the repository has, by cluster."""
    return {
        cluster.name: str((manifest.body.get("spec") or {}).get("version", ""))
        for cluster in (() if state is None else state.clusters)
        for manifest in cluster.of_kind(Kind.MODULE_INFO)
        if manifest.key.name == MACHINE_CONFIG_MODULE
    }
