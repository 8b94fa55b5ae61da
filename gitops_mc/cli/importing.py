"""`gitops-mc import`: what a cluster has, as files of the repository."""

from __future__ import annotations

import click

from gitops_mc.app.use_cases.importing import Wanted, import_cluster
from gitops_mc.app.use_cases.trial import Trial
from gitops_mc.bootstrap import Access, reading, work_folder
from gitops_mc.cli import connecting, options
from gitops_mc.cli.completion import clusters
from gitops_mc.cli.explaining import Explained
from gitops_mc.cli.terminal import Terminal
from gitops_mc.cli.writing import OUTPUT_ONLY, Writing, write_new
from gitops_mc.core.authoring.importing import Import, Secrets
from gitops_mc.core.authoring.secrets import marked_too
from gitops_mc.core.authoring.writing import Style
from gitops_mc.core.desired import DesiredState
from gitops_mc.core.errors import EXIT_DONE, EXIT_PROBLEMS, UsageError
from gitops_mc.core.fleetfile.fields import is_dns_label
from gitops_mc.core.model import JsonObject
from gitops_mc.core.policy import Sensitive
from gitops_mc.core.render.importing import import_json, import_text, secrets_text


@click.command("import", cls=Explained)
@options.REPO
@click.option(
    "--cluster",
    metavar="CLUSTER",
    required=True,
    shell_complete=clusters,
    help="The cluster; its folder is clusters/CLUSTER.",
)
@click.option(
    "--secrets",
    type=click.Choice([choice.value for choice in Secrets]),
    default=Secrets.WRITE.value,
    show_default=True,
    callback=lambda _context, _parameter, said: Secrets(said),
    help="What becomes of objects that hold what looks like a secret.",
)
@click.option(
    "--contents",
    type=click.Choice([Style.READABLE.value, Style.EXACT.value]),
    default=Style.READABLE.value,
    show_default=True,
    callback=lambda _context, _parameter, said: Style(said),
    help="readable: text or files, whatever the spelling in the cluster; exact: only where render gives the same bytes.",
)
@OUTPUT_ONLY
@options.output("text", "json")
@connecting.connection
@click.pass_obj
def command(
    terminal: Terminal,
    *,
    repo: str,
    cluster: str,
    secrets: Secrets,
    contents: Style,
    writing: Writing,
    output: str,
    access: Access,
) -> int:
    """Write what somebody has set on a cluster into its folder: MachineConfigs, pools, node-disruption policy and modules.
    Contents become text, or files beside the manifests. What is written is read again before it is kept: a rollout changes
    nothing by it. Nothing is written to the cluster.

    Left out is what the operator, the platform or another controller makes, what breaks a rule of the repository, and what
    the repository has already; all of that but the operator's own is named. No file is overwritten. REPO may be a folder that
    is not there yet. Exit 4 when the repository has errors that touch the cluster, also when only afterwards.
    """
    if not is_dns_label(cluster) or cluster == "files":
        raise UsageError(f"{cluster!r} is no cluster name", hint="name the cluster as the platform does")
    folder = work_folder(repo)
    trial = Trial.of(folder)

    read: list[tuple[Sensitive, tuple[JsonObject, ...]]] = []

    def learn(state: DesiredState, bodies: tuple[JsonObject, ...]) -> None:
        read.append((state.sensitive, (*bodies, *(m.body for c in state.clusters for m in c.manifests))))
        terminal.learn(*read[-1])

    with reading(access, (cluster,)) as (api, clock):
        found = import_cluster(api, clock, trial, Wanted(cluster, secrets, contents), learn)
    for sensitive, bodies in read:
        terminal.learn(marked_too(sensitive, found.secrets), bodies)
    if writing is Writing.FILES or output == "text":
        write_new(terminal, folder, found.files, writing)
    _tell(terminal, found, repo, writing, output)
    return EXIT_PROBLEMS if found.problems else EXIT_DONE


def _tell(terminal: Terminal, found: Import, repo: str, writing: Writing, output: str) -> None:
    if output == "json":
        terminal.json({**import_json(found), "written": writing is Writing.FILES})
    else:
        tense = "written" if writing is Writing.FILES else "to write"
        terminal.lines(import_text(found, tense, connecting.typed(repo, None, None)))
    terminal.say(*secrets_text(found))
