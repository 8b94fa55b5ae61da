"""The one place where errors become messages and exit codes."""

from __future__ import annotations

import traceback

import click

from gitops_mc import __version__
from gitops_mc.cli.terminal import Terminal
from gitops_mc.core.errors import (
    EXIT_BUG,
    EXIT_INTERRUPTED,
    EXIT_USAGE,
    GitopsMcError,
    InputProblemsError,
)
from gitops_mc.core.render.lines import Line, Tone, visible


def told(error: BaseException, terminal: Terminal) -> int:
    """Say what went wrong; the exit code."""
    match error:
        case SystemExit(code=int() as code):
            return code
        case KeyboardInterrupt() | click.Abort():
            terminal.say(Line("interrupted", Tone.WARN))
            return EXIT_INTERRUPTED
        case click.ClickException():
            terminal.say(*_usage(error))
            return EXIT_USAGE
        case InputProblemsError():
            from gitops_mc.core.render.problems import problems_text  # noqa: PLC0415 - the reader of Git comes along

            terminal.say(*problems_text(error.problems), Line(f"error: {error.message}", Tone.BAD))
            return error.exit_code
        case GitopsMcError():
            terminal.say(*error_lines(error))
            return error.exit_code
        case _:
            terminal.say(*_bug(error, terminal))
            return EXIT_BUG


def error_lines(error: GitopsMcError) -> tuple[Line, ...]:
    """An expected error for people: what, and what to do."""
    hint = (Line(f"hint: {visible(error.hint)}", Tone.DIM),) if error.hint else ()
    return (Line(f"error: {visible(error.message)}", Tone.BAD), *hint)


def _usage(error: click.ClickException) -> tuple[Line, ...]:
    context = error.ctx if isinstance(error, click.UsageError) else None
    told = Line(f"error: {error.format_message()}", Tone.BAD)
    if context is None:
        return (told,)
    return (
        *(Line(line) for line in context.get_usage().splitlines()),
        told,
        Line(f"hint: {context.command_path} --help", Tone.DIM),
    )


def _bug(error: BaseException, terminal: Terminal) -> tuple[Line, ...]:
    """The text of an unexpected error may hold anything: it is shown only on demand."""
    told = Line(f"bug: gitops-mc {__version__} failed unexpectedly ({type(error).__name__})", Tone.BAD)
    if not terminal.debug:
        return (told, Line("hint: run again with gitops-mc --debug ..., and report what it shows", Tone.DIM))
    trace = "".join(traceback.format_exception(error))
    return (told, *(Line(visible(line)) for line in trace.splitlines()))
