"""`gitops-mc new`: a manifest to fill in, at its place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from gitops_mc.app.use_cases.starting import (
    ForCluster,
    ForShared,
    Started,
    Target,
    new_cluster,
    new_machine_config,
    new_module,
    new_pool,
)
from gitops_mc.app.use_cases.trial import Trial
from gitops_mc.bootstrap import work_folder
from gitops_mc.cli import options
from gitops_mc.cli.completion import clusters
from gitops_mc.cli.explaining import ExplainedGroup
from gitops_mc.cli.terminal import Terminal
from gitops_mc.cli.writing import OUTPUT_ONLY, Writing, write_new
from gitops_mc.core.errors import EXIT_DONE, UsageError
from gitops_mc.core.render.problems import problems_text
from gitops_mc.core.render.starting import started_text

F = TypeVar("F", bound=Callable[..., Any])

_NAME = click.argument("name", metavar="NAME")
_CLUSTER = click.option(
    "--cluster", metavar="CLUSTER", shell_complete=clusters, help="Into the folder of this cluster."
)
_SHARED = click.option("--shared", metavar="SET", help="Into shared/SET, for every cluster that uses it.")


@click.group("new", cls=ExplainedGroup)
def command() -> None:
    """Begin a manifest at its place, with the words that whoever fills it in needs. It is valid at once, and changes no node
    as it stands. No file is overwritten; where the repository would have an error with it, nothing is written (exit 4).
    """


def _manifest(function: F) -> F:
    """What the commands have in common that begin a manifest."""
    decorated: Any = function
    for option in reversed((_NAME, options.REPO, _CLUSTER, _SHARED, OUTPUT_ONLY, click.pass_obj)):
        decorated = option(decorated)
    found: F = decorated
    return found


@command.command("machineconfig", short_help="Begin a MachineConfig.")
@click.option("--role", metavar="ROLE", help="The role of its nodes. [default: the one in NN-<role>-<topic>]")
@_manifest
def machineconfig(
    terminal: Terminal,
    *,
    name: str,
    repo: str,
    cluster: str | None,
    shared: str | None,
    writing: Writing,
    role: str | None,
) -> int:
    """Begin a MachineConfig NAME, with files, units and kernel arguments to uncomment."""
    return _begin(
        terminal, repo, writing, lambda trial: new_machine_config(trial, name, role, _target(cluster, shared))
    )


@command.command("pool", short_help="Begin a MachineConfigPool.")
@_manifest
def pool(
    terminal: Terminal, *, name: str, repo: str, cluster: str | None, shared: str | None, writing: Writing
) -> int:
    """Begin a pool NAME: a custom one of workers, or what is ours of pools master and worker."""
    return _begin(terminal, repo, writing, lambda trial: new_pool(trial, name, _target(cluster, shared)))


@command.command("module", short_help="Begin a ModuleInfo.")
@click.option(
    "--version", metavar="VERSION", required=True, help="A version that is published on the platform."
)
@_manifest
def module(
    terminal: Terminal,
    *,
    name: str,
    repo: str,
    cluster: str | None,
    shared: str | None,
    writing: Writing,
    version: str,
) -> int:
    """Begin a ModuleInfo of module NAME. A rollout installs it."""
    return _begin(
        terminal, repo, writing, lambda trial: new_module(trial, name, version, _target(cluster, shared))
    )


@command.command("cluster", short_help="Begin the folder of a cluster.")
@_NAME
@options.REPO
@click.option(
    "--version",
    metavar="VERSION",
    help="Of module machine-config. [default: the one that most clusters have]",
)
@OUTPUT_ONLY
@click.pass_obj
def cluster(terminal: Terminal, *, name: str, repo: str, version: str | None, writing: Writing) -> int:
    """Begin the folder of cluster NAME, with module machine-config in it unless a shared set brings that. REPO may be a folder
    that is not there yet. For what a cluster has already: import.
    """
    return _begin(terminal, repo, writing, lambda trial: new_cluster(trial, name, version))


def _begin(terminal: Terminal, repo: str, writing: Writing, begun: Callable[[Trial], Started]) -> int:
    folder = work_folder(repo)
    found = begun(Trial.of(folder))
    write_new(terminal, folder, found.files, writing)
    tense = "written" if writing is Writing.FILES else "to write"
    terminal.lines(started_text([file.path for file in found.files], tense))
    terminal.say(*problems_text(found.warnings))
    return EXIT_DONE


def _target(cluster: str | None, shared: str | None) -> Target:
    if cluster is not None and shared is None:
        return ForCluster(cluster)
    if shared is not None and cluster is None:
        return ForShared(shared.removeprefix("shared/").rstrip("/"))
    raise UsageError("where does it belong?", hint="--cluster CLUSTER, or --shared SET")
