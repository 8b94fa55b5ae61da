"""Commands as they are typed for a Fleet: every one that the core can say, and each one is a command that there is."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from gitops_mc.cli.program import program
from gitops_mc.cli.table import COMMANDS
from gitops_mc.core.render.fleet_commands import DRIVEN, FleetCommands
from gitops_mc.core.rollout.driver import UNDRIVEN

PROD = FleetCommands("prod")
PACKAGE = Path(__file__).parents[2] / "gitops_mc"
NAMES = "|".join(str(command.name) for command in COMMANDS)
COMMAND = re.compile(rf"gitops-mc ({NAMES})\b")
FOR_A_FLEET = re.compile(rf"gitops-mc (?:{NAMES})(?: (?:(?!gitops-mc).)*?)? --fleet prod")
FOR_A_FOLDER = re.compile(r"gitops-mc (?:plan|validate|diff|doctor) REPO(?: --cluster [\w-]+)?")

WITHOUT_A_CONTROLLER = {
    "core/rollout/ending.py": "the end of a run by hand, of some clusters",
    "core/render/plan_markdown.py": "a plan is made by the command line",
    "core/render/preview/whole.py": "what shows all of a preview is run in a clone, whoever posted it",
    "core/custom/pull_comment.py": "what shows all of a preview is run in a clone; the other is a mark that nobody reads",
    "core/doctor/plugin.py": "the doctor is a command",
    "core/authoring/templates.py": "a manifest is begun by the command line",
}
"""Files whose sentences no controller ever says."""


def sentences() -> Iterator[tuple[str, str]]:
    """Every text of the core, and of what the controller is made of, that names a command; with its file."""
    for part in ("core", "app"):
        for file in sorted((PACKAGE / part).rglob("*.py")):
            where = str(file.relative_to(PACKAGE))
            # what is said of Fleets alone names them already
            if where in WITHOUT_A_CONTROLLER or "use_cases" in where or "render/fleet_" in where:
                continue
            for text in _texts(ast.parse(file.read_text(encoding="utf-8"))):
                if COMMAND.search(text):
                    yield where, text


def _texts(tree: ast.Module) -> Iterator[str]:
    skipped: set[int] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Module() | ast.ClassDef() | ast.FunctionDef() if ast.get_docstring(node) is not None:
                skipped.add(id(node.body[0].value))  # type: ignore[attr-defined]
            case ast.Expr(value=ast.Constant()):
                skipped.add(id(node.value))
            case ast.JoinedStr(values=values):
                skipped |= {id(value) for value in values}
                yield "".join(str(v.value) if isinstance(v, ast.Constant) else "x-1" for v in values)
            case ast.Constant(value=str() as text) if id(node) not in skipped:
                yield text.replace("{0}", "x-1")


SENTENCES = sorted(set(sentences()))


def typed(text: str) -> list[str]:
    return [*FOR_A_FLEET.findall(text), *FOR_A_FOLDER.findall(text)]


def test_the_walk_through_the_sources_finds_what_is_said_there() -> None:
    found = {where for where, _ in SENTENCES}
    assert {"core/rollout/outlook.py", "core/rollout/waves.py", "core/why/cluster.py"} <= found
    assert len(SENTENCES) > 40


@pytest.mark.parametrize(("where", "text"), SENTENCES)
def test_every_command_that_the_core_says_is_told_for_a_fleet_and_can_be_typed(where: str, text: str) -> None:
    told = PROD.said(text)
    left = FOR_A_FOLDER.sub("", FOR_A_FLEET.sub("", told))
    assert not COMMAND.search(left), (where, told)
    for command in typed(told):
        _parsed(command)


def _parsed(command: str) -> None:
    """Whether the program understands the line; nothing is run."""
    _, name, *arguments = shlex.split(command)
    known = program().commands[name]
    with click.Context(known, info_name=name):
        known.make_context(name, [a for a in arguments if a != "REPO"])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("gitops-mc apply --approve rest", "gitops-mc approve rest --fleet prod"),
        ("mend it, or: gitops-mc skip edge-1", "mend it, or: gitops-mc skip edge-1 --fleet prod"),
        ("gitops-mc release edge-1, or --all", "gitops-mc release edge-1 --fleet prod, or --all"),
        ("see gitops-mc release --all.", "see gitops-mc release --all --fleet prod."),
        ("undo: gitops-mc skip edge-1 --undo", "undo: gitops-mc skip edge-1 --undo --fleet prod"),
        (
            "gitops-mc accept drift:MachineConfig/50-worker.x --cluster edge-1; gitops-mc accept m-1",
            "gitops-mc accept drift:MachineConfig/50-worker.x --cluster edge-1 --fleet prod; gitops-mc accept m-1 --fleet prod",
        ),
        (
            "gitops-mc apply --override-window edge-1 --reason TEXT",
            "gitops-mc sync edge-1 --override-window --reason TEXT --fleet prod",
        ),
        ("gitops-mc plan --cluster edge-1", "gitops-mc plan REPO --cluster edge-1"),
        (UNDRIVEN, DRIVEN),
        ("resume the rollout", "gitops-mc resume --fleet prod"),
        ("take the hold of edge-1 back", "gitops-mc release edge-1 --fleet prod"),
        ("the halt is lifted: writes go on with the next apply", "the halt is lifted: writes go on"),
        ("not a word of it: kubectl get nodes", "not a word of it: kubectl get nodes"),
    ],
)
def test_commands_are_told_for_a_fleet_once(text: str, told: str) -> None:
    assert PROD.said(text) == told
    assert PROD.said(told) == told


def test_the_namespace_is_told_where_it_is_not_the_usual_one() -> None:
    elsewhere = FleetCommands("prod", "machines").said("gitops-mc release edge-1 lifts that")
    assert elsewhere == "gitops-mc release edge-1 --fleet prod --namespace machines lifts that"
