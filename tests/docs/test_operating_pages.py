"""What the pages on breaking glass and on adopting show is what happens: typed, and their outputs compared."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.readme import ROOT, Command, console_blocks, first_difference
from tests.docs.test_readme import Tour
from tests.docs.test_sandbox_page import write_files
from tests.e2e.fleet_site import Site, controller, site
from tests.sandbox.kubectl import GET_KUBECTL, find_kubectl
from tests.scenarios.rollout_world import machine_config

pytestmark = pytest.mark.slow
_KUBECTL = find_kubectl()


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Site]:
    with site(tmp_path) as found, controller(found):
        found.wait(lambda fleet: (fleet.get("status") or {}).get("outlook") == "hold")
        yield found


def test_a_repair_from_a_checkout_goes_as_the_page_shows_it(
    place: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place.folder)
    repaired = machine_config("50-worker-app", files={"/etc/app.conf": "repaired\n"})
    (place.folder / "work" / "clusters" / "edge-1" / "app.yaml").write_text(repaired, encoding="utf-8")
    for command in _commands("break-glass.md"):
        ended = place.run(*shlex.split(command.line)[1:])
        difference = first_difference(command.shown, ended.out + ended.err)
        assert not difference, f"$ {command.line}\n{difference}\n{ended.out}{ended.err}"


@pytest.mark.skipif(_KUBECTL is None, reason=GET_KUBECTL)
@pytest.mark.skipif(shutil.which("bash") is None, reason="the page's commands are typed into a shell")
def test_adopting_goes_as_the_page_shows_it(tmp_path: Path) -> None:
    assert _KUBECTL is not None
    tour = Tour(tmp_path)
    write_files((ROOT / "docs" / "adopting.md").read_text(encoding="utf-8"), tmp_path)
    (tmp_path / "bin" / "kubectl").symlink_to(_KUBECTL.resolve())
    try:
        for command in _commands("adopting.md"):
            difference = tour.take(command)
            assert not difference, f"$ {command.line}\n{difference}"
    finally:
        tour.end()


def _commands(page: str) -> Iterator[Command]:
    for block in console_blocks((ROOT / "docs" / page).read_text(encoding="utf-8")):
        yield from block
