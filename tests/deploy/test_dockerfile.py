"""The Dockerfile, read: there is no container engine where the tests run. What its pip steps do was tried by hand."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib import metadata

import pytest

from tests.deploy.rendering import DEPLOY, only, rendered

ROOT = DEPLOY.parent
TEXT = (ROOT / "Dockerfile").read_text()
PART_OF_LOCK = DEPLOY / "image" / "part_of_lock.py"
_EXACT = re.compile(r"python:3\.(1[1-9])\.\d+-slim-[a-z]+(@sha256:[0-9a-f]{64})?")
_INSTRUCTIONS = frozenset(
    ["ARG", "FROM", "WORKDIR", "ENV", "COPY", "RUN", "LABEL", "USER", "EXPOSE", "ENTRYPOINT", "CMD"]
)


@dataclass(frozen=True, slots=True)
class Instruction:
    word: str
    rest: str


def instructions() -> Iterator[Instruction]:
    """Comments left out, continued lines joined."""
    kept = "\n".join(line for line in TEXT.splitlines() if not line.startswith("#"))
    for line in re.sub(r"\\\n\s*", " ", kept).splitlines():
        if line.strip():
            word, _, rest = line.partition(" ")
            yield Instruction(word, rest.strip())


ALL = tuple(instructions())
LAST_STAGE = ALL[max(n for n, i in enumerate(ALL) if i.word == "FROM") :]


def said(word: str, among: tuple[Instruction, ...] = ALL) -> tuple[str, ...]:
    return tuple(i.rest for i in among if i.word == word)


def test_only_instructions_that_are_understood_here_stand_in_it() -> None:
    assert {i.word for i in ALL} <= _INSTRUCTIONS, (
        "ADD, which fetches, and ONBUILD, HEALTHCHECK and the like are not used"
    )


def test_the_base_is_pinned_and_the_same_in_every_stage() -> None:
    [base] = [rest.removeprefix("BASE=") for rest in said("ARG")]
    assert _EXACT.fullmatch(base)
    assert {rest.split()[0] for rest in said("FROM")} == {"${BASE}"}
    assert "latest" not in TEXT


def test_what_runs_is_nobody_special_with_a_line_in_passwd_and_the_ids_of_the_deployment() -> None:
    pod = only(rendered(DEPLOY / "base"), "Deployment", "gitops-mc", "gitops-mc")["spec"]["template"]["spec"]
    ids = pod["securityContext"]
    assert LAST_STAGE[-1].word in ("CMD", "ENTRYPOINT")
    assert said("USER", LAST_STAGE) == (f"{ids['runAsUser']}:{ids['runAsGroup']}",)
    [made] = re.findall(r"useradd --uid (\d+) --user-group", TEXT)
    assert int(made) == ids["runAsUser"] > 0


def test_it_serves_the_ports_of_the_deployment_and_takes_its_signals_itself() -> None:
    pod = only(rendered(DEPLOY / "base"), "Deployment", "gitops-mc", "gitops-mc")["spec"]["template"]["spec"]
    ports = {str(p["containerPort"]) for p in pod["containers"][0]["ports"]}
    assert set(said("EXPOSE", LAST_STAGE)[0].split()) == ports
    assert json.loads(said("ENTRYPOINT", LAST_STAGE)[0]) == ["gitops-mc"]
    assert json.loads(said("CMD", LAST_STAGE)[0])[0] == "controller"


@pytest.mark.parametrize("step", re.findall(r"bin/pip\s[^&\n]*", " ".join(said("RUN"))))
def test_pip_installs_by_hash_or_from_what_is_there(step: str) -> None:
    assert "--require-hashes" in step or ("--no-deps" in step and "--no-index" in step)


def test_git_ssh_and_gpg_are_there_and_no_list_of_packages_stays() -> None:
    [step] = [rest for rest in said("RUN", LAST_STAGE) if "apt-get" in rest]
    assert "--no-install-recommends" in step
    assert "rm -rf /var/lib/apt/lists/*" in step
    assert {"git", "openssh-client", "gnupg", "ca-certificates"} <= set(step.split())


def test_nothing_is_fetched_but_by_apt_and_pip_and_nothing_secret_is_baked_in() -> None:
    assert not re.search(r"curl|wget|http://|https://", " ".join(said("RUN")))
    assert not re.search(r"(?i)token|secret|password", " ".join((*said("ENV"), *said("ARG"), *said("LABEL"))))


def test_whatever_is_copied_is_there_and_let_in() -> None:
    sources = [s for rest in said("COPY") if "--from" not in rest for s in rest.split()[:-1]]
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    let_in = [line.removeprefix("!") for line in lines if line.startswith("!")]
    for source in sources:
        assert (ROOT / source).exists(), source
        assert any(fnmatchcase(source.removeprefix("./"), f"{pattern}*") for pattern in let_in), source


def test_whatever_the_wheel_is_made_of_is_copied() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {
        project["project"]["readme"],
        *project["project"]["license-files"],
        *wheel["packages"],
        *wheel["force-include"],
    }
    copied = {s.removeprefix("./") for rest in said("COPY") for s in rest.split()[:-1]}
    assert needed <= copied


# ---------------------------------------------------------------------------------------------- the part of the lock


def part(*roots: str) -> dict[str, list[str]]:
    """Lines by package."""
    done = subprocess.run(
        [sys.executable, str(PART_OF_LOCK), str(ROOT / "requirements.lock"), *roots],
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, list[str]] = {}
    for line in done.stdout.splitlines():
        if not line.startswith(" "):
            found[line.partition("==")[0]] = []
        found[list(found)[-1]].append(line)
    return found


def test_what_runs_is_all_that_the_program_needs_with_hashes_and_nothing_that_builds_or_tests() -> None:
    found = part("gitops-mc (pyproject.toml)")
    assert needed_to_run("gitops-mc") <= found.keys()
    assert not found.keys() & {
        "pytest",
        "mypy",
        "ruff",
        "hatchling",
        "hypothesis",
        "asyncssh",
        "import-linter",
    }
    assert all(any("--hash=sha256:" in line for line in lines) for lines in found.values())
    lock = (ROOT / "requirements.lock").read_text()
    assert all(line in lock for lines in found.values() for line in lines)


def test_a_root_that_the_lock_does_not_know_is_an_error() -> None:
    with pytest.raises(subprocess.CalledProcessError):
        part("no-such-package")


def needed_to_run(package: str) -> set[str]:
    """What a package requires, and so on, of what is installed here and without extras."""
    found: set[str] = set()
    waiting = [package]
    while waiting:
        for requirement in metadata.requires(waiting.pop()) or ():
            name = (
                re.split(r"[ <>=!~;\[(]", requirement, maxsplit=1)[0]
                .lower()
                .replace("_", "-")
                .replace(".", "-")
            )
            if "extra ==" in requirement or name in found or not _is_here(name):
                continue
            found.add(name)
            waiting.append(name)
    return found


def _is_here(name: str) -> bool:
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return False
    return True
