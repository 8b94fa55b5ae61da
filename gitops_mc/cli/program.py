"""The program: its commands, its help, and how a run of it ends."""

from __future__ import annotations

from collections.abc import Sequence

import click
from click.shell_completion import CompletionItem

from gitops_mc import __version__
from gitops_mc.cli.errors import told
from gitops_mc.cli.explaining import ExplainedGroup
from gitops_mc.cli.table import COMMANDS, Commands, Row, Section
from gitops_mc.cli.terminal import Terminal
from gitops_mc.core.errors import EXIT_DONE

BEGIN = (
    "Begin with gitops-mc demo. REPO is the folder of the configuration repository, here unless it is named; "
    "gitops-mc COMMAND --help has options and examples."
)
EPILOG = (
    "Exit codes: 0 done, or nothing to do; 1 error; 2 wrong usage; 3 a bug of gitops-mc; 4 problems in the repository; "
    "5 changes pending (with --exit-code); 6 refused, or halted; 130 interrupted."
)
_WIDTH = 110
"""Columns of help at most."""


class _Program(ExplainedGroup):
    """Commands under headings, in the order of the table; neither help nor completion loads one."""

    rows: Sequence[Row] = ()

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        column = max((len(row.name) for row in self.rows), default=0)
        for section in Section:
            rows = [(row.name.ljust(column), row.told) for row in self.rows if row.section is section]
            if rows:
                with formatter.section(section.value):
                    formatter.write_dl(rows)
        if not self.rows:
            super().format_commands(ctx, formatter)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        named = [CompletionItem(row.name, help=row.told) for row in self.rows]
        options = click.Command.shell_complete(self, ctx, incomplete)
        return [item for item in named if item.value.startswith(incomplete)] + options


def program(commands: Sequence[Row | click.Command] = COMMANDS) -> click.Group:
    """The command line with these commands."""
    rows = [row for row in commands if isinstance(row, Row)]

    @click.group(
        cls=_Program,
        name="gitops-mc",
        commands=Commands(rows),
        epilog=f"{BEGIN}\n\n{EPILOG}",
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": _WIDTH},
    )
    @click.option("--debug", is_flag=True, help="Show the traceback of a bug.")
    @click.version_option(__version__, message="%(prog)s %(version)s")
    @click.pass_obj
    def gitops_mc(terminal: Terminal, *, debug: bool) -> None:
        """GitOps for the machine configuration of a fleet of Kubernetes clusters."""
        terminal.debug = debug

    gitops_mc.rows = rows
    for command in commands:
        if isinstance(command, click.Command):
            gitops_mc.add_command(command)
    return gitops_mc


def run(
    arguments: Sequence[str],
    *,
    terminal: Terminal | None = None,
    commands: Sequence[Row | click.Command] = COMMANDS,
) -> int:
    """Run one command and return the exit code. Never raises."""
    shown = terminal or Terminal()
    try:
        code = program(commands).main(
            args=list(arguments), prog_name="gitops-mc", standalone_mode=False, obj=shown
        )
    except BaseException as error:  # noqa: BLE001 - the outermost place: everything is told here, once
        return told(error, shown)
    return code if isinstance(code, int) else EXIT_DONE
