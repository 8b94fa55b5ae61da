"""Wheel and sdist, the same bytes for the same commit: `python -m tests.release.dist FOLDER`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.release.versions import ROOT


def epoch() -> str:
    """The time that the archives say: of the commit, whenever they are built."""
    if said := os.environ.get("SOURCE_DATE_EPOCH"):
        return said
    return subprocess.run(
        ["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()


def build(folder: Path, root: Path = ROOT, at: str | None = None) -> tuple[Path, Path]:
    """The wheel and the sdist of a checkout, or of an sdist that was unpacked."""
    folder.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--directory", str(folder.resolve())],
        cwd=root,
        env={**os.environ, "SOURCE_DATE_EPOCH": at or epoch()},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stdout + done.stderr)
    [wheel], [sdist] = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, sdist


if __name__ == "__main__":
    place = Path(sys.argv[1])
    for old in (*place.glob("gitops_mc-*.whl"), *place.glob("gitops_mc-*.tar.gz")):
        old.unlink()
    for made in build(place):
        print(made)  # noqa: T201
