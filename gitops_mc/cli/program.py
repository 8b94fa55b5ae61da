"""The program: the table of commands."""

from __future__ import annotations

from collections.abc import Sequence

import click

from gitops_mc import __version__
from gitops_mc.cli import (
    acts,
    apply,
    controller,
    demo,
    diff,
    doctor,
    fleets_orders,
    formatting,
    importing,
    notify,
    plan,
    render,
    sandbox,
    setting,
    starting,
    status,
    validate,
    why,
)
from gitops_mc.cli.errors import told
from gitops_mc.cli.terminal import Terminal
from gitops_mc.core.errors import EXIT_DONE

COMMANDS: tuple[click.Command, ...] = (
    validate.command,
    importing.command,
    starting.command,
    setting.command,
    formatting.command,
    render.command,
    diff.command,
    plan.command,
    apply.command,
    status.command,
    why.command,
    acts.release,
    acts.retry,
    acts.rollback,
    acts.skip,
    acts.excuse,
    acts.accept,
    acts.forget,
    fleets_orders.approve,
    fleets_orders.hold,
    fleets_orders.suspend,
    fleets_orders.resume,
    fleets_orders.abort,
    fleets_orders.sync,
    fleets_orders.takeover,
    fleets_orders.history,
    notify.command,
    doctor.command,
    controller.command,
    sandbox.command,
    demo.command,
)
"""One row a command, in the order in which `--help` shows them."""

EPILOG = (
    "Exit codes: 0 done, or nothing to do; 1 error; 2 wrong usage; 3 a bug of gitops-mc; 4 problems in the repository; "
    "5 changes pending (with --exit-code); 6 refused, or halted; 130 interrupted."
)


class _Table(click.Group):
    """Commands in the order of the table."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(self.commands)


def program(commands: Sequence[click.Command] = COMMANDS) -> click.Group:
    """The command line with these commands."""

    @click.group(
        cls=_Table,
        name="gitops-mc",
        epilog=EPILOG,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    )
    @click.option("--debug", is_flag=True, help="Show the traceback of a bug.")
    @click.version_option(__version__, message="%(prog)s %(version)s")
    @click.pass_obj
    def gitops_mc(terminal: Terminal, *, debug: bool) -> None:
        """GitOps for the machine configuration of a fleet of Kubernetes clusters."""
        terminal.debug = debug

    for command in commands:
        gitops_mc.add_command(command)
    return gitops_mc


def run(
    arguments: Sequence[str],
    *,
    terminal: Terminal | None = None,
    commands: Sequence[click.Command] = COMMANDS,
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
