"""What a command loads before it does anything: what it needs, and no library that it does not use."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.program import ROOT, plain_environment

HEAVY = frozenset(
    [
        "apprise",
        "github",
        "gitlab",
        "kubernetes",
        "msgspec",
        "prometheus_client",
        "requests",
        "rich",
        "ruamel",
        "starlette",
        "structlog",
        "urllib3",
        "uvicorn",
        "watchfiles",
    ]
)
_RUN = """
import json, sys
from gitops_mc.cli.program import run
code = run(sys.argv[1:])
print(json.dumps([code, sorted(sys.modules)]), file=sys.stderr)
"""


def loaded(*arguments: str, code: int = 0) -> set[str]:
    """Every module that a run has loaded by its end."""
    done = subprocess.run(
        [sys.executable, "-c", _RUN, *arguments],
        cwd=ROOT,
        env=plain_environment(),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    ended, modules = json.loads(done.stderr.splitlines()[-1])
    assert ended == code, done.stderr
    return set(modules)


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["completion", "bash"]])
def test_what_is_known_without_a_repository_loads_neither_libraries_nor_the_engine(
    arguments: list[str],
) -> None:
    modules = loaded(*arguments)
    assert modules & (HEAVY | {"yaml", "pygit2", "ssl", "asyncio"}) == set()
    engine = (
        "app",
        "adapters",
        "bootstrap",
        "sandbox",
        "core.desired",
        "core.plan",
        "core.rollout",
        "core.rules",
    )
    assert {m for m in modules if m.startswith(tuple(f"gitops_mc.{part}" for part in engine))} == set()


@pytest.mark.parametrize("command", ["validate", "render"])
def test_a_command_that_only_reads_files_of_a_clone_loads_what_reads_them(
    command: str, tmp_path: Path
) -> None:
    shutil.copytree(ROOT / "examples" / "fleet", tmp_path / "fleet")
    subprocess.run(["git", "init", "-q", str(tmp_path / "fleet")], check=True)
    modules = loaded(command, str(tmp_path / "fleet"))
    assert modules & (HEAVY | {"pygit2", "ssl", "asyncio", "concurrent.futures"}) == set()
    beyond = ("gitops_mc.app.executor", "gitops_mc.app.api", "gitops_mc.sandbox", "gitops_mc.core.plan")
    assert {m for m in modules if m.startswith(beyond)} == set()


def test_a_command_that_looks_at_clusters_loads_neither_web_server_nor_what_tells_people() -> None:
    nowhere = ("--gateway", "http://127.0.0.1:9", "--token-file", str(ROOT / "LICENSE"))
    modules = loaded("plan", "examples/fleet", *nowhere, code=1)
    assert modules & (HEAVY - {"kubernetes", "urllib3", "msgspec"}) == set()


def test_a_controller_begins_without_what_tells_people_or_forges() -> None:
    """Those cost the most, and a Fleet may have neither."""
    code = "import sys, gitops_mc.bootstrap.controller; print(*sorted(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], env=plain_environment(), capture_output=True, text=True, check=True
    )
    assert set(done.stdout.split()) & {"apprise", "github", "gitlab", "kubernetes", "requests"} == set()


def test_the_libraries_that_are_looked_for_are_those_that_the_program_needs(tmp_path: Path) -> None:
    known = subprocess.run(
        [
            sys.executable,
            "-c",
            f"import importlib.util as u; print([n for n in {sorted(HEAVY)!r} if not u.find_spec(n)])",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert known.stdout.strip() == "[]", "a name that nothing has is never loaded"
