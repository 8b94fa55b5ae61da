"""What is released: wheel and sdist, what is in them, and that they are the same whoever builds them."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from gitops_mc import __version__
from tests.e2e.program import plain_environment
from tests.release.dist import build
from tests.release.versions import ROOT

AT = "1767225600"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return build(tmp_path_factory.mktemp("dist"), at=AT)


def digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def in_sdist(sdist: Path) -> set[str]:
    with tarfile.open(sdist) as archive:
        return {name.partition("/")[2] for name in archive.getnames()}


def test_the_same_commit_gives_the_same_bytes_wherever_and_by_whomever(
    built: tuple[Path, Path], tmp_path: Path
) -> None:
    wheel, sdist = built
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    [root] = (tmp_path / "unpacked").iterdir()
    for file in root.rglob("*"):
        os.utime(file, (1, 1))
        file.chmod(0o700 if file.is_dir() or os.access(file, os.X_OK) else 0o600)
    again_wheel, again_sdist = build(tmp_path / "again", at=AT)
    from_sdist, _ = build(tmp_path / "from-sdist", root=root, at=AT)
    assert digest(again_wheel) == digest(wheel)
    assert digest(again_sdist) == digest(sdist)
    assert digest(from_sdist) == digest(wheel), "the sdist is all that the wheel is made of"


def test_the_wheel_has_the_program_its_examples_definitions_licence_and_man_page_and_nothing_else(
    built: tuple[Path, Path],
) -> None:
    names = set(zipfile.ZipFile(built[0]).namelist())
    info, data = f"gitops_mc-{__version__}.dist-info", f"gitops_mc-{__version__}.data"
    code = {str(p.relative_to(ROOT)) for p in (ROOT / "gitops_mc").rglob("*") if p.is_file()}
    examples, crds = ROOT / "examples" / "fleet", ROOT / "deploy" / "crds"
    wanted = {
        *(name for name in code if "__pycache__" not in name),
        *(f"gitops_mc/examples/{p.relative_to(examples)}" for p in examples.rglob("*") if p.is_file()),
        *(f"gitops_mc/crds/{p.relative_to(crds)}" for p in crds.rglob("*") if p.is_file()),
        f"{info}/licenses/LICENSE",
        *(f"{info}/{name}" for name in ("METADATA", "RECORD", "WHEEL", "entry_points.txt")),
        f"{data}/data/share/man/man1/gitops-mc.1",
    }
    assert names == wanted
    assert not any("test" in Path(name).parts for name in names)


def test_the_sdist_has_no_tests_and_nothing_of_a_work_tree(built: tuple[Path, Path]) -> None:
    tops = {name.partition("/")[0] for name in in_sdist(built[1])}
    assert tops == {
        "gitops_mc",
        "examples",
        "deploy",
        "man",
        "CHANGELOG.md",
        "LICENSE",
        "PKG-INFO",
        "README.md",
        "pyproject.toml",
        ".gitignore",
    }
    assert {n for n in in_sdist(built[1]) if n.startswith("deploy/")} == {
        f"deploy/crds/{file.name}" for file in (ROOT / "deploy" / "crds").iterdir()
    }


@pytest.mark.slow
def test_the_wheel_installed_from_pypi_alone_does_what_the_readme_says_in_an_empty_folder(
    built: tuple[Path, Path], tmp_path: Path
) -> None:
    """By the lock's part for running, hashes and all; far from the checkout, with nothing of it to import."""
    part = run(
        tmp_path,
        sys.executable,
        str(ROOT / "deploy" / "image" / "part_of_lock.py"),
        str(ROOT / "requirements.lock"),
        "gitops-mc (pyproject.toml)",
    )
    (tmp_path / "run.lock").write_text(part)
    run(tmp_path, sys.executable, "-m", "venv", "venv")
    pip = ("venv/bin/python", "-m", "pip", "--isolated", "--disable-pip-version-check", "install", "--quiet")
    run(tmp_path, *pip, "--require-hashes", "--only-binary", ":all:", "-r", "run.lock")
    run(tmp_path, *pip, "--no-deps", "--no-index", str(built[0]))
    run(tmp_path, "venv/bin/python", "-m", "pip", "check")
    empty = tmp_path / "empty"
    empty.mkdir()
    program = str(tmp_path / "venv" / "bin" / "gitops-mc")
    assert run(empty, program, "--version") == f"gitops-mc {__version__}\n"
    assert "Everything came true" in run(empty, program, "demo")
    [package] = (tmp_path / "venv").glob("lib/python3*/site-packages/gitops_mc")
    assert "0 errors" in run(empty, program, "validate", str(package / "examples"))
    assert (tmp_path / "venv" / "share" / "man" / "man1" / "gitops-mc.1").is_file()
    assert list(empty.iterdir()) == []


def run(folder: Path, *words: str) -> str:
    """It has to end well; nothing of this checkout is on its path."""
    environment = {
        k: v for k, v in plain_environment().items() if not k.startswith(("PYTHON", "PIP_", "VIRTUAL"))
    }
    done = subprocess.run(
        [str(folder / words[0]) if words[0].startswith("venv/") else words[0], *words[1:]],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.skipif(shutil.which("groff") is None, reason="there is no groff here")
def test_the_man_page_is_roff_without_a_warning(tmp_path: Path) -> None:
    done = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww", "-z", str(ROOT / "man" / "gitops-mc.1")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
