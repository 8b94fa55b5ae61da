"""How a rollback is told: by status, from the memory alone, and with the JSON beside it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from gitops_mc.core.model import Commit, Content
from gitops_mc.core.render.status_json import status_json
from gitops_mc.core.render.status_text import status_text
from gitops_mc.core.rollout.driver import Driver
from gitops_mc.core.rollout.memory import ClusterMemory, Failure, FailureCause, FleetMemory, Rollback

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
OLD, BAD = Content("a" * 64), Content("b" * 64)
FAILURE = Failure(BAD, FailureCause.CONFIG, "node w1 Degraded", NOW, {"pool:worker": "x"})
BACK = ClusterMemory(
    started=OLD,
    admitted_at=NOW,
    passed=OLD,
    passed_at=NOW,
    rollback=Rollback(FAILURE, Commit("c" * 40), OLD, Commit("d" * 40), NOW, by="mei"),
)


def test_a_cluster_that_was_rolled_back_has_not_passed_and_says_what_is_held() -> None:
    told = status_json(FleetMemory(clusters={"edge-1": BACK}), NOW, None, Driver.NOBODY)
    (cluster,) = told["clusters"]
    assert cluster["standing"] == "failed"
    assert cluster["rollback"]["to"] == {"content": OLD, "commit": "d" * 40}
    assert cluster["rollback"]["held"]["content"] == BAD
    assert cluster["rollback"]["by"] == "mei"
    text = "\n".join(line.text for line in status_text(told, NOW))
    assert "rolled back from bbbbbbbbbbbb (commit cccccccccccc), held: node w1 Degraded" in text
    assert "gitops-mc retry edge-1, or newer content that changes pool worker" in text


def test_one_that_tries_once_more_says_so() -> None:
    trying = replace(BACK, rollback=None, retrying=True)
    told = status_json(FleetMemory(clusters={"edge-1": trying}), NOW, None, Driver.NOBODY)
    assert any("tries once more what failed" in line.text for line in status_text(told, NOW))
