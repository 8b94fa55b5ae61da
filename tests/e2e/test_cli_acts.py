"""Human acts on a state file, by the command line: what changes is said, what would change nothing is an error."""

from __future__ import annotations

import io
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitops_mc.adapters.memory import FileMemory
from gitops_mc.cli.program import run
from gitops_mc.cli.terminal import Terminal
from gitops_mc.core.gates import PoolClocks
from gitops_mc.core.model import Content
from gitops_mc.core.rollout.memory import (
    ClusterMemory,
    Failure,
    FailureCause,
    FleetMemory,
    Halt,
    from_json,
    to_json,
)
from tests.scenarios.rollout_world import machine_config

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
STATE = ".gitops-mc-state.json"
FAILURE = Failure(Content("b" * 64), FailureCause.CONFIG, "node w1 Degraded", NOW, {"pool:worker": "x"})
HELD = FleetMemory(
    clusters={
        "edge-1": ClusterMemory(
            started=Content("b" * 64),
            begun=True,
            failure=FAILURE,
            pool_clocks={"worker": PoolClocks(mismatch="m-1")},
        )
    },
    halt=Halt("1 cluster failed", NOW, ("edge-1",)),
    clock=NOW,
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    cluster = tmp_path / "clusters/edge-1"
    cluster.mkdir(parents=True)
    (cluster / "app.yaml").write_text(machine_config("50-worker-app", files={"/etc/app.conf": "one\n"}))
    with FileMemory(tmp_path / STATE) as store:
        store.save(to_json(HELD))
    return tmp_path


def done(*arguments: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    return run(arguments, terminal=Terminal(out, err)), out.getvalue(), err.getvalue()


def memory(folder: Path) -> FleetMemory:
    with FileMemory(folder / STATE) as store:
        state = store.load()
    assert state is not None
    return from_json(state)


def test_a_release_is_said_kept_and_done_once(folder: Path) -> None:
    code, out, _ = done("release", "edge-1", "--reason", "the disk was full")
    assert (code, "edge-1 is no longer held" in out, "the halt is lifted" in out) == (0, True, True)
    after = memory(folder)
    assert after.halt is None
    assert [(a.what, a.why) for a in after.acts] == [("release edge-1", "the disk was full")]
    code, _, err = done("release", "edge-1")
    assert code == 1
    assert "has not failed" in err


def test_a_skip_is_for_the_content_in_the_repository(folder: Path) -> None:
    assert done("skip", "edge-1")[0] == 0
    skipped = memory(folder).cluster("edge-1").skipped
    assert skipped is not None
    assert done("skip", "edge-1")[0] == 1
    assert done("skip", "edge-9")[0] == 2
    assert done("skip", "edge-1", "--undo")[0] == 0
    assert memory(folder).cluster("edge-1").skipped is None


def test_an_excuse_needs_a_reason_and_an_end(folder: Path) -> None:
    assert done("excuse", "w1", "--cluster", "edge-1", "--for", "24h")[0] == 2
    assert done("excuse", "w1", "--cluster", "edge-1", "--for", "soon", "--reason", "x")[0] == 2
    code, out, _ = done("excuse", "w1", "--cluster", "edge-1", "--for", "1d12h", "--reason", "new disk")
    assert code == 0
    assert "w1 of edge-1 is excused until" in out
    (kept,) = memory(folder).cluster("edge-1").excused
    assert kept.reason == "new disk"
    assert done("excuse", "w1", "--cluster", "edge-1", "--undo")[0] == 0


def test_a_finding_is_accepted_by_its_id(folder: Path) -> None:
    assert done("accept", "m-1")[0] == 0
    assert memory(folder).cluster("edge-1").accepted == ("m-1",)
    code, _, err = done("accept", "m-2")
    assert code == 1
    assert "no gate shows a finding m-2" in err


def test_nobody_acts_while_a_rollout_holds_the_state_and_none_is_made_up(folder: Path) -> None:
    with FileMemory(folder / STATE):
        code, _, err = done("release", "--all")
    assert code == 1
    assert "is in use by process" in err
    code, _, err = done("release", "--all", "--state", "other.json")
    assert code == 1
    assert "nothing is remembered yet in other.json" in err
    assert f"--state REPO/{STATE}" in err
    assert not Path("other.json").exists()


def test_a_release_of_nobody_says_what_to_type(folder: Path) -> None:
    code, _, err = done("release", "--state", str(folder / STATE))
    assert code == 2
    assert "hint: gitops-mc release CLUSTER, or gitops-mc release --all" in err


def test_the_help_of_accept_tells_both_kinds_of_findings(capsys: pytest.CaptureFixture[str]) -> None:
    assert done("accept", "--help")[0] == 0
    out = capsys.readouterr().out
    assert "rendered config" in out
    assert "drift:KIND/NAME" in out


def test_a_retry_leaves_the_halt_and_is_done_once(folder: Path) -> None:
    code, out, _ = done("retry", "edge-1")
    assert (code, "tries content bbbbbbbbbbbb once more" in out, "the halt stays" in out) == (0, True, True)
    after = memory(folder)
    assert after.halt is not None
    assert after.cluster("edge-1").retrying
    assert done("retry", "edge-1")[0] == 1


def test_a_rollback_says_where_to_or_why_not(folder: Path) -> None:
    code, _, err = done("rollback", "edge-1")
    assert (code, "it has never passed another content" in err) == (1, True)
    assert done("rollback")[0] == 2
    passed = replace(HELD.cluster("edge-1"), passed=Content("a" * 64))
    with FileMemory(folder / STATE) as store:
        store.save(to_json(HELD.with_cluster("edge-1", passed)))
    code, out, _ = done("rollback", "--all", "--reason", "no time to mend it")
    assert (code, "edge-1 goes back to content aaaaaaaaaaaa" in out) == (0, True)
    assert memory(folder).cluster("edge-1").rollback is not None
    assert memory(folder).acts[-1].why == "no time to mend it"


def test_what_is_forgotten_without_a_connection_is_gone_from_the_state_file_alone(folder: Path) -> None:
    code, out, _ = done("forget", "edge-1")
    assert (code, "edge-1 is forgotten" in out, "the halt stays" in out) == (0, True, True)
    assert memory(folder).clusters == {}
    assert done("forget", "edge-1")[0] == 1
