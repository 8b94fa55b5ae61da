"""Arguments and options that several commands share, spelled once."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

import click

from gitops_mc.cli.completion import clusters, folders
from gitops_mc.core.errors import SourceError

F = TypeVar("F", bound=Callable[..., Any])


def _no_file(_context: click.Context, _parameter: click.Parameter, repo: str) -> str:
    if os.path.isfile(repo):  # noqa: PTH113 - what cannot be looked at is told where it is read
        raise SourceError(f"{repo} is a file", hint="name the folder of the configuration repository")
    return repo


REPO = click.argument(
    "repo",
    default=".",
    type=click.Path(file_okay=True, dir_okay=True, path_type=str),
    metavar="[REPO]",
    callback=_no_file,
    shell_complete=folders,
)
"""The configuration repository: a folder as it lies there, or a Git repository. What is wrong with it is a SourceError."""

REVISION = click.option(
    "--revision",
    metavar="REV",
    help="Read this branch, tag or commit of the Git repository, not the folder as it lies there.",
)

CLUSTER = click.argument("cluster", metavar="CLUSTER", shell_complete=clusters)
MAYBE_CLUSTER = click.argument("cluster", metavar="[CLUSTER]", required=False, shell_complete=clusters)

CLUSTERS = click.option(
    "--cluster",
    "clusters",
    metavar="CLUSTER",
    multiple=True,
    help="Only this cluster; may be repeated.",
    shell_complete=clusters,
)

REASON = click.option("--reason", metavar="TEXT", default="", help="Why; kept with the act.")

WATCH = click.option("--watch", is_flag=True, help="Run again whenever a file of the repository changes.")

EXIT_CODE = click.option(
    "--exit-code", is_flag=True, help="Exit 5 when changes are pending, 6 when some are refused."
)


def output(*formats: str) -> Callable[[F], F]:
    """`-o`; the first format is the default."""
    return click.option(
        "-o",
        "--output",
        "output",
        type=click.Choice(formats),
        default=formats[0],
        show_default=True,
        help="Format of the result.",
    )
