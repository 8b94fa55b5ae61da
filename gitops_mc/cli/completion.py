"""`gitops-mc completion`, and the names that a shell completes: those of folders that lie here, asked of nobody else."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import click
from click.shell_completion import BashComplete, CompletionItem, FishComplete, ShellComplete, ZshComplete

from gitops_mc.cli.explaining import Explained
from gitops_mc.cli.terminal import Terminal
from gitops_mc.core.errors import EXIT_DONE

_SHELLS: Mapping[str, type[ShellComplete]] = {
    "bash": BashComplete,
    "zsh": ZshComplete,
    "fish": FishComplete,
}
_VARIABLE = "_GITOPS_MC_COMPLETE"
"""What click makes of the program's name."""


def folders(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The shell's own list of folders."""
    return [CompletionItem(incomplete, type="dir")]


def clusters(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The folders under clusters/ of the repository that the line names, or that the shell stands in.

    Of a line that is not ended click may not know yet which word is the repository: any that has such a folder is taken.
    """
    words = (*context.args, context.params.get("repo"), ".")
    names = next((found for word in words if word and (found := _folders_of(word))), ())
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def _folders_of(repo: str) -> tuple[str, ...]:
    """Nothing where there is no repository: the command will say so."""
    try:
        with os.scandir(Path(repo) / "clusters") as entries:
            return tuple(sorted(e.name for e in entries if e.is_dir() and not e.name.startswith(".")))
    except OSError:
        return ()


@click.command("completion", cls=Explained)
@click.argument("shell", type=click.Choice(tuple(_SHELLS)), metavar="SHELL")
@click.pass_context
def command(context: click.Context, *, shell: str) -> int:
    """Print a script that makes SHELL (bash, zsh, fish) complete commands, options, files, and clusters by the folders of the
    repository. Nothing is asked over the network: names that only a cluster or a Fleet knows are typed.
    """
    terminal: Terminal = context.obj
    completer = _SHELLS[shell](context.find_root().command, {}, "gitops-mc", _VARIABLE)
    terminal.exact(
        completer.source_template % completer.source_vars()
    )  # source() would start a bash to ask its version
    return EXIT_DONE
