"""Every way to end has its own exit code, and says on standard error what happened and what to do."""

from __future__ import annotations

import io
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from gitops_mc.cli.program import run
from gitops_mc.cli.table import COMMANDS, every_command
from gitops_mc.cli.terminal import Terminal
from gitops_mc.core.errors import (
    GitopsMcError,
    InputProblemsError,
    RefusedError,
    SourceError,
    UnreachableError,
    UsageError,
)
from gitops_mc.core.model import FleetScope, Place, Problem
from gitops_mc.core.policy import ObjectPattern, Sensitive
from tests.e2e.program import PROGRAM, plain_environment, said, watching
from tests.e2e.program import Place as Where
from tests.scenarios.rollout_world import machine_config

SECRET = "correct-horse-battery"


def ended(action: Callable[[], object], *before: str) -> tuple[int, str]:
    """Exit code and standard error of a command that does this."""

    @click.command("act")
    @click.pass_obj
    def command(terminal: Terminal) -> object:
        body = {"kind": "ModuleInfo", "metadata": {"labels": {"cpaas.io/module-name": "m"}}}
        patterns = Sensitive(modules=(ObjectPattern("*", "/password"),))
        terminal.learn(patterns, [{**body, "spec": {"config": {"password": SECRET}}}])
        return action()

    out, err = io.StringIO(), io.StringIO()
    code = run([*before, "act"], terminal=Terminal(out, err), commands=[command])
    assert out.getvalue() == ""
    return code, err.getvalue()


def raising(error: BaseException) -> Callable[[], object]:
    def action() -> object:
        raise error

    return action


PROBLEM = Problem(Place("a.yaml", 1, 2), "some-rule", "spec", "is wrong", "mend it", FleetScope())

USAGE_TOLD = """\
Usage: gitops-mc act [OPTIONS]
error: what?
hint: gitops-mc act --help
"""
PROBLEM_TOLD = """\
a.yaml:1:2: error: spec: is wrong [some-rule] (fleet)
    mend it
error: 1 problem in the repository
"""


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (GitopsMcError("broken", hint="mend it"), 1, "error: broken\nhint: mend it\n"),
        (SourceError("no such folder"), 1, "error: no such folder\n"),
        (UnreachableError("edge-1: no answer"), 1, "error: edge-1: no answer\n"),
        (UsageError("two ways", hint="give one"), 2, "error: two ways\nhint: give one\n"),
        (click.UsageError("what?"), 2, USAGE_TOLD),
        (
            InputProblemsError([PROBLEM]),
            4,
            PROBLEM_TOLD,
        ),
        (RefusedError("6 deletions, 5 allowed"), 6, "error: 6 deletions, 5 allowed\n"),
        (KeyboardInterrupt(), 130, "interrupted\n"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_expected_errors_and_interrupts_have_their_own_exits(
    error: BaseException, code: int, message: str
) -> None:
    found, err = ended(raising(error))
    assert (found, err.lstrip("\n")) == (code, message)


def test_what_a_command_returns_is_the_exit_code() -> None:
    assert ended(lambda: 5) == (5, "")
    assert ended(lambda: None) == (0, "")


def test_a_bug_is_exit_3_without_its_text_and_without_a_traceback() -> None:
    code, err = ended(raising(ValueError("internal detail")))
    assert code == 3
    assert "bug: gitops-mc" in err
    assert "ValueError" in err
    assert "internal detail" not in err
    assert "Traceback" not in err


def test_a_bug_shows_its_traceback_with_debug_but_nothing_sensitive() -> None:
    code, err = ended(raising(ValueError(f"password is {SECRET}")), "--debug")
    assert code == 3
    assert "Traceback" in err
    assert "[sensitive, 21 bytes]" in err
    assert SECRET not in err


def test_an_expected_error_says_nothing_sensitive() -> None:
    code, err = ended(raising(GitopsMcError(f"422: {SECRET} is no number", hint=f"not {SECRET}")))
    assert code == 1
    assert SECRET not in err


def test_every_command_has_a_summary_and_an_explanation() -> None:
    for command in every_command():
        assert command.short_help
        assert command.help
        for parameter in command.params:
            assert isinstance(parameter, click.Argument) or getattr(parameter, "help", None), parameter.name


def test_wrong_usage_is_exit_2_with_the_way_to_help(tmp_path: Path) -> None:
    place = Where(tmp_path)
    assert place.run("validate", "--no-such").code == 2
    for arguments in (["validate", "--no-such"], ["nonsense"], ["validate", "-o", "xml"], ["plan"], []):
        done = place.here(*arguments)
        assert done.code == 2, arguments
        assert "Traceback" not in done.err
    assert "did you mean" in place.here("validate", "--wach").err.lower()
    assert "gitops-mc validate --help" in place.here("validate", "--no-such").err


def test_help_and_version_are_exit_0(tmp_path: Path) -> None:
    place = Where(tmp_path)
    told = place.run("--help")
    assert told.code == 0
    assert all(f"  {row.name} " in told.out and row.told in told.out for row in COMMANDS)
    assert place.here("validate", "--help").code == 0
    assert place.here("--version").code == 0


def test_a_missing_folder_is_exit_1(tmp_path: Path) -> None:
    done = Where(tmp_path).run("validate", "nowhere")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("error: there is no folder nowhere\nhint: ")


def test_a_file_where_a_folder_is_wanted_is_exit_1_and_told_as_one(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# a fleet\n")
    done = Where(tmp_path).run("validate", "README.md")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("error: README.md is a file\nhint: name the folder")


def test_a_reader_that_goes_away_is_no_error_and_changes_no_exit_code(tmp_path: Path) -> None:
    place = Where(tmp_path)
    place.write({f"clusters/edge-{n}/bad.yaml": machine_config("00-worker-x") for n in range(300)})
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [*PROGRAM, "validate"],
        cwd=tmp_path,
        env=plain_environment(),
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
        text=True,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (4, "")


def test_an_interrupt_is_exit_130(tmp_path: Path) -> None:
    place = Where(tmp_path)
    place.write({f"clusters/edge-{n}/a.yaml": machine_config("50-worker-a") for n in (1, 2)})
    with watching(tmp_path) as process:
        said(process, "objects:")
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
        assert process.stderr is not None
        assert process.stderr.read().strip() == "interrupted"
