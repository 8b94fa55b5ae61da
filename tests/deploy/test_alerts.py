"""Alerts and dashboard ask for metrics that there are, and every alert fires when it should and rests when it should not."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from gitops_mc.adapters import telemetry_rows as rows
from gitops_mc.adapters.telemetry_metrics import Metrics
from gitops_mc.app.telemetry_ports import Credential
from gitops_mc.core.rollout.moves import Standing, WaveState
from gitops_mc.web.webhook import Answered
from tests.deploy.programs import GET_PROMTOOL, find_promtool
from tests.deploy.promql import grouped, selected
from tests.deploy.rendering import DEPLOY, only, rendered

NS, FLEET = "gitops-mc", "prod"
RUNBOOKS = DEPLOY.parent / "docs" / "runbooks"
GROUPS = only(rendered(DEPLOY / "overlays" / "monitoring"), "PrometheusRule", NS, NS)["spec"]["groups"]
ALERTS = {rule["alert"]: rule for group in GROUPS for rule in group["rules"]}
DASHBOARD = json.loads((DEPLOY / "overlays" / "dashboard" / "dashboard.json").read_text())
CASES = yaml.safe_load((Path(__file__).parent / "alerts.yaml").read_text())
TARGET = frozenset({"namespace", "pod", "job", "instance"})
"""Labels that Prometheus gives to what it scrapes."""
ROWS = {row.full: row for row in rows.ROWS}
needs_promtool = pytest.mark.skipif(find_promtool() is None, reason=GET_PROMTOOL)


@dataclass(frozen=True, slots=True)
class Asked:
    """Where an expression stands, and what it says."""

    where: str
    expression: str


def expressions() -> Iterator[Asked]:
    yield from (Asked(name, rule["expr"]) for name, rule in ALERTS.items())
    for panel in DASHBOARD["panels"]:
        yield from (Asked(panel["title"], target["expr"]) for target in panel.get("targets", ()))
    for variable in DASHBOARD["templating"]["list"]:
        if variable["type"] == "query":
            yield Asked(f"variable {variable['name']}", variable["query"]["query"])
    yield from (Asked(f"annotation {a['name']}", a["expr"]) for a in DASHBOARD["annotations"]["list"])


EVERY = tuple(expressions())


def _series() -> dict[str, frozenset[str]]:
    """Labels by name of a series, as /metrics has them."""
    found: dict[str, frozenset[str]] = {}
    for row in rows.ROWS:
        labels = frozenset(row.labels)
        if row.kind is rows.MetricKind.HISTOGRAM:
            found |= {
                f"{row.full}_bucket": labels | {"le"},
                f"{row.full}_count": labels,
                f"{row.full}_sum": labels,
            }
        else:
            found[row.full] = labels
    process = Metrics("0", lambda: datetime.now(UTC)).registry.collect()
    samples = (sample.name for family in process for sample in family.samples)
    return found | {name: frozenset() for name in samples if name.startswith("process_")}


SERIES = _series()


def _values(metric: str, label: str) -> frozenset[str] | None:
    """What may stand in a label of a closed set; None: names."""
    match metric.removeprefix("gitops_mc_"), label:
        case "clusters", "state":
            return frozenset(Standing)
        case "wave_state", "state":
            return frozenset(WaveState)
        case _, "credential":
            return frozenset(Credential)
        case "webhook_requests_total", "code":
            return frozenset(str(answer.status.value) for answer in Answered)
        case "api_requests_total", "code":
            return frozenset({"none", *(f"{hundreds}xx" for hundreds in range(2, 6))})
        case _, "result":
            return frozenset(re.findall(r"\w+", ROWS[metric].meaning))
        case _:
            return None


# ------------------------------------------------------------------------------------------- without promtool


@pytest.mark.parametrize("asked", EVERY, ids=lambda a: a.where)
def test_it_asks_for_series_that_there_are_by_labels_that_they_have(asked: Asked) -> None:
    found = tuple(selected(asked.expression))
    assert found or asked.where.startswith("variable")
    for one in found:
        if asked.where.startswith("variable") and one.metric in ("namespace", "fleet"):
            continue  # the label whose values are listed
        assert one.metric in SERIES, one.metric
        for label, value in one.values:
            assert label in SERIES[one.metric] | TARGET, f"{one.metric} has no label {label}"
            known = _values(one.metric, label)
            assert known is None or value.startswith("$") or value in known, f"{label} is never {value!r}"
    labels = frozenset[str]().union(*(SERIES[one.metric] for one in found if one.metric in SERIES))
    assert grouped(asked.expression) <= labels | TARGET


def test_every_metric_of_a_fleet_or_its_clusters_is_on_the_dashboard_or_in_an_alert() -> None:
    used = {one.metric for asked in EVERY for one in selected(asked.expression)}
    bare = {re.sub(r"_(bucket|count|sum)$", "", name) for name in used}
    assert set(ROWS) - bare == {"gitops_mc_build_info"}


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_says_how_grave_it_is_what_is_wrong_and_where_to_read_on(name: str) -> None:
    rule = ALERTS[name]
    assert rule["labels"]["severity"] in ("critical", "warning", "info")
    notes = rule["annotations"]
    assert set(notes) == {"summary", "description", "runbook_url"}
    page = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower()
    assert notes["runbook_url"] == f"docs/runbooks/{page}.md"
    assert notes["description"].endswith(".")
    named = set(re.findall(r"\$labels\.(\w+)", " ".join(notes.values())))
    assert named <= _kept_by(rule["expr"]), "a label that the expression does not keep would be empty"


def _kept_by(expression: str) -> frozenset[str]:
    """Labels of what comes out: those of the first grouping, or all of what is not grouped."""
    first = re.search(r"\bby \(([^)]*)\)", expression)
    return frozenset(first[1].split(", ")) if first else TARGET


def test_every_alert_has_its_runbook_and_every_runbook_its_alert() -> None:
    wanted = {Path(rule["annotations"]["runbook_url"]).name for rule in ALERTS.values()}
    assert {f.name for f in RUNBOOKS.glob("gitops-mc-*.md")} == wanted


def test_every_alert_is_tried_both_ways_and_no_other() -> None:
    assert list(CASES) == list(ALERTS)
    assert all(case["fires"] and case["rests"] for case in CASES.values())


def test_the_panels_of_the_dashboard_do_not_overlap_and_have_ids_of_their_own() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        cells = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert not cells & taken, panel["title"]
        assert at["x"] + at["w"] <= 24
        taken |= cells
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize(
    "expression",
    [
        'sum(gitops_mc_cluster{state="failed"})',
        'gitops_mc_clusters{state="lost"}',
        "sum by (node) (gitops_mc_halted)",
    ],
)
def test_a_name_that_is_not_there_is_seen(expression: str) -> None:
    with pytest.raises(AssertionError):
        test_it_asks_for_series_that_there_are_by_labels_that_they_have(Asked("tried", expression))


# ---------------------------------------------------------------------------------------------- with promtool


@needs_promtool
def test_promtool_takes_the_rules_and_their_templates(tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": GROUPS}))
    told = _promtool(tmp_path, "check", "rules", "--lint=all", "--lint-fatal", "rules.yaml")
    assert f"SUCCESS: {len(ALERTS)} rules found" in told


@needs_promtool
@pytest.mark.parametrize("name", ALERTS)
def test_it_fires_when_it_should_and_rests_when_it_should_not(name: str, tmp_path: Path) -> None:
    rule = {**ALERTS[name], "annotations": {"summary": ALERTS[name]["annotations"]["summary"]}}
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": [{"name": "tried", "rules": [rule]}]}))
    case = CASES[name]
    tests = [_unit(name, case["fires"], [_expected(rule, case["fires"])])]
    tests += [_unit(name, rests, []) for rests in case["rests"]]
    body = {"rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": tests}
    (tmp_path / "tests.yaml").write_text(yaml.safe_dump(body))
    assert "SUCCESS" in _promtool(tmp_path, "test", "rules", "tests.yaml")


def _unit(name: str, case: Any, expected: list[Any]) -> Any:
    series = [{"series": _named(short), "values": values} for short, values in case["series"].items()]
    asked = {"eval_time": case["at"], "alertname": name, "exp_alerts": expected}
    return {"interval": "1m", "input_series": series, "alert_rule_test": [asked]}


def _expected(rule: Any, case: Any) -> Any:
    here = {} if "absent(" in rule["expr"] else {"namespace": NS}
    return {
        "exp_labels": {**here, **case["labels"], "severity": rule["labels"]["severity"]},
        "exp_annotations": {"summary": case["says"]},
    }


def _named(short: str) -> str:
    """The series in full; one with an exclamation mark is that already."""
    if short.startswith("!"):
        return short[1:]
    name, _, labels = short.rstrip("}").partition("{")
    full = f"gitops_mc_{name}"
    given = {
        f'namespace="{NS}"',
        *([f'fleet="{FLEET}"'] if _has_fleet(full, labels) else []),
        *_split(labels),
    }
    return f"{full}{{{','.join(sorted(given))}}}"


def _has_fleet(full: str, labels: str) -> bool:
    return "fleet" in SERIES.get(full, ()) and "fleet=" not in labels


def _split(labels: str) -> list[str]:
    return labels.split(",") if labels else []


def _promtool(folder: Path, *words: str) -> str:
    """What it prints. It has to end well."""
    program = find_promtool()
    assert program is not None
    done = subprocess.run(
        [str(program), *words], cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr
