"""The page on previews: its fields are those of the definition, its states and numbers those of the code, its object is taken."""

from __future__ import annotations

import json
import re
import shlex
from datetime import timedelta
from typing import Any

import pytest
import yaml

from gitops_mc.adapters import git_pull_heads
from gitops_mc.adapters.forge_github_pulls import GiteaPulls, GithubPulls
from gitops_mc.adapters.forge_gitlab import _STATES as GITLAB
from gitops_mc.adapters.forge_gitlab_pulls import GitlabPulls
from gitops_mc.adapters.git_pull_heads import GITHUB_HEADS, GITLAB_HEADS, PullLimits
from gitops_mc.app.controller.pull_notes import LIVE_EVERY, LOOKED_EVERY, UNKNOWN_EVERY
from gitops_mc.app.pull_ports import MOST_PULLS
from gitops_mc.core.custom.commit_status import CommitStatus
from gitops_mc.core.custom.fleet_spec import fleet_spec
from gitops_mc.core.custom.pull_comment import (
    PreviewText,
    marker,
    no_preview,
    preview_context,
    preview_pending,
    preview_status,
)
from gitops_mc.core.custom.pull_request import DEFAULT_INTERVAL, SHORTEST_INTERVAL, Needs, PreviewSpec
from gitops_mc.core.preview.model import State
from gitops_mc.core.render.happening import Reason
from tests.deploy.rendering import DEPLOY
from tests.docs.readme import ROOT, console_blocks
from tests.scenarios.controller_world import FLEETS, ControllerWorld

PAGE = (ROOT / "docs" / "previews.md").read_text(encoding="utf-8")
_WORDS = " ".join(PAGE.split())
PREVIEWS: dict[str, Any] = yaml.safe_load((DEPLOY / "crds" / "fleets.yaml").read_text(encoding="utf-8"))[
    "spec"
]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["previews"]
OWN_LINE = "the preview's own line"
ROWS: dict[str, CommitStatus] = {
    "it is being made": preview_pending("prod"),
    "it can be merged": preview_status("prod", PreviewText("", OWN_LINE, State.OK)),
    "it has problems, or something is refused": preview_status(
        "prod", PreviewText("", OWN_LINE, State.PROBLEMS)
    ),
    "something that decides is not known": preview_status("prod", no_preview("no answer")),
}


def place(name: str) -> str:
    """What stands between the two comments of this name."""
    return PAGE.split(f"<!-- {name} -->\n\n")[1].split(f"\n<!-- /{name} -->")[0]


def fields(name: str, schema: dict[str, Any]) -> str:
    rows = "".join(f"| `{n}` | {p['description']} |\n" for n, p in schema["properties"].items())
    return f"| field of `{name}` | |\n| --- | --- |\n{rows}"


def test_the_fields_are_those_of_the_definition_in_its_words() -> None:
    trusted = PREVIEWS["properties"]["trusted"]
    wanted = f"{fields('spec.previews', PREVIEWS)}\n{fields('spec.previews.trusted', trusted)}"
    assert place("fields") == wanted
    assert trusted["properties"]["access"]["enum"] == list(Needs)


def test_the_states_and_their_texts_are_those_of_the_code() -> None:
    rows = "".join(
        f"| {when} | `{s.state.value}` | `{GITLAB[s.state]}` | {s.description} |\n"
        for when, s in ROWS.items()
    )
    assert (
        place("states")
        == f"| | GitHub, Gitea, Forgejo | GitLab | what it says |\n| --- | --- | --- | --- |\n{rows}"
    )


@pytest.mark.parametrize(
    ("said", "holds"),
    [
        ("is made again after 10 minutes", timedelta(minutes=10) == UNKNOWN_EVERY),
        ("at most every 5 minutes", timedelta(minutes=5) == LIVE_EVERY),
        ("at the latest after 30 minutes", timedelta(minutes=30) == LOOKED_EVERY),
        ("At most 200 open pull requests", MOST_PULLS == 200),
        ("60s where it is left out", timedelta(seconds=60) == DEFAULT_INTERVAL),
        ("never less than 15s", timedelta(seconds=15) == SHORTEST_INTERVAL),
        ("GitHub takes 65,536 characters", GithubPulls.longest_comment == 65_536),
        ("GitLab a million", GitlabPulls.longest_comment == 1_000_000),
        ("65,535 bytes", GiteaPulls.longest_comment == 65_535),
        ("of at most 256 MiB", PullLimits().kept == 256 << 20),
        ("one fetch takes at most 128 MiB", PullLimits().fetched == 128 << 20),
        ("more than 50,000 files", PullLimits().files == 50_000),
        ("more than 16 MiB", PullLimits().changed == 16 << 20),
        ("all of it 60 seconds", PullLimits().seconds == 60),
        ("further back than 2,000 commits", git_pull_heads._DEPTHS[-1] == 2_000),
        ("`refs/pull/N/head`", GITHUB_HEADS.format("N") == "refs/pull/N/head"),
        ("`refs/merge-requests/N/head`", GITLAB_HEADS.format("N") == "refs/merge-requests/N/head"),
        ("`<!-- gitops-mc preview NAME -->`", marker("NAME") == "<!-- gitops-mc preview NAME -->"),
        ("`gitops-mc/preview/` and the Fleet's name", preview_context("x") == "gitops-mc/preview/x"),
        (f"`{Reason.PREVIEWS_FAILED.word}`", True),
        (f"`{Reason.PREVIEWS_RECOVERED.word}`", True),
    ],
)
def test_what_the_page_says_holds(*, said: str, holds: bool) -> None:
    assert said in _WORDS
    assert holds


def test_the_object_is_taken_and_says_what_the_page_says() -> None:
    (body,) = [yaml.safe_load(b) for b in re.findall(r"^```yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)]
    world = ControllerWorld()
    body["metadata"]["name"] = "lab"
    taken = world.kubectl("POST", FLEETS, body)
    assert fleet_spec(taken).previews == PreviewSpec(
        timedelta(minutes=2), Needs.NAMED, frozenset({"mei", "renovate-bot"})
    )


def test_the_patch_of_the_page_switches_it_on() -> None:
    (line,) = [c.line for block in console_blocks(PAGE) for c in block if " patch " in c.line]
    patch = json.loads(shlex.split(line)[-1])
    assert fleet_spec({"spec": {"source": {"url": "https://x/y"}, **patch["spec"]}}).previews == PreviewSpec()


def test_where_the_page_looks_for_trouble_the_definition_has_it() -> None:
    assert ".status.previews.problem" in PAGE
    status = yaml.safe_load((DEPLOY / "crds" / "fleets.yaml").read_text(encoding="utf-8"))["spec"][
        "versions"
    ][0]["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]
    assert "problem" in status["previews"]["properties"]
