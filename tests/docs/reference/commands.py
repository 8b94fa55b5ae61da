"""docs/reference/commands.md, made from the commands themselves."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Sequence

import click

from gitops_mc.cli.examples import EXAMPLES
from gitops_mc.cli.program import program
from gitops_mc.cli.table import COMMANDS, Section, every_command
from gitops_mc.core.errors import (
    EXIT_BUG,
    EXIT_CHANGES,
    EXIT_DONE,
    EXIT_ERROR,
    EXIT_INTERRUPTED,
    EXIT_PROBLEMS,
    EXIT_REFUSED,
    EXIT_USAGE,
)
from tests.docs.reference.tables import cell, code, table

_HEAD = """\
# Commands and exit codes

Made from the commands: `gitops-mc COMMAND --help` says the same. `make reference` writes this page anew.

REPO is a folder, read as it lies there, or with `--revision` a Git repository at that branch, tag or commit. `gitops-mc --debug
COMMAND` shows the traceback of a bug, `gitops-mc --version` the version.

"""

EXITS = {
    EXIT_DONE: "Done, or nothing to do.",
    EXIT_ERROR: "An error: something could not be read or reached.",
    EXIT_USAGE: "Wrong usage.",
    EXIT_BUG: "A bug of gitops-mc.",
    EXIT_PROBLEMS: "Problems in the repository.",
    EXIT_CHANGES: "Changes are pending (with `--exit-code`).",
    EXIT_REFUSED: "Refused, or halted, or a human has to act.",
    EXIT_INTERRUPTED: "Interrupted.",
}


def commands_page() -> str:
    """The page as Markdown."""
    exits = table(("exit", "meaning"), [(str(n), told) for n, told in EXITS.items()])
    lists = "".join(f"{section.value}:\n\n{_list(section)}\n" for section in Section)
    sections = "".join(_section(*each) for each in named_commands(every_command()))
    return f"{_HEAD}{lists}## Exit codes\n\n{exits}{sections}"


def named_commands(commands: Sequence[click.Command]) -> Iterator[tuple[str, click.Command, click.Context]]:
    """Every command that does something, with its words; of a group those below it."""
    return _named(commands, click.Context(program(), info_name="gitops-mc"))


def _list(section: Section) -> str:
    commands = [row.load() for row in COMMANDS if row.section is section]
    rows = [
        (f"[`{path}`](#{_anchor(path)})", cell(command.get_short_help_str(120)))
        for path, command, _ in named_commands(commands)
    ]
    return table(("command", ""), rows)


def _named(
    commands: Sequence[click.Command], parent: click.Context
) -> Iterator[tuple[str, click.Command, click.Context]]:
    """Every command that does something, with its words."""
    for command in commands:
        context = click.Context(command, info_name=command.name, parent=parent)
        if isinstance(command, click.Group):
            yield from _named(list(command.commands.values()), context)
        else:
            yield context.command_path, command, context


def _anchor(path: str) -> str:
    return path.replace(" ", "-")


def _section(path: str, command: click.Command, context: click.Context) -> str:
    usage = " ".join((path, *command.collect_usage_pieces(context)))
    rows = [
        (", ".join(code(name) for name in (*option.opts, *option.secondary_opts)), *_option(option, context))
        for option in command.params
        if isinstance(option, click.Option)
    ]
    options = f"\n{table(('option', 'value', 'meaning'), rows)}" if rows else ""
    return f"\n## {path}\n\n```\n{usage}\n```\n\n{_prose(command.help or '')}{options}{_examples(path)}"


def _examples(path: str) -> str:
    found = EXAMPLES.get(path.removeprefix("gitops-mc "), ())
    lines = "".join(f"# {each.purpose}\n{each.typed}\n" for each in found)
    return f"\n```shell\n{lines}```\n" if found else ""


def _prose(text: str) -> str:
    """Paragraphs as they are; what Markdown would take for something else stands as it is typed."""
    paragraphs = re.split(r"\n\s*\n", inspect.cleandoc(text.replace("\b", "")))
    return "".join(f"{' '.join(p.split())}\n\n" for p in paragraphs).replace("<", "\\<").rstrip("\n") + "\n"


def _option(option: click.Option, context: click.Context) -> tuple[str, str]:
    if option.is_flag:
        value = ""
    elif isinstance(option.type, click.Choice):
        value = ", ".join(code(str(choice)) for choice in option.type.choices)
    else:
        value = code(option.metavar or option.type.name.upper())
    if option.multiple:
        value += ", may be repeated"
    told = [cell(option.help or "")]
    if option.required:
        told.append("Required.")
    if isinstance(option.envvar, str):
        told.append(f"Environment: `{option.envvar}`.")
    default = option.get_default(context)
    if option.show_default and default is not None:
        told.append(f"Default: `{default}`.")
    if isinstance(option.type, click.FloatRange | click.IntRange):
        told.append(f"From {option.type.min} to {option.type.max}.")
    return value, " ".join(told)
