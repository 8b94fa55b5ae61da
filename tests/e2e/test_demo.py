"""The demo: on virtual time for what it promises, and once as it is, with threads, on a clock that runs fast."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from pathlib import Path

import pytest

from gitops_mc.app.use_cases.demo.notes import Deed, NodeNote
from gitops_mc.app.use_cases.demo.play import Performance
from gitops_mc.app.use_cases.demo.story import STORY, Edit, first_files
from gitops_mc.bootstrap import example_files
from gitops_mc.cli.program import run
from gitops_mc.cli.terminal import Terminal
from gitops_mc.core.errors import EXIT_DONE, EXIT_USAGE, GitopsMcError
from tests.e2e.demo_world import played, virtual_stage


def scene(number: int) -> str:
    """What was said of one scene."""
    _, _, text = played()
    return re.split(r"^\d\. ", text, flags=re.MULTILINE)[number]


def test_everything_it_promises_comes_true() -> None:
    show, fleet, text = played()
    assert show.missed == []
    assert "NOT  " not in text
    assert fleet.failures == ()


def test_machine_config_is_installed_where_it_was_missing_before_anything_else_is_written_there() -> None:
    wrote = [line for line in scene(1).splitlines() if "edge-02" in line and "  wrote " in line]
    assert "ModuleInfo machine-config created" in wrote[0]
    assert "MachineConfiguration cluster" in wrote[1]


def test_every_node_reboots_at_most_once_and_each_reboot_was_forecast() -> None:
    show, fleet, _ = played()
    reboots = fleet.reboots()
    assert set(reboots.values()) <= {0, 1}
    assert sum(reboots.values()) == show.reboots == 7


def test_the_bad_commit_touches_the_canary_alone() -> None:
    said = scene(3)
    assert "edge-01-w1 is Degraded" in said
    assert not re.search(r"^ +\d\d:\d\d +(dc-01|edge-02|global) +(wrote|node)", said, flags=re.MULTILINE)
    assert "halted" in said


def test_the_repair_needs_no_release_and_reaches_every_cluster() -> None:
    passed = re.findall(r"^ +\d\d:\d\d +(\S+) +passed$", scene(4), flags=re.MULTILINE)
    assert passed[0] == "edge-01"
    assert passed[-1] == "global"
    assert len(passed) == 4


def test_nothing_secret_is_said() -> None:
    _, _, text = played()
    assert "not-a-real-password" not in text


def test_what_does_not_come_true_is_said_and_kept(tmp_path: Path) -> None:
    """A witness that hides reboots, and nodes that forgive the bad line: the demo must notice both."""
    honest, _ = virtual_stage(tmp_path, unforgiven="nothing has this in it")

    def hiding() -> tuple[NodeNote, ...]:
        return tuple(note for note in honest.notes() if note.deed is not Deed.REBOOTED)

    harmless = replace(STORY[2], edits=(Edit("fleet.yaml", "maxFailures: 0", "maxFailures: 0 "),))
    show = Performance(replace(honest, notes=hiding), first_files(example_files()))
    said = "".join(f"{line.text}\n" for line in show.lines((STORY[0], harmless)))
    assert (
        "NOT  edge-01: forecast 2 x Reboot, 1 x Restart chronyd.service; happened 1 x Restart chronyd.service"
        in said
    )
    assert "NOT  the gate stopped it" in said
    assert "NOT  edge-01, the canary, was written to" in said
    assert len(show.missed) == said.count("NOT  ") == 5


def test_an_example_that_the_story_was_not_written_for_is_an_error() -> None:
    edit = Edit("shared/base/files/chrony.conf", "server ntp-9.example.com", "")
    with pytest.raises(GitopsMcError, match=r"chrony\.conf"):
        edit.apply(example_files())


@pytest.mark.slow
def test_the_command_itself_on_real_threads_ends_with_0_and_keeps_what_it_is_told_to(tmp_path: Path) -> None:
    out, err = io.StringIO(), io.StringIO()
    kept = tmp_path / "kept"
    code = run(["demo", "--speed", "200", "--keep", str(kept)], terminal=Terminal(out, err, {}))
    assert code == EXIT_DONE, out.getvalue() + err.getvalue()
    assert "Everything came true: 7 reboots" in out.getvalue()
    assert err.getvalue() == ""
    assert {p.name for p in kept.iterdir()} >= {"fleet.git", "state.json"}


def test_a_folder_that_is_not_empty_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("x")
    out, err = io.StringIO(), io.StringIO()
    assert run(["demo", "--keep", str(tmp_path)], terminal=Terminal(out, err, {})) == EXIT_USAGE
    assert "is not empty" in err.getvalue()
