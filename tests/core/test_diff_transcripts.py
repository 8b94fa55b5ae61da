"""The diff's forecast of an apply, held against what a real kube-apiserver 1.36 answered.

The transcripts are 180 sequences of requests with the answers; every apply of ours in them is forecast from the live
object before it. Applies that set `paused` are passed over: the product never sends it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gitops_mc.core.diff.comparison import Comparison, compare_object
from gitops_mc.core.diff.paths import leaves_of, said_only
from gitops_mc.core.model import FIELD_MANAGER, JsonObject, Kind

TRANSCRIPTS = Path(__file__).parent.parent / "data" / "api-transcripts.jsonl"
Step = tuple[Kind, JsonObject, Comparison, JsonObject]


def live_object(kind: Kind, seen: JsonObject) -> JsonObject:
    meta = {name: seen[name] or {} for name in ("labels", "annotations")}
    return {
        "kind": kind,
        "metadata": {**meta, "managedFields": seen["managedFields"]},
        "spec": seen.get("spec"),
    }


def forecasts(*codes: int) -> Iterator[Step]:
    """Each apply of ours to an object that is there and that was answered with one of these codes."""
    for line in TRANSCRIPTS.read_text().splitlines():
        sequence = json.loads(line)
        kind, live = Kind(sequence["kind"]), None
        for step in sequence["steps"]:
            answer = step["answer"]
            if (
                live is not None
                and step["op"].startswith("apply")
                and step["manager"] == FIELD_MANAGER
                and answer["code"] in codes
                and "paused" not in json.dumps([step["body"], live])
            ):
                body = {**step["body"], "spec": said_only(kind, step["body"].get("spec") or {})}
                if body["spec"] == step["body"].get("spec"):
                    yield kind, step, compare_object(kind, body, live), live
            if answer["code"] in (200, 201) and step["op"] != "apply-dry-run":
                live = live_object(kind, answer["object"])


def fields_by_manager(causes: list[JsonObject]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for cause in causes:
        manager = re.match(r'conflict with "([^"]+)"', cause["message"])
        assert manager is not None
        field = re.sub(r'\[\w+="([^"]*)"\]', r"[\1]", cause["field"].removeprefix("."))
        found.setdefault(manager[1], []).append(field)
    return {name: sorted(fields) for name, fields in found.items()}


def test_a_forecast_conflict_names_the_managers_and_fields_of_the_real_answer() -> None:
    seen = 0
    for _, step, compared, _ in forecasts(409):
        assert {c.manager: list(c.fields) for c in compared.conflicts} == fields_by_manager(
            step["answer"]["causes"]
        )
        seen += 1
    assert seen > 50


def test_an_apply_that_was_accepted_without_force_was_forecast_without_conflict_or_took_a_value_along() -> (
    None
):
    taken_along, seen = [], 0
    for _, step, compared, _ in forecasts(200):
        if not step["force"]:
            seen += 1
            taken_along += [c for c in compared.conflicts if not compared.doomed]
    assert seen > 100
    assert taken_along == []


def test_the_forecast_values_are_the_ones_that_stood_there_afterwards() -> None:
    seen = 0
    for kind, step, compared, live in forecasts(200):
        forecast: dict[Any, Any] = {**compared.there, **compared.wanted}
        for path in compared.going:
            del forecast[path]
        after = live_object(kind, step["answer"]["object"])
        assert forecast == leaves_of(kind, after)
        assert compared.equal == (
            live["spec"] == after["spec"]
            and live["metadata"]["labels"] == after["metadata"]["labels"]
            and live["metadata"]["annotations"] == after["metadata"]["annotations"]
        )
        seen += 1
    assert seen > 150


def test_the_server_removes_what_another_wrote_into_a_map_of_ours_that_we_drop() -> None:
    """The case that makes it worth a refusal: no 409 warns of it."""
    silent = [step for _, step, compared, _ in forecasts(200) if compared.doomed and not step["force"]]
    assert silent


@pytest.mark.parametrize("field", ["reordered", "staying", "differing"])
def test_the_transcripts_have_cases_of_each_kind(field: str) -> None:
    assert any(getattr(compared, field) for _, _, compared, _ in forecasts(200))
