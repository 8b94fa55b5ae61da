"""Whatever a page shows to be typed is understood: of gitops-mc everywhere, of kubectl on the pages for whoever operates it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from gitops_mc.cli.program import program
from tests.docs.readme import PAGES, ROOT, console_blocks
from tests.e2e.fleet_site import GROUP, Site, site
from tests.sandbox.kubectl import GET_KUBECTL, Kubectl, find_kubectl

OPERATING = [
    page
    for page in PAGES
    if page.parent.name == "runbooks" or page.name in {"upgrade.md", "disaster-recovery.md", "break-glass.md"}
]
_KUBECTL = find_kubectl()
_NOT_SERVED = ("logs", "top", "rollout", "auth", "--raw")
"""What the sandbox does not answer: kubectl has to understand these, and no more."""
_WRITES = {"apply", "create", "patch", "annotate", "delete"}
_FILES = ("my-install", "deploy/crds", "api-token.txt")


def typed(page: Path, program_name: str) -> Iterator[str]:
    """The lines of console blocks that begin with a program, without where their output goes."""
    for block in console_blocks(page.read_text(encoding="utf-8")):
        for command in block:
            if command.line.startswith(f"{program_name} "):
                yield re.split(r" (?:>|\|) ", command.line)[0]


@pytest.mark.parametrize("line", sorted({line for page in PAGES for line in typed(page, "gitops-mc")}))
def test_every_command_that_a_page_shows_is_understood(line: str) -> None:
    _, name, *arguments = shlex.split(line)
    command = program().commands[name]
    with click.Context(command, info_name=name):
        command.make_context(name, arguments)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_that_is_named_in_a_sentence_is_one(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    named = {" ".join(code.split()).split(" ")[1] for code in re.findall(r"`(gitops-mc\s[^`]+)`", text)}
    assert {n for n in named if re.fullmatch(r"[a-z][a-z-]+", n)} - program().commands.keys() == set()


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with site(tmp_path_factory.mktemp("commands")) as place:
        rollout = {
            "apiVersion": "gitops-mc.io/v1alpha1",
            "kind": "ClusterRollout",
            "metadata": {"name": "edge-1"},
        }
        place.call(
            "POST", f"{GROUP}/clusterrollouts", {**rollout, "spec": {"fleet": "prod", "cluster": "edge-1"}}
        )
        lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "gitops-mc"}}
        place.call("POST", "/apis/coordination.k8s.io/v1/namespaces/gitops-mc/leases", {**lease, "spec": {}})
        yield place


@pytest.mark.slow
@pytest.mark.skipif(_KUBECTL is None, reason=GET_KUBECTL)
@pytest.mark.parametrize("line", sorted({line for page in OPERATING for line in typed(page, "kubectl")}))
def test_every_kubectl_that_an_operator_is_told_to_type_is_understood(fleet: Site, line: str) -> None:
    assert _KUBECTL is not None
    words = shlex.split(line)[1:]
    where = _context(fleet, words)
    if any(word in words for word in _NOT_SERVED) or any(name in line for name in _FILES):
        words = [word for word in words if not word.startswith("--timeout")]
        said = (
            where(words[0], "--help")
            if words[0] in {"rollout", "apply"}
            else where(*words, "--request-timeout=2s")
        )
        assert not re.search(r"unknown (flag|shorthand|command)|error: (required|invalid)", said.err), (
            said.err
        )
        return
    dry = ["--dry-run=server"] if _WRITES & set(words) else []
    said = where(*words, *dry)
    assert said.code == 0 or "NotFound" in said.err, said.err
    assert "doesn't have a resource type" not in said.err


def _context(fleet: Site, words: list[str]) -> Kubectl:
    """Whoever types it; cluster `global` unless the line says another one."""
    assert _KUBECTL is not None
    kubeconfig = fleet.folder / "sandbox" / "kubeconfig"
    return Kubectl(_KUBECTL, kubeconfig, fleet.folder, "" if "--context" in words else "global")


def test_the_pages_for_operators_show_what_is_typed_with_kubectl() -> None:
    assert len({line for page in OPERATING for line in typed(page, "kubectl")}) > 30
