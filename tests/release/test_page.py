"""The page on releases names what there is, and the check says the truth about this checkout."""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import UTC, datetime

from gitops_mc import __version__
from tests.release.changelog import not_ready
from tests.release.check import findings
from tests.release.versions import ROOT

PAGE = (ROOT / "docs" / "releasing.md").read_text(encoding="utf-8")


def test_every_target_that_the_page_names_is_one() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    named = {word for line in re.findall(r"`make ([^`]+)`", PAGE) for word in line.split() if "=" not in word}
    assert named - targets == set()
    assert {"version", "released-state", "bounds", "release-check", "dist", "sbom"} <= named


def test_every_file_that_the_page_names_is_there() -> None:
    named = re.findall(r"`((?:gitops_mc|tests|deploy)/[\w./]+)`", PAGE)
    assert named
    for file in named:
        assert (ROOT / file.replace("/0.2.0", "")).exists(), file


def test_the_check_ends_with_what_it_found() -> None:
    found = list(findings())
    done = subprocess.run(
        [sys.executable, "-m", "tests.release.check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == (1 if found else 0)
    assert done.stderr.splitlines() == [f"not ready: {told}" for told in found]
    if not found:
        assert __version__ in done.stdout


def test_the_check_asks_the_changelog() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    told = set(not_ready(text, __version__, datetime.now(UTC).date()))
    assert {f"CHANGELOG.md: {sentence}" for sentence in told} <= set(findings())
