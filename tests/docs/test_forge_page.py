"""The page on commit statuses: its fields are those of the definition, its states those of the code, its objects are taken."""

from __future__ import annotations

import json
import re
import shlex
from datetime import timedelta
from typing import Any

import pytest
import yaml

from gitops_mc.adapters.forge_errors import TIMEOUT
from gitops_mc.adapters.forge_gitlab import _STATES as GITLAB
from gitops_mc.app.controller.commit_notes import REWORDED_EVERY
from gitops_mc.app.controller.forge_patience import AGAIN_FIRST, AGAIN_LAST, MENDED_WITHIN
from gitops_mc.core.custom.commit_status import (
    LONGEST_DESCRIPTION,
    CommitStatus,
    of_decision,
    of_refusal,
    of_superseded,
)
from gitops_mc.core.custom.fleet_spec import fleet_spec
from gitops_mc.core.custom.forge_spec import Place, place_of
from gitops_mc.core.model import Commit
from gitops_mc.core.render.fleet_commands import FleetCommands
from gitops_mc.core.render.happening import Reason
from gitops_mc.core.rollout.moves import Done, Halted, Hold, Standing, Wait, WaveState
from tests.core.test_commit_status import PASSED, READY, decided, view
from tests.deploy.rendering import DEPLOY
from tests.docs.readme import ROOT, console_blocks
from tests.scenarios.controller_world import FLEETS, ControllerWorld

PAGE = (ROOT / "docs" / "forge.md").read_text(encoding="utf-8")
FORGE: dict[str, Any] = yaml.safe_load((DEPLOY / "crds" / "fleets.yaml").read_text(encoding="utf-8"))["spec"][
    "versions"
][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["forge"]
OBJECTS = [
    yaml.safe_load(block) for block in re.findall(r"^```yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
]
PAUSED = "edge-3: pool worker is paused by mei"
DEGRADED = "pool worker: node edge-3-w1 is Degraded"
ROWS: dict[str, CommitStatus] = {
    "it rolls": of_decision(decided(Wait("rolls"), *PASSED, READY), "prod", str),
    "it waits for an approval": of_decision(
        decided(Hold((), ()), *PASSED, READY, wave=WaveState.NEEDS_APPROVAL), "prod", str
    ),
    "it needs somebody": of_decision(decided(Hold((PAUSED,), ()), *PASSED, READY), "prod", str),
    "it halted": of_decision(
        decided(Halted("x"), *PASSED, view("edge-3", Standing.FAILED, DEGRADED)), "prod", str
    ),
    "a cluster's part of it has problems": of_decision(
        decided(
            Wait("x"), *PASSED, view("edge-3", Standing.PROBLEMS, "clusters/edge-3/app.yaml:3: unknown field")
        ),
        "prod",
        str,
    ),
    "it is not followed": of_refusal("is not accepted: nobody has signed it", "prod", str),
    "all have it": of_decision(decided(Done("x"), *PASSED, view("edge-3", Standing.PASSED)), "prod", str),
    "another one took over": of_superseded(Commit("0123456789abcdef"), "prod"),
}


def place(name: str) -> str:
    """What stands between the two comments of this name."""
    return PAGE.split(f"<!-- {name} -->\n\n")[1].split(f"\n<!-- /{name} -->")[0]


def test_the_fields_are_those_of_the_definition_in_its_words() -> None:
    rows = "".join(
        f"| `{name}` | {schema['description']} |\n" for name, schema in FORGE["properties"].items()
    )
    assert place("fields") == f"| field of `spec.forge` | |\n| --- | --- |\n{rows}"


def test_the_states_and_their_texts_are_those_of_the_code() -> None:
    rows = "".join(
        f"| {when} | `{s.state.value}` | `{GITLAB[s.state]}` | {s.description} |\n"
        for when, s in ROWS.items()
    )
    assert (
        place("states")
        == f"| | GitHub, Gitea, Forgejo | GitLab | what it says |\n| --- | --- | --- | --- |\n{rows}"
    )


def test_the_numbers_of_the_page_are_those_that_hold() -> None:
    assert f"Texts have at most {LONGEST_DESCRIPTION} characters" in PAGE
    assert f"at most every {REWORDED_EVERY / timedelta(minutes=1):.0f} minutes" in PAGE
    assert f"{TIMEOUT} seconds for its connection and {TIMEOUT} for its answer" in PAGE
    assert f"tried again after {AGAIN_FIRST.seconds} seconds" in PAGE
    assert f"every {AGAIN_LAST / timedelta(minutes=1):.0f} minutes at last" in PAGE
    assert f"seen within {MENDED_WITHIN.seconds} seconds" in PAGE


def test_what_gitlab_says_all_the_while_is_what_the_page_says() -> None:
    lasting = FleetCommands("prod").said(ROWS["it rolls"].lasting)
    assert lasting in " ".join(PAGE.split())


def test_the_events_are_those_that_there_are() -> None:
    assert f"`{Reason.FORGE_FAILED.word}`" in PAGE
    assert f"`{Reason.FORGE_RECOVERED.word}`" in PAGE


@pytest.mark.parametrize(
    ("body", "expected"),
    list(
        zip(
            OBJECTS,
            (
                Place("https://api.github.com", "acme/fleet"),
                Place("https://git.example.com/forge/api/v1", "acme/fleet"),
            ),
            strict=True,
        )
    ),
)
def test_every_object_is_taken_by_the_api_server_and_means_a_project(
    body: dict[str, Any], expected: Place
) -> None:
    world = ControllerWorld()
    world.kubectl("POST", FLEETS, {**body, "metadata": {"name": "lab", "namespace": "gitops-mc"}})
    spec = fleet_spec(body)
    assert spec.forge is not None
    assert place_of(spec.forge, spec.source.url) == expected


def test_the_commands_make_the_secret_that_the_patch_names_and_the_patch_is_taken() -> None:
    [[create, patch]] = [block for block in console_blocks(PAGE) if len(block) == 2]
    made = re.search(r"secret generic (\S+) --from-file=(\S+)=", create.line)
    change = json.loads(shlex.split(patch.line)[-1])
    world = ControllerWorld()
    world.edit("", change["spec"])
    spec = fleet_spec(world.fleet())
    assert spec.forge is not None
    assert spec.forge.token is not None
    assert made is not None
    assert made.groups() == (spec.forge.token.name, spec.forge.token.key)
