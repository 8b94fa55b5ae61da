"""Whether the lower bounds of our dependencies are true: `python -m tests.release.bounds`.

The oldest releases that pyproject.toml allows are put into an environment of its own under build/, and the tests that use the
libraries are run with them. What these need in turn is as new as it may be: that is what somebody gets who has the oldest of ours.
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

from tests.release.versions import ROOT

BUILD = ROOT / "build" / "bounds"
TESTED = (
    "tests/adapters",
    "tests/web",
    "tests/core/test_render_yaml.py",
    "tests/e2e/test_cli_exits.py",
    "tests/e2e/test_cli_repository.py",
    "tests/e2e/test_cli_live.py",
    "tests/e2e/test_completion.py",
    "tests/e2e/test_notify.py",
)
"""One part at least for every library: clients, Git, messages, web, command line."""
_TESTING = ("pytest", "pytest-xdist", "hypothesis", "asyncssh", "hatchling", "editables")


def environment(place: Path = BUILD) -> Path:
    """Its Python. Raises CalledProcessError where the bounds cannot be had together."""
    place.mkdir(parents=True, exist_ok=True)
    tools, oldest = place / "tools", place / "oldest"
    venv.create(tools, with_pip=True, symlinks=True)
    _run(tools / "bin" / "python", "-m", "pip", "install", "--quiet", "uv")
    uv, python, lock = tools / "bin" / "uv", oldest / "bin" / "python", place / "oldest.lock"
    said = ("--quiet", "--python-version", "3.11", "--no-header", "--no-annotate")
    _run(uv, "pip", "compile", *said, "--resolution", "lowest-direct", ROOT / "pyproject.toml", "-o", lock)
    venv.create(oldest, clear=True, symlinks=True)
    _run(uv, "pip", "install", "--quiet", "--python", python, "-r", lock)
    _run(uv, "pip", "install", "--quiet", "--python", python, *_TESTING, "--constraint", lock)
    _run(
        uv,
        "pip",
        "install",
        "--quiet",
        "--python",
        python,
        "--no-deps",
        "--no-build-isolation",
        "--editable",
        ROOT,
    )
    return python


def _run(*words: str | Path) -> None:
    subprocess.run([str(word) for word in words], check=True)


if __name__ == "__main__":
    with_oldest = environment()
    chosen = ("-m", "not slow and not apiserver", "-p", "no:cacheprovider", "-n", "auto")
    code = subprocess.run(
        [str(with_oldest), "-m", "pytest", *chosen, *TESTED],
        cwd=ROOT,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        check=False,
    ).returncode
    sys.exit(code)
