"""The forecast of what a server-side apply leaves behind, against what a real kube-apiserver 1.36 answered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gitops_mc.core.model import FIELD_MANAGER, JsonObject
from gitops_mc.core.plan import applied

TRANSCRIPTS = Path(__file__).parents[1] / "data" / "api-transcripts.jsonl"


def _filled(value: Any) -> Any:
    """Without empty containers: fields that are given up may leave them behind, which means nothing to the operator."""
    if isinstance(value, dict):
        kept = {k: _filled(v) for k, v in value.items()}
        return {k: v for k, v in kept.items() if v not in ({}, [], None)}
    return [_filled(v) for v in value] if isinstance(value, list) else value


def _cases() -> list[tuple[JsonObject, JsonObject, JsonObject]]:
    """Applies of ours onto an object that is there: the object before, what was sent, the object after."""
    found = []
    for line in TRANSCRIPTS.read_text().splitlines():
        told = json.loads(line)
        if told["kind"] == "MachineConfiguration":
            continue  # its lists are keyed; a plan never forecasts that kind
        before: JsonObject | None = None
        for step in told["steps"]:
            answer = step["answer"]
            if "object" not in answer:
                continue
            if before is not None and step["op"] == "apply" and step["manager"] == FIELD_MANAGER:
                found.append((before, step["body"], answer["object"]))
            if step["op"] != "apply-dry-run":
                before = answer["object"]
    return found


def test_the_forecast_of_an_apply_is_what_the_server_makes_of_it() -> None:
    cases = _cases()
    assert len(cases) > 100
    for before, body, after in cases:
        live = {
            "metadata": {"labels": before["labels"], "managedFields": before["managedFields"]},
            "spec": before["spec"],
        }
        result = applied(live, body)
        assert _filled(result["spec"]) == _filled(after["spec"]), body
        assert _filled(result["metadata"].get("labels") or {}) == _filled(after["labels"] or {}), body
