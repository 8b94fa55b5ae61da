"""One version, wherever it is read."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from gitops_mc import __version__
from tests.release.versions import PLACES, ROOT, VERSION, apart, current, order, write


def test_whoever_reads_a_version_reads_the_same_one() -> None:
    assert current() == __version__
    assert list(apart()) == []


def test_the_package_takes_it_from_the_program() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["project"]["dynamic"] == ["version"]
    assert "version" not in project["project"]
    assert project["tool"]["hatch"]["version"]["path"] == PLACES[0].file


def test_no_version_of_ours_stands_where_nobody_compares_it() -> None:
    known = {place.file for place in PLACES}
    listed = subprocess.run(
        ["git", "ls-files", "*.md", "*.yaml", "*.toml", "Dockerfile", "Makefile", ".ci/*"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    pattern = re.compile(rf"gitops[-_]mc[:= -]v?({VERSION})\b|newTag: ({VERSION})\b")
    stray = [f for f in listed if f not in known and pattern.search((ROOT / f).read_text(encoding="utf-8"))]
    assert stray == []


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for file in {place.file for place in PLACES}:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, tmp_path / file)
    return tmp_path


@pytest.mark.parametrize("version", ["7.8.9", "7.8.9-rc.1"])
def test_another_version_is_written_everywhere(copy: Path, version: str) -> None:
    write(version, copy)
    assert list(apart(copy)) == []
    assert {v for place in PLACES for v in place.found(copy)} == {version}
    write("7.9.0", copy)
    assert {v for place in PLACES for v in place.found(copy)} == {"7.9.0"}


def test_what_is_written_is_what_is_compared() -> None:
    written = ["0.9.9", "1.2.3-a.1", "1.2.3-b.1", "1.2.3-rc.2", "1.2.3-rc.10", "1.2.3", "1.10.0"]
    assert sorted(written, key=order) == written
    assert all(re.fullmatch(VERSION, one) for one in written)


def test_a_place_that_lags_behind_is_named(copy: Path) -> None:
    chart = copy / "deploy/chart/Chart.yaml"
    chart.write_text(chart.read_text().replace(f"appVersion: {__version__}", "appVersion: 0.0.9"))
    [told] = apart(copy)
    assert "deploy/chart/Chart.yaml: 0.0.9" in told


@pytest.mark.parametrize("word", ["", "1.2", "v1.2.3", "1.2.3\n", "latest", "1.2.3rc1", "1.2.3-rc"])
def test_what_is_no_version_is_not_written(copy: Path, word: str) -> None:
    with pytest.raises(ValueError, match="no version"):
        write(word, copy)
    assert list(apart(copy)) == []
