"""Questions to whoever sits at the terminal, and who that is."""

from __future__ import annotations

import getpass
import signal
import sys

import click

from gitops_mc.cli.terminal import Terminal


def at_the_terminal(terminal: Terminal) -> bool:
    """Whether somebody is there to be asked."""
    return terminal.interactive and sys.stdin.isatty()


def confirmed(question: str) -> bool:
    """Ask; no is the answer of an empty line. Ctrl-C ends the program here, as nothing is under way while it asks."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        return click.confirm(question, err=True)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def whoami() -> str:
    """The name that is kept with an act: the account's, as far as the machine tells."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"
