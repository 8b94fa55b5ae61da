"""The Dockerfile, read: there is no container engine where the tests run. What its pip steps do was tried by hand.

hadolint, the usual linter, is a Haskell program that neither PyPI nor Go's module proxy has. What of its rules would matter here
stands below, and what it does not ask.
"""

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
from pathlib import Path

import pytest

from gitops_mc import __version__
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


def test_every_step_says_what_it_needs_of_its_own_layer_and_stops_where_something_fails() -> None:
    for step in said("RUN"):
        assert not re.search(r"(?<!\|)\|(?!\|)|;(?! *\\)|\bsudo\b|\bcd\b", step), step
        assert not re.search(r"apt-get (dist-)?upgrade|\bapt (install|update)|chmod [0-7]*7", step), step
        if "apt-get install" in step:
            update, install, clean = (
                step.find(word) for word in ("apt-get update", "apt-get install", "rm -rf /var/lib/apt/lists")
            )
            assert 0 <= update < install < clean
            packages = step[install:].split(" && ")[0].split()[2:]
            named = [word for word in packages if not word.startswith("--")]
            assert named == sorted(named)
            assert "--yes" in packages


def test_stages_and_folders_are_named_and_commands_are_lists() -> None:
    stages = {rest.split()[2] for rest in said("FROM") if " AS " in rest}
    taken_from = {found for rest in said("COPY") for found in re.findall(r"--from=(\S+)", rest)}
    assert taken_from == stages
    assert not {rest.split()[0] for rest in said("COPY")} & {".", "./"}, "what is copied is named"
    assert all(folder.startswith("/") for folder in said("WORKDIR"))
    assert all(isinstance(json.loads(rest), list) for word in ("ENTRYPOINT", "CMD") for rest in said(word))


def test_the_image_that_runs_has_no_pip_and_no_program_that_makes_its_user_root() -> None:
    words = [i.word for i in LAST_STAGE]
    [step] = said("RUN", LAST_STAGE)
    assert re.search(r"python -m pip uninstall --yes \S* ?pip setuptools wheel", step)
    assert "rm -rf /usr/local/lib/python3.*/ensurepip" in step
    assert "find / -xdev -type f -perm /6000 -exec chmod ug-s {} +" in step
    assert words.count("USER") == 1
    assert "RUN" not in words[words.index("USER") :]


def test_it_says_which_version_it_is_and_asks_for_no_other_image() -> None:
    [labels] = said("LABEL")
    assert f'org.opencontainers.image.version="{__version__}"' in labels
    assert not re.search(r"(?m)^# *syntax=", TEXT)


def test_git_ssh_and_gpg_are_there_and_no_list_of_packages_stays() -> None:
    [step] = [rest for rest in said("RUN", LAST_STAGE) if "apt-get" in rest]
    assert "--no-install-recommends" in step
    assert "rm -rf /var/lib/apt/lists/*" in step
    assert {"git", "openssh-client", "gpg", "ca-certificates"} <= set(step.split())


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
        *(str(Path(file).parent) for file in wheel["shared-data"]),
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
