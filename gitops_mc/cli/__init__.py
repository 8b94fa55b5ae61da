"""The command line. `gitops_mc.cli.program` has the table of commands; each command is a module of its own."""

from __future__ import annotations

import sys

from gitops_mc.cli.program import run

__all__ = ["main"]


def main() -> None:
    """The program's entry."""
    sys.exit(run(sys.argv[1:]))
