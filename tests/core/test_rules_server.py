"""The rules about schemas and actions, held against what a real kube-apiserver 1.36 answered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gitops_mc.core.model import (
    Content,
    DesiredCluster,
    JsonObject,
    Kind,
    Manifest,
    Place,
    ResourceKey,
    name_of,
)
from gitops_mc.core.policy import DEFAULT_POLICY
from gitops_mc.core.rules import check

TRANSCRIPTS = Path(__file__).parents[1] / "data" / "api-transcripts.jsonl"
OURS = {"field-unknown", "field-type", "policy-action", "policy-action-alone", "policy-action-service"}
OURS |= {"policy-service-name", "policy-entry", "policy-most", "pool-selector"}


def applied() -> list[tuple[JsonObject, JsonObject]]:
    """Bodies sent by server-side apply, each with the answer."""
    steps = [step for line in TRANSCRIPTS.read_text().splitlines() for step in json.loads(line)["steps"]]
    return [(step["body"], step["answer"]) for step in steps if step["op"] in ("apply", "apply-dry-run")]


def broken(body: JsonObject) -> dict[str, str]:
    """Fields, without a leading dot as the server has it, and messages of the rules the server has as well."""
    manifest = Manifest(ResourceKey("c", Kind(body["kind"]), name_of(body)), body, Place("a.yaml"))
    problems = check(DesiredCluster("c", (manifest,), Content("")), DEFAULT_POLICY)
    return {problem.field: problem.message for problem in problems if problem.rule in OURS}


@pytest.fixture(scope="module")
def answers() -> list[tuple[JsonObject, JsonObject]]:
    return applied()


def test_what_the_server_took_no_rule_refuses(answers: list[Any]) -> None:
    taken = [body for body, answer in answers if answer["code"] in (200, 201)]
    assert len(taken) > 500
    assert [body for body in taken if broken(body)] == []


def test_what_the_server_refuses_as_outside_its_schema_a_rule_refuses_in_the_same_words(
    answers: list[Any],
) -> None:
    refused = [(body, answer) for body, answer in answers if answer["code"] == 500]
    assert len(refused) > 10
    for body, answer in refused:
        assert any(message in answer["message"] for message in broken(body).values())


def test_an_action_that_the_server_refuses_a_rule_refuses_in_the_same_words(answers: list[Any]) -> None:
    refused = [
        (cause, broken(body))
        for body, answer in answers
        if answer["code"] == 422
        for cause in answer["causes"]
        if cause["reason"] == "FieldValueInvalid" and cause["field"] != "<nil>"
    ]
    assert len(refused) > 20
    for cause, found in refused:
        said = {(field.rpartition(".")[2], message) for field, message in found.items()}
        part = cause["field"].rpartition(".")[2]  # before it the server counts other owners' entries as well
        assert (part, cause["message"].removeprefix("Invalid value: ")) in said
