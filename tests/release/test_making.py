"""A release is made in a copy of this checkout, in the order of the page, and the check says when it can be."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.release.versions import ROOT

NEXT = "97.0.0"
_PERSON = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")


class Checkout:
    """A repository of its own, with what lies here."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        listed = self.ended(
            ROOT, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"
        ).stdout
        for name in filter(None, listed.split("\0")):
            if (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, folder / name)
        self.ended(folder, "git", "init", "-q")
        self.commit("as it is")

    def commit(self, message: str) -> None:
        self.ended(self.folder, "git", "add", "-A")
        self.ended(self.folder, "git", *_PERSON, "commit", "-q", "-m", message)

    def module(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self.ended(self.folder, sys.executable, "-m", *words, well=False)

    def ended(self, folder: Path, *words: str, well: bool = True) -> subprocess.CompletedProcess[str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
        done = subprocess.run(
            words,
            cwd=folder,
            env={**kept, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0 or not well, done.stdout + done.stderr
        return done


@pytest.mark.slow
def test_a_release_is_made_in_the_order_of_the_page(tmp_path: Path) -> None:
    checkout = Checkout(tmp_path)
    for step in (
        ("tests.release.versions", NEXT),
        ("tests.deploy.chart",),
        ("tests.docs.reference",),
    ):
        done = checkout.module(*step)
        assert done.returncode == 0, done.stderr
    unready = checkout.module("tests.release.check")
    assert unready.returncode == 1
    for told in (f"no section {NEXT}", "Unreleased is not empty", "make released-state", "no commit has"):
        assert told in unready.stderr

    changelog = tmp_path / "CHANGELOG.md"
    heading = f"## Unreleased\n\n## {NEXT} - {datetime.now(UTC).date()}\n"
    changelog.write_text(changelog.read_text().replace("## Unreleased\n", heading))
    assert checkout.module("tests.release.state").returncode == 0
    assert checkout.module("tests.release.state").returncode == 1, "never written over"
    checkout.commit(NEXT)
    ready = checkout.module("tests.release.check")
    assert (ready.returncode, ready.stderr) == (0, "")
    assert ready.stdout == f"{NEXT} can be released: git tag --sign v{NEXT}\n"

    built = checkout.module("tests.release.dist", "dist")
    assert built.stdout.split() == [
        f"dist/gitops_mc-{NEXT}-py3-none-any.whl",
        f"dist/gitops_mc-{NEXT}.tar.gz",
    ]
    suites = ("tests/release", "tests/docs/test_pages.py", "tests/docs/test_reference.py")
    tested = checkout.module("pytest", "-n0", "-p", "no:cacheprovider", "-m", "not slow", *suites)
    assert tested.returncode == 0, tested.stdout

    checkout.ended(tmp_path, "git", "tag", f"v{NEXT}")
    assert f"the tag v{NEXT} is there already" in checkout.module("tests.release.check").stderr
