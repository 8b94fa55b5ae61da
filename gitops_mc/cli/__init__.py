"""The command line. `gitops_mc.cli.program` has the table of commands; each command is a module of its own."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """The program's entry."""
    try:
        from gitops_mc.cli.program import run  # noqa: PLC0415 - who interrupts it while it loads sees no traceback either
    except KeyboardInterrupt:
        sys.exit(130)
    sys.exit(run(sys.argv[1:]))
