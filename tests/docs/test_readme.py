"""What the README and the page on the first rollout show is what happens: typed command by command, its outputs compared."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest

from gitops_mc.cli.program import EPILOG
from gitops_mc.cli.table import every_command
from gitops_mc.core.fleetfile import FLEET_FILE
from tests.apiserver.processes import free_port
from tests.docs.readme import PAGES, ROOT, Command, console_blocks, first_difference, section
from tests.docs.reference.commands import EXITS
from tests.e2e.demo_world import played
from tests.simulation.__main__ import simulate

TOUR = (ROOT / "docs" / "first-rollout.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_option_that_a_page_names_is_one(page: Path) -> None:
    known = {"--help", "--version", "--debug"}
    for command in (*every_command(), simulate):
        inner = list(command.commands.values()) if isinstance(command, click.Group) else [command]
        known |= {option for one in inner for p in one.params for option in (*p.opts, *p.secondary_opts)}
    ours = re.sub(
        r"^\$ (?:kubectl|gpg|helm) .*$|\bkubectl [^`]*`|^kubectl .*$",
        "",
        page.read_text(encoding="utf-8"),
        flags=re.MULTILINE,
    )
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", ours))
    assert named - known == set()


def test_every_exit_code_is_told() -> None:
    assert [str(code) for code in EXITS] == re.findall(r"(?:^|[;:] )(\d+) ", EPILOG)


def test_the_demo_says_what_the_readme_shows_of_it() -> None:
    _, _, text = played()
    [[command]] = console_blocks(section("Two commands"))
    assert command.line == "make demo"
    assert first_difference(command.shown, text) == ""


def test_the_repository_format_names_the_fleet_file_and_both_folders() -> None:
    for word in (FLEET_FILE, "clusters/", "shared/", "files/"):
        assert word in section("How it works")


@pytest.mark.skipif(shutil.which("bash") is None, reason="the tour is typed into a shell")
def test_the_tour_goes_as_it_is_written(tmp_path: Path) -> None:
    tour = Tour(tmp_path)
    try:
        for command in (command for block in console_blocks(TOUR) for command in block):
            difference = tour.take(command)
            assert not difference, f"$ {command.line}\n{difference}"
    finally:
        tour.end()


class Tour:
    """Somebody at two terminals: commands in order, the sandbox in the second one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.sandbox: subprocess.Popen[str] | None = None
        programs = folder / "bin"
        programs.mkdir()
        program = programs / "gitops-mc"
        program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m gitops_mc.cli "$@"\n')
        program.chmod(0o755)
        kept = {k: v for k, v in os.environ.items() if not k.startswith("GITOPS_MC_")}
        self.environment = {
            **kept,
            "PATH": f"{programs}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "NO_COLOR": "1",
        }
        (folder / "examples").symlink_to(ROOT / "examples")

    def take(self, command: Command) -> str:
        """Type it; how what is shown differs from what is said."""
        line = command.line.replace("18443", str(self.port))
        if line.startswith("export "):
            name, _, value = line.removeprefix("export ").partition("=")
            self.environment[name] = value
            return ""
        if line.startswith("gitops-mc sandbox start"):
            return self._start(line, command.shown)
        return first_difference(command.shown, self.said(line))

    def said(self, line: str) -> str:
        """Type it; what is said."""
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        return done.stdout + done.stderr

    def _start(self, line: str, shown: tuple[str, ...]) -> str:
        log = self.folder / "sandbox.log"
        with log.open("w") as out:
            self.sandbox = subprocess.Popen(
                shlex.split(line), cwd=self.folder, env=self.environment, stdout=out, stderr=out, text=True
            )
        for _ in range(300):
            if "Ctrl-C ends it" in log.read_text() or self.sandbox.poll() is not None:
                break
            time.sleep(0.1)
        return first_difference(shown, log.read_text())

    def end(self) -> None:
        if self.sandbox is not None:
            self.sandbox.terminate()
            self.sandbox.wait(20)
