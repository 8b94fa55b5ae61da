"""man/gitops-mc.1, made from the commands: `make reference` writes it anew."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import click

from gitops_mc import __version__
from gitops_mc.cli.examples import EXAMPLES
from gitops_mc.cli.table import COMMANDS, Section, every_command
from tests.docs.reference.commands import EXITS, named_commands

PAGE = Path(__file__).parents[2] / "man" / "gitops-mc.1"

_HEAD = """\
.\\" Made from the commands: make reference
.TH GITOPS-MC 1 "" "gitops-mc {version}" "User Commands"
.SH NAME
gitops\\-mc \\- GitOps for the machine configuration of a fleet of Kubernetes clusters
.SH SYNOPSIS
.B gitops\\-mc
[\\fB\\-\\-debug\\fR] \\fICOMMAND\\fR [\\fIARGUMENTS\\fR]
.SH DESCRIPTION
"""


def man_page() -> str:
    """The page as roff."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield _HEAD.format(version=__version__).rstrip()
    yield _text(
        "Keeps the machine configuration of a fleet of clusters in one Git repository, shows before anything happens what changes "
        "on which node, and rolls it out wave by wave, each gated by the health of the pools. REPO is the folder of that "
        "repository, the working folder unless it is named."
    )
    for section in Section:
        yield f".SS {_text(section.value)}"
        for row in COMMANDS:
            if row.section is section:
                yield from (".TP", f".B {_text(row.name)}", _text(row.told))
    yield ".SH COMMANDS"
    for path, command, context in named_commands(every_command()):
        yield from _command(path, command, context)
    yield from _ends()


def _command(path: str, command: click.Command, context: click.Context) -> Iterator[str]:
    yield f".SS {_text(' '.join((path, *command.collect_usage_pieces(context))))}"
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc((command.help or "").replace("\b", ""))):
        yield from (".PP", _text(" ".join(paragraph.split())))
    for option in command.params:
        record = option.get_help_record(context) if isinstance(option, click.Option) else None
        if record is not None:
            name, told = record
            yield from (".TP", f"\\fB{_text(name)}\\fR", _text(" ".join(told.split())))
    if examples := EXAMPLES.get(path.removeprefix("gitops-mc "), ()):
        yield from (".PP", "Examples:", ".PP", ".nf", ".RS")
        for each in examples:
            yield from (_text(f"# {each.purpose}"), _text(each.typed))
        yield from (".RE", ".fi")


def _ends() -> Iterator[str]:
    yield ".SH EXIT STATUS"
    for code, told in EXITS.items():
        yield from (".TP", f".B {code}", _text(told.replace("`", "")))
    yield ".SH ENVIRONMENT"
    named: dict[str, str] = {}
    for _, command, _ in named_commands(every_command()):
        for option in command.params:
            if isinstance(option, click.Option) and isinstance(option.envvar, str):
                named.setdefault(option.envvar, max(option.opts, key=len))
    for variable, spelled in sorted(named.items()):
        yield from (".TP", f".B {variable}", _text(f"The same as {spelled}."))
    yield from (".TP", ".B NO_COLOR", "No colours, whatever its value.")
    yield ".SH FILES"
    yield from (".TP", ".B \\&.gitops\\-mc\\-state.json", "What a rollout remembers, in the folder REPO.")


def _text(text: str) -> str:
    """Nothing in it is taken for a request or an escape."""
    plain = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{plain}" if plain.startswith((".", "'")) else plain


def write() -> None:
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(man_page(), encoding="utf-8")
