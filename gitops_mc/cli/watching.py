"""`--watch`: the same command again, whenever a file of the repository changes."""

from __future__ import annotations

from collections.abc import Callable

from gitops_mc.bootstrap import watch_repository
from gitops_mc.cli.errors import error_lines
from gitops_mc.cli.terminal import Terminal
from gitops_mc.core.errors import EXIT_DONE, GitopsMcError, UsageError
from gitops_mc.core.render.lines import Line, Tone, visible

_SHOWN = 3


def again_and_again(terminal: Terminal, repo: str, revision: str | None, once: Callable[[], int]) -> int:
    """Run until interrupted (exit 130) or until nobody reads any more. Errors of a single run are told and waited out: the
    next change may mend them.
    """
    changes = watch_repository(repo, revision)
    next(changes)  # watching has begun: nothing that happens during the run is missed
    _carefully(terminal, once)
    for changed in changes:
        if terminal.closed:
            break
        more = f" and {len(changed) - _SHOWN} more" if len(changed) > _SHOWN else ""
        terminal.say(Line(visible(f"--- again: {', '.join(changed[:_SHOWN])}{more} changed"), Tone.DIM))
        _carefully(terminal, once)
    return EXIT_DONE


def _carefully(terminal: Terminal, once: Callable[[], int]) -> None:
    try:
        once()
    except UsageError:
        raise
    except GitopsMcError as error:
        terminal.say(*error_lines(error))
