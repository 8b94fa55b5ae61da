"""Numbers and names that the pages tell are those of the code."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest

from gitops_mc.bootstrap import STATE_FILE
from gitops_mc.core.desired.reading_rules import READING_RULES
from gitops_mc.core.model import ADOPT_ANNOTATION, DOWNGRADE_ANNOTATION, PRUNE_ANNOTATION, Kind
from gitops_mc.core.policy import DEFAULT_POLICY, PoolGatePolicy
from gitops_mc.core.rules.table import RULES
from tests.docs.readme import ROOT

FORMAT = (ROOT / "docs" / "repository-format.md").read_text(encoding="utf-8")
GATES = (ROOT / "docs" / "gates.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")


def short(span: timedelta) -> str:
    seconds = int(span.total_seconds())
    return f"{seconds}s" if seconds < 60 else f"{seconds // 60}m"


ROLLOUT, POOL, MODULE = DEFAULT_POLICY.rollout, DEFAULT_POLICY.gates.pool, DEFAULT_POLICY.gates.module
DEFAULTS = {
    "`metadata.name`": DEFAULT_POLICY.name,
    "`rollout.maxFailures`": str(ROLLOUT.max_failures),
    "`rollout.maxUnreachable`": str(ROLLOUT.max_unreachable),
    "`rollout.onFailure`": ROLLOUT.on_failure.value,
    "`rollout.poolOrder`": f"[{', '.join(kind.value for kind in ROLLOUT.pool_order)}]",
    "`rollout.requirePreview`": str(ROLLOUT.require_preview).lower(),
    "`gates.pool.settle`": short(POOL.settle),
    "`gates.pool.stall`": short(POOL.stall),
    "`gates.pool.perNode`": short(POOL.per_node),
    "`gates.module.timeout`, `.publishTimeout`": short(MODULE.timeout),
    "`gates.unreachableAfter`": short(DEFAULT_POLICY.gates.unreachable_after),
}


@pytest.mark.parametrize("field", DEFAULTS)
def test_a_default_of_fleet_yaml_is_the_one_that_holds(field: str) -> None:
    assert f"| {field} | `{DEFAULTS[field]}` |" in FORMAT


def test_both_time_outs_of_modules_are_the_same_as_the_page_says() -> None:
    assert MODULE.timeout == MODULE.publish_timeout


def test_prune_is_off_and_limited_as_the_page_says() -> None:
    assert "| `prune.enabled`, `.maxDeletes` | `false`, `5` |" in FORMAT
    assert (DEFAULT_POLICY.prune.enabled, DEFAULT_POLICY.prune.max_deletes) == (False, 5)


def test_the_annotations_are_those_that_have_a_meaning() -> None:
    told = set(re.findall(r"^\| `(gitops-mc\.io/[a-z-]+)` \|", FORMAT, flags=re.MULTILINE))
    assert told == {PRUNE_ANNOTATION, ADOPT_ANNOTATION, DOWNGRADE_ANNOTATION}


@pytest.mark.parametrize("kind", Kind)
def test_every_managed_kind_is_named(kind: Kind) -> None:
    assert kind.value in README
    assert kind.value in FORMAT


def test_degraded_is_a_failure_after_the_time_that_the_page_says() -> None:
    assert "Degraded or RenderDegraded lasts longer than a minute" in GATES
    assert PoolGatePolicy().debounce == timedelta(minutes=1)


def test_the_state_file_is_called_as_the_pages_say() -> None:
    for page in ("docs/apply.md", "docs/state.md"):
        assert f"`{STATE_FILE}`" in (ROOT / page).read_text(encoding="utf-8")


def test_there_are_as_many_rules_as_the_changelog_claims() -> None:
    assert len(READING_RULES) + len(RULES) > 100
    assert "more than a hundred rules" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_every_place_in_the_code_that_the_architecture_names_is_there() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:core|app|adapters|sandbox|cli)/[a-z_/.]+)`", text)
    assert len(named) > 5
    assert [path for path in named if not (ROOT / "gitops_mc" / path).exists()] == []
