"""Plans and diffs as text, JSON and Markdown, held against golden files made from the embedded fleet.

After a change that is meant: UPDATE_GOLDEN=1 pytest -n0 tests/core/test_render_plan.py, and read the difference.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from gitops_mc.app.use_cases.planning import ask_nobody
from gitops_mc.core.plan import Refusal
from gitops_mc.core.render.diff_json import diff_json
from gitops_mc.core.render.diff_text import diff_text
from gitops_mc.core.render.differences import ClusterDifference, differences
from gitops_mc.core.render.lines import text_of
from gitops_mc.core.render.plan_json import plan_json
from gitops_mc.core.render.plan_markdown import LIMIT, plan_markdown
from gitops_mc.core.render.plan_text import plan_text
from gitops_mc.core.rollout.preview import ClusterPreview, FleetPreview
from gitops_mc.sandbox.fleet import simple_fleet
from tests.app.preview_world import SECRETS, look, planned, redactor
from tests.scenarios.rollout_world import UNIT, RolloutWorld, machine_config

DATA = Path("tests/data/render")


def found() -> FleetPreview:
    return planned()[1].preview


def compared() -> list[ClusterDifference]:
    state, plan = planned()
    return [differences(cluster, state.policy) for cluster in plan.preview.clusters]


def _plan_text() -> str:
    return redactor().redact(text_of(plan_text(found())))


def _plan_json() -> str:
    return json.dumps(redactor().redact_json(plan_json(found())), indent=2) + "\n"


def _plan_markdown() -> str:
    return plan_markdown(found(), redactor().redact)


def _diff_text() -> str:
    return redactor().redact(text_of(diff_text(compared())))


def _diff_json() -> str:
    return json.dumps(redactor().redact_json(diff_json(compared())), indent=2) + "\n"


RENDERED: dict[str, Callable[[], str]] = {
    "plan.txt": _plan_text,
    "plan.json": _plan_json,
    "plan.md": _plan_markdown,
    "diff.txt": _diff_text,
    "diff.json": _diff_json,
}


@pytest.mark.parametrize("name", RENDERED)
def test_what_is_shown_is_the_golden_file(name: str) -> None:
    shown = RENDERED[name]()
    file = DATA / name
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(shown, encoding="utf-8")
    assert shown == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", RENDERED)
def test_nothing_sensitive_is_shown_in_any_format(name: str) -> None:
    shown = RENDERED[name]()
    assert [secret for secret in SECRETS if secret in shown] == []


@pytest.mark.parametrize(
    "make", [lambda: text_of(diff_text(compared())), lambda: json.dumps(diff_json(compared()))]
)
def test_a_diff_shows_nothing_sensitive_even_before_the_redactor(make: Callable[[], str]) -> None:
    shown = make()
    assert [secret for secret in SECRETS if secret in shown] == []
    assert "changed, 9 bytes" in shown  # the module's password


def golden() -> str:
    return "".join(make() for make in RENDERED.values())


def large() -> str:
    """A plan of 500 objects on five clusters, in every format."""
    files = {
        f"clusters/edge-{c}/{n:02}.yaml": machine_config(
            f"{n:02}-worker-topic", files={f"/etc/topic-{n}": f"{c} {n}\n"}, **{f"topic-{n}_service": UNIT}
        )
        for c in range(1, 6)
        for n in range(100)
        if n
    }
    extra = {f"clusters/edge-{c}/99-more.yaml": machine_config("99-worker-more") for c in range(1, 6)}
    names = [f"edge-{c}" for c in range(1, 6)]
    state, plan = look(RolloutWorld(simple_fleet(*names), files={**files, **extra}), asking=ask_nobody)
    shown = [differences(c, state.policy) for c in plan.preview.clusters]
    assert sum(len(d.changes) for d in shown) == 500
    return (
        text_of(plan_text(plan.preview))
        + json.dumps(plan_json(plan.preview))
        + plan_markdown(plan.preview, lambda text: text)
        + text_of(diff_text(shown))
    )


@pytest.mark.parametrize("made", [golden, large])
def test_another_process_with_another_hash_seed_shows_the_same_bytes(made: Callable[[], str]) -> None:
    script = f"import sys; from tests.core.test_render_plan import *; sys.stdout.write({made.__name__}())"
    other = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONHASHSEED": "4711", "PYTHONPATH": ".", "PYTHONUTF8": "1"},
        capture_output=True,
        check=True,
    )
    assert other.stdout.decode() == made()


def test_an_unknown_cluster_is_never_shown_as_no_change() -> None:
    for line in (*_plan_text().splitlines(), *_plan_markdown().splitlines(), *_diff_text().splitlines()):
        if "edge-3" in line and "wave" not in line.lower().split("|")[0]:
            assert "no change" not in line
            assert "no difference" not in line
    assert "edge-3: unknown: " in _plan_text()
    assert "edge-3: unknown: " in _diff_text()


def test_the_digest_is_the_last_line_of_a_plan() -> None:
    assert _plan_text().splitlines()[-1] == f"plan digest: {found().digest}"
    assert _plan_markdown().splitlines()[-1] == f"plan digest: `{found().digest}`"


def many(number: int, change: Callable[[ClusterPreview], ClusterPreview]) -> FleetPreview:
    """The golden plan with its first cluster many times over."""
    wave = found().waves[0]
    clusters = tuple(change(wave.clusters[0]) for _ in range(number))
    return replace(found(), waves=(replace(wave, clusters=clusters),))


def refused(cluster: ClusterPreview, reason: str) -> ClusterPreview:
    assert cluster.plan is not None
    return replace(cluster, plan=replace(cluster.plan, refusals=(Refusal("too-much", reason),)))


@pytest.mark.parametrize(
    "plan",
    [
        lambda: many(1_000, lambda c: c),
        lambda: many(1_000, lambda c: replace(c, plan=None, unknown="no answer " * 400)),
        lambda: many(1, lambda c: refused(c, "ä" * 200_000)),
        lambda: many(3, lambda c: refused(c, "```" * 30_000)),
        lambda: replace(found(), waves=found().waves * 2_000),
        lambda: many(30, lambda c: replace(c, wave="<wave|" * 5_000)),
    ],
    ids=["many clusters", "many unknown", "a long refusal", "fences", "many waves", "long names"],
)
def test_markdown_is_bounded_and_says_what_was_cut(plan: Callable[[], FleetPreview]) -> None:
    shown = plan_markdown(plan(), lambda text: text)
    assert len(shown) <= LIMIT
    assert len(shown.encode()) <= LIMIT
    assert shown.startswith("## gitops-mc plan")
    assert shown.splitlines()[-1] == f"plan digest: `{plan().digest}`"
    assert "**Cut to fit: " in shown or "..." in shown


def test_a_plan_that_fits_is_not_cut() -> None:
    assert "Cut to fit" not in _plan_markdown()


def test_text_of_a_repository_cannot_leave_its_fence() -> None:
    shown = plan_markdown(many(1, lambda c: refused(c, "```\n</details><script>")), lambda text: text)
    fenced = shown.split("````text\n")[1].split("\n````\n")[0]
    assert "</details><script>" in fenced
    assert "<script>" not in shown.replace(fenced, "")
