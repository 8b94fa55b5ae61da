"""What the page on the sandbox shows is what happens: its commands are typed, and their output is compared."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.docs.readme import ROOT, Command, console_blocks, first_difference
from tests.docs.test_readme import Tour
from tests.sandbox.kubectl import GET_KUBECTL, find_kubectl

_KUBECTL = find_kubectl()
_AGE = re.compile(r"\b(?:\d+[ydhms])+\b")


@pytest.mark.skipif(_KUBECTL is None, reason=GET_KUBECTL)
@pytest.mark.skipif(shutil.which("bash") is None, reason="the page's commands are typed into a shell")
def test_kubectl_on_the_sandbox_goes_as_the_page_shows_it(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "sandbox.md").read_text(encoding="utf-8")
    tour = Tour(tmp_path)
    write_files(text, tmp_path)
    assert _KUBECTL is not None
    (tmp_path / "bin" / "kubectl").symlink_to(_KUBECTL.resolve())
    try:
        for command in (command for block in console_blocks(text) for command in block):
            ours = command.line.startswith(("gitops-mc", "export"))
            difference = tour.take(command) if ours else _typed(tour, command)
            assert not difference, f"$ {command.line}\n{difference}"
    finally:
        tour.end()


def write_files(text: str, folder: Path) -> None:
    """The files that the page shows; the first line of each is its name."""
    for name, body in re.findall(r"^```yaml\n# (\S+)\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL):
        (folder / name).write_text(body, encoding="utf-8")


def _typed(tour: Tour, command: Command) -> str:
    return first_difference(tuple(_even(line) for line in command.shown), _even(tour.said(command.line)))


def _even(text: str) -> str:
    """Ages differ from run to run, and with them the width of columns."""
    return re.sub(r"[ \t]+", " ", _AGE.sub("AGE", text))
