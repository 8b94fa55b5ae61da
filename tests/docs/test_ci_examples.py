"""The templates for pipelines: what they pin, what they keep from strangers, and that what they post arrives once."""

from __future__ import annotations

import ast
import os
import re
import shlex
import subprocess
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from gitops_mc.app.ports import Response
from gitops_mc.cli.program import program
from tests.adapters.forge_pull_servers import ME, GiteaPullServer, GitlabPullServer, Pull
from tests.adapters.forge_servers import CA, COMMIT, PROJECT, TOKEN, running
from tests.adapters.kube_peers import Peer, serving
from tests.docs.readme import ROOT

FOLDER = ROOT / "examples" / "ci"
TEXTS = {path.name: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.yaml"))}
GITHUB, GITLAB, TEKTON = (
    yaml.safe_load(TEXTS[f"{name}-preview.yaml"]) for name in ("github", "gitlab", "tekton")
)
HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
JOB: dict[str, Any] = GITHUB["jobs"]["preview"]
STEPS: list[dict[str, Any]] = JOB["steps"]
MARKER = "<!-- gitops-mc preview in CI -->"


def scripts() -> Iterator[tuple[str, str]]:
    """Everything that a template has run, and by what."""
    for step in STEPS:
        if "run" in step:
            yield "bash", step["run"]
    yield from (("sh", line) for line in GITLAB["gitops-mc-preview"]["script"])
    for step in TEKTON["spec"]["steps"]:
        yield step["script"].splitlines()[0].removeprefix("#!"), step["script"]


def test_there_is_one_for_each_forge_and_every_page_on_pipelines_names_it() -> None:
    page = (ROOT / "docs" / "previews.md").read_text(encoding="utf-8")
    assert [name for name in TEXTS if name not in page] == []
    assert ".pre-commit-hooks.yaml" in (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", TEXTS)
def test_nothing_is_fetched_by_a_name_that_may_come_to_mean_something_else(name: str) -> None:
    for line in TEXTS[name].splitlines():
        if (used := re.match(r"\s*-?\s*uses:\s*(.*)", line)) is not None:
            assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", used[1]), line
    assert ":latest" not in TEXTS[name]


def test_images_are_given_by_whoever_uses_them() -> None:
    assert GITLAB["gitops-mc-preview"]["image"]["name"] == "$GITOPS_MC_IMAGE"
    assert TEKTON["spec"]["stepTemplate"]["image"] == "$(params.image)"
    assert not [step for step in TEKTON["spec"]["steps"] if "image" in step]


def test_a_stranger_gets_no_secret_and_no_right() -> None:
    on = GITHUB[True]  # YAML's word for on
    assert list(on) == ["pull_request"]
    assert GITHUB["permissions"] == {}
    assert JOB["permissions"] == {"contents": "read", "pull-requests": "write"}
    (checkout,) = [step for step in STEPS if step.get("uses", "").startswith("actions/checkout@")]
    assert checkout["with"]["persist-credentials"] is False
    assert checkout["with"]["submodules"] is False
    holding = [step["name"] for step in STEPS if "secrets." in str(step) or "github.token" in str(step)]
    assert holding == ["Make the preview", "Show it on the pull request"]
    (show,) = [step for step in STEPS if step.get("name") == "Show it on the pull request"]
    assert show["if"] == "github.event.pull_request.head.repo.full_name == github.repository"


def test_python_never_looks_for_modules_in_the_repository() -> None:
    assert next(s for s in STEPS if "checkout" in s.get("uses", ""))["with"]["path"] == "repository"
    for _, script in scripts():
        for called in re.findall(r"python3?\b[^\n]*", script):
            assert "-I" in called or called.startswith("python -m pip"), called


@pytest.mark.parametrize(("by", "script"), list(scripts()), ids=lambda text: text.splitlines()[0][:40])
def test_nothing_that_others_write_becomes_a_part_of_a_script(by: str, script: str) -> None:
    for part in ("${{", "$(params", "$(workspaces", "$(results"):
        assert part not in script
    if by.endswith("sh"):
        done = subprocess.run(
            [Path(by).name, "-n"], input=script, text=True, capture_output=True, check=False
        )
        assert done.stderr == ""
        unquoted = re.findall(r"(?<![\"'{=\w])\$[A-Z_]+", re.sub(r'"[^"\n]*"', "", script))
        assert unquoted == []
    else:
        ast.parse(script)


@pytest.mark.parametrize(
    "script", [text for by, text in scripts() if by.endswith("sh") and "gitops-mc " in text]
)
def test_what_they_call_is_understood(script: str) -> None:
    if "preview" not in program().commands:
        pytest.skip("there is no gitops-mc preview yet")
    for line in re.findall(r"^\s*(gitops-mc [^>|]*)", script, re.MULTILINE):
        _, name, *arguments = shlex.split(line)
        command = program().commands[name]
        with click.Context(command, info_name=name):
            command.make_context(name, [a.replace("$REPOSITORY", ".") for a in arguments])


def test_the_hook_calls_what_is_there() -> None:
    (hook,) = HOOKS
    _, name, *arguments = shlex.split(f"{hook['entry']} {' '.join(hook['args'])}")
    with click.Context(program().commands[name], info_name=name):
        program().commands[name].make_context(name, arguments)
    assert (hook["pass_filenames"], hook["always_run"], hook["language"]) == (False, True, "python")


# ---------------------------------------------------------------------------------------------------- what they post


def said(work: Path, text: str, code: int) -> dict[str, str]:
    """An environment in which gitops-mc finds this, with this exit code."""
    (work / "bin").mkdir(exist_ok=True)
    (work / "said.md").write_text(text)
    command = work / "bin" / "gitops-mc"
    command.write_text(f"#!/bin/sh\ncat {work}/said.md\nexit {code}\n")
    command.chmod(0o755)
    path = f"{work / 'bin'}:{os.environ['PATH']}"
    return {"PATH": path, "HOME": str(work), "SSL_CERT_FILE": str(CA)}


def run(command: list[str], script: str, work: Path, env: dict[str, str]) -> int:
    done = subprocess.run(
        command, input=script, env=env, cwd=work, text=True, capture_output=True, check=False, timeout=60
    )
    assert "Traceback" not in done.stderr, done.stderr
    assert TOKEN not in done.stdout + done.stderr
    return done.returncode


def test_gitlab_gets_one_note_which_is_edited_in_place_and_the_job_fails_as_the_preview_did(
    tmp_path: Path,
) -> None:
    with running(GitlabPullServer()) as server:
        assert isinstance(server, GitlabPullServer)
        server.put(Pull(7, COMMIT))
        theirs = server.said_by("eve", 7, f"{MARKER}\nhers")
        for _ in range(120):
            server.said_by("eve", 7, "x")
        of_gitlab = {
            "CI_API_V4_URL": server.api,
            "CI_MERGE_REQUEST_PROJECT_ID": PROJECT.replace("/", "%2F"),
            "CI_MERGE_REQUEST_SOURCE_PROJECT_ID": "of a fork",
            "CI_MERGE_REQUEST_DIFF_BASE_SHA": COMMIT,
            "CI_MERGE_REQUEST_IID": "7",
            "CI_COMMIT_SHA": COMMIT,
            "GITOPS_MC_COMMENT_TOKEN": TOKEN,
        }
        (script,) = GITLAB["gitops-mc-preview"]["script"]
        assert run(["sh"], script, tmp_path, said(tmp_path, "first é\n", 0) | of_gitlab) == 0
        assert run(["sh"], script, tmp_path, said(tmp_path, "second\n", 4) | of_gitlab) == 4
        ours = [c.body for c in server.of_pull(7) if c.author == ME]
        assert ours == [f"{MARKER}\nsecond\n"]
        assert [body for _, body in server.edits] == ours
        assert theirs.body == f"{MARKER}\nhers"
        without = {k: v for k, v in of_gitlab.items() if k != "GITOPS_MC_COMMENT_TOKEN"}
        asked = len(server.peer.seen)
        assert run(["sh"], script, tmp_path, said(tmp_path, "third\n", 1) | without) == 1
        assert len(server.peer.seen) == asked
    assert (tmp_path / "preview.md").read_text() == "third\n"


def test_tekton_gives_a_file_a_code_and_one_comment(tmp_path: Path) -> None:
    env: dict[str, str] = {}
    preview, comment = (textwrap.dedent(step["script"]) for step in TEKTON["spec"]["steps"])
    (tmp_path / "tokens").mkdir()
    (tmp_path / "tokens" / "token").write_text(f"{TOKEN}\n")
    with running(GiteaPullServer()) as server:
        assert isinstance(server, GiteaPullServer)
        server.put(Pull(7, COMMIT))
        theirs = server.said_by("eve", 7, f"{MARKER}\nhers")
        for text, code in (("first\n", 0), ("second é\n" * 9_000, 4)):
            env = said(tmp_path, text, code) | {
                "BASE": "origin/main",
                "HEAD": "HEAD",
                "GATEWAY": "",
                "REPOSITORY": str(tmp_path),
                "OUT": str(tmp_path),
                "TOKENS": "",
                "CODE": str(tmp_path / "code"),
            }
            assert run(["sh"], preview, tmp_path, env) == 0
            assert (tmp_path / "code").read_text() == str(code)
            assert (tmp_path / "preview.md").read_text() == text
            to = {"FORGE": server.peer.url, "PROJECT": PROJECT, "NUMBER": "7"}
            env |= to | {"TOKENS": str(tmp_path / "tokens")}
            assert run(["python3", "-I", "-"], comment, tmp_path, env) == 0
        (ours,) = [c.body for c in server.of_pull(7) if c.author == ME]
        assert ours.startswith(f"{MARKER}\nsecond é\n")
        assert len(ours.encode()) <= 65_000
        assert theirs.body == f"{MARKER}\nhers"
        asked = len(server.peer.seen)
        assert run(["python3", "-I", "-"], comment, tmp_path, env | {"TOKENS": ""}) == 0
        assert len(server.peer.seen) == asked


@pytest.mark.parametrize("which", ["gitlab", "tekton"])
def test_a_token_of_a_pipeline_is_sent_nowhere_else(tmp_path: Path, which: str) -> None:
    (tmp_path / "token").write_text(TOKEN)
    (tmp_path / "preview.md").write_text("x")
    with serving(Peer(), "here.pem") as elsewhere:
        moved = Response(302, b"{}", {"location": f"{elsewhere.url}/x"})
        with serving(Peer(lambda _: moved), "here.pem") as forge:
            env = said(tmp_path, "x", 0) | {
                "CI_API_V4_URL": forge.url,
                "CI_MERGE_REQUEST_PROJECT_ID": "7",
                "CI_MERGE_REQUEST_SOURCE_PROJECT_ID": "8",
                "CI_MERGE_REQUEST_DIFF_BASE_SHA": COMMIT,
                "CI_MERGE_REQUEST_IID": "7",
                "CI_COMMIT_SHA": COMMIT,
                "GITOPS_MC_COMMENT_TOKEN": TOKEN,
                "FORGE": forge.url,
                "PROJECT": PROJECT,
                "NUMBER": "7",
                "OUT": str(tmp_path),
                "TOKENS": str(tmp_path),
            }
            script = GITLAB["gitops-mc-preview"]["script"][0]
            command = ["sh"]
            if which == "tekton":
                command, script = ["python3", "-I", "-"], TEKTON["spec"]["steps"][1]["script"]
            subprocess.run(
                command, input=script, env=env, cwd=tmp_path, text=True, capture_output=True, check=False
            )
            assert len(forge.seen) == 1
            assert elsewhere.seen == []
