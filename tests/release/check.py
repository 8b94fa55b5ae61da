"""`make release-check`: whether this checkout can be released as the version that it says."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime

from tests.release import changelog, versions
from tests.release.state import RELEASED, STATES

ROOT = versions.ROOT


def findings() -> Iterator[str]:
    """What is missing, one sentence each."""
    version = versions.current()
    yield from versions.apart()
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    yield from (f"CHANGELOG.md: {told}" for told in changelog.not_ready(text, version, _today()))
    if missing := [name for name in STATES if not (RELEASED / version / name).is_file()]:
        yield f"tests/data/released/{version}: no {', '.join(missing)}: make released-state"
    if _git("status", "--porcelain"):
        yield "there are changes that no commit has: git status"
    if _git("tag", "--list", f"v{version}"):
        yield f"the tag v{version} is there already"


def _today() -> date:
    return datetime.now(UTC).date()


def _git(*words: str) -> str:
    return subprocess.run(
        ["git", *words], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()


if __name__ == "__main__":
    found = list(findings())
    for told in found:
        print(f"not ready: {told}", file=sys.stderr)  # noqa: T201
    if found:
        sys.exit(1)
    print(f"{versions.current()} can be released: git tag --sign v{versions.current()}")  # noqa: T201
