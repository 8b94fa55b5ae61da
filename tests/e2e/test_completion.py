"""What a shell completes, asked of a real bash, and of the others where they are there."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from gitops_mc.cli.examples import ENVIRONMENT, EXAMPLES
from gitops_mc.cli.program import program
from gitops_mc.cli.table import COMMANDS
from tests.e2e.program import Place, plain_environment

_BASH = shutil.which("bash")
_ASK = """
eval "$(gitops-mc completion bash)"
spec=$(complete -p gitops-mc)
COMP_WORDS=({words})
COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
function_name=$(sed -E 's/.*-F ([^ ]+).*/\\1/' <<< "$spec")
compopt() {{ printf 'compopt %s %s\\n' "$@"; }}
"$function_name" gitops-mc
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
"""What readline does at a tab; `compopt` is only allowed inside of it."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("completion")
    for name in (
        "clusters/edge-01",
        "clusters/edge-02",
        "clusters/global",
        "clusters/.git",
        "other/clusters/dc-01",
    ):
        (folder / name).mkdir(parents=True)
    (folder / "clusters" / "README.md").write_text("no cluster\n")
    program_file = folder / "bin" / "gitops-mc"
    program_file.parent.mkdir()
    program_file.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m gitops_mc.cli "$@"\n')
    program_file.chmod(0o755)
    return folder


def at_a_tab(folder: Path, *words: str) -> list[str]:
    """What bash offers for a line of these words, the last of which is not ended."""
    assert _BASH is not None
    environment = plain_environment()
    done = subprocess.run(
        [_BASH, "--norc", "-c", _ASK.format(words=shlex.join(("gitops-mc", *words)))],
        cwd=folder,
        env={**environment, "PATH": f"{folder / 'bin'}{os.pathsep}{environment['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return [line for line in done.stdout.splitlines() if line]


needs_bash = pytest.mark.skipif(_BASH is None, reason="there is no bash here")


@needs_bash
def test_bash_completes_every_command(place: Path) -> None:
    assert at_a_tab(place, "") == [row.name for row in COMMANDS]
    assert at_a_tab(place, "re") == [row.name for row in COMMANDS if row.name.startswith("re")]
    assert sorted(at_a_tab(place, "sandbox", "")) == ["faults", "start"]


@needs_bash
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["plan", "--ga"], ["--gateway"]),
        (["plan", "-o", ""], ["text", "json", "markdown"]),
        (["plan", "--cluster", ""], ["edge-01", "edge-02", "global"]),
        (["plan", "--cluster", "edge"], ["edge-01", "edge-02"]),
        (["plan", "other", "--cluster", ""], ["dc-01"]),
        (["release", "g"], ["global"]),
        (["why", "edge-0"], ["edge-01", "edge-02"]),
        (["excuse", "n1", "--cluster", "g"], ["global"]),
        (["approve", "edge-01", "--fleet", ""], []),
        (["validate", ""], ["compopt -o dirnames"]),
        (["plan", "--token-file", ""], ["compopt -o default"]),
        (["completion", ""], ["bash", "zsh", "fish"]),
    ],
    ids=" ".join,
)
def test_bash_completes_options_values_and_the_clusters_that_lie_here(
    place: Path, words: list[str], offered: list[str]
) -> None:
    assert at_a_tab(place, *words) == offered


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_what_is_printed_is_understood_by_its_shell(tmp_path: Path, shell: str) -> None:
    said = Place(tmp_path).run("completion", shell)
    assert (said.code, said.err) == (0, "")
    assert "_GITOPS_MC_COMPLETE" in said.out
    there = shutil.which(shell)
    if there is None:
        pytest.skip(f"there is no {shell} here: what it would make of the script was not asked")
    done = subprocess.run([there, "-n"], input=said.out, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_another_shell_is_wrong_usage(tmp_path: Path) -> None:
    said = Place(tmp_path).here("completion", "tcsh")
    assert said.code == 2
    assert "bash" in said.err


@pytest.mark.parametrize(
    "line", [each.typed for examples in EXAMPLES.values() for each in examples], ids=lambda line: line[:60]
)
def test_every_example_of_a_help_text_is_understood(line: str) -> None:
    typed = line.partition(" > ")[0].removeprefix('eval "$(').removesuffix(')"')
    _, name, *arguments = shlex.split(typed)
    command = program().commands[name]
    while isinstance(command, click.Group):
        name, *arguments = arguments
        command = command.commands[name]
    with click.Context(command, info_name=name):
        command.make_context(name, arguments)


def test_examples_stand_at_the_end_of_the_help_of_the_command_that_they_type() -> None:
    for name, examples in EXAMPLES.items():
        assert all(f"gitops-mc {name}" in each.typed for each in examples)
        lines = [line.strip() for line in help_of(name).splitlines()]
        end = [line for each in examples for line in (f"# {each.purpose}", each.typed)]
        assert lines[lines.index("Examples:") + 1 :] in (end, [*end, ENVIRONMENT]), (
            "no line of an example is broken"
        )


@pytest.mark.parametrize("name", [row.name for row in COMMANDS])
def test_help_fits_a_terminal_of_80_columns_but_for_examples(name: str) -> None:
    text = help_of(name).partition("Examples:")[0]
    assert [line for line in text.splitlines() if len(line) > 80] == []


@pytest.mark.parametrize("name", [row.name for row in COMMANDS])
def test_help_breaks_no_name_at_its_hyphen(name: str) -> None:
    assert [line for line in help_of(name).splitlines() if re.search(r"\w-$", line)] == []


def test_what_commands_share_stands_below_what_is_their_own() -> None:
    text = help_of("release")
    own, fleet, reach = text.index("\nOptions:"), text.index("Fleet:\n"), text.index("Reaching the clusters:")
    assert (
        own < text.index("  --all") < fleet < text.index("  --namespace") < reach < text.index("  --gateway")
    )
    assert "Fleet:\n" not in help_of("apply"), "its --now is its own"


def help_of(name: str) -> str:
    """At 80 columns."""
    command = program().commands[name]
    context = command.context_class(
        command, info_name=f"gitops-mc {name}", terminal_width=80, max_content_width=110
    )
    return command.get_help(context)
