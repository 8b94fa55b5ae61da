"""What the page on writing the repository shows is what happens: its commands are typed, and their output is compared."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from gitops_mc.core.authoring.importing import Secrets
from tests.docs.readme import ROOT, Command, console_blocks, first_difference
from tests.docs.test_readme import Tour
from tests.sandbox.kubectl import GET_KUBECTL, find_kubectl

PAGE = (ROOT / "docs" / "authoring.md").read_text(encoding="utf-8")
WITH_A_CLUSTER, WITHOUT = PAGE.split("## From nothing\n")
_KUBECTL = find_kubectl()
_needs_bash = pytest.mark.skipif(
    shutil.which("bash") is None, reason="the page's commands are typed into a shell"
)


@pytest.mark.skipif(_KUBECTL is None, reason=GET_KUBECTL)
@_needs_bash
def test_an_import_goes_as_the_page_shows_it(tmp_path: Path) -> None:
    tour = Tour(tmp_path)
    assert _KUBECTL is not None
    (tmp_path / "bin" / "kubectl").symlink_to(_KUBECTL.resolve())
    for name, body in re.findall(r"^```yaml\n# (\S+)\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL):
        (tmp_path / name).write_text(body, encoding="utf-8")
    _take(tour, WITH_A_CLUSTER)


@pytest.mark.slow
@_needs_bash
def test_writing_without_a_cluster_goes_as_the_page_shows_it(tmp_path: Path) -> None:
    _take(Tour(tmp_path), WITHOUT)


def _take(tour: Tour, text: str) -> None:
    try:
        for command in (command for block in console_blocks(text) for command in block):
            difference = tour.take(command) if _ours(command) else _typed(tour, command)
            assert not difference, f"$ {command.line}\n{difference}"
    finally:
        tour.end()


def _ours(command: Command) -> bool:
    return command.line.startswith(("gitops-mc", "export"))


def _typed(tour: Tour, command: Command) -> str:
    return first_difference(command.shown, tour.said(command.line))


def test_what_becomes_of_secrets_is_named() -> None:
    assert f"`--secrets {Secrets.LEAVE_OUT.value}`" in PAGE
