"""The real kubectl, for tests: where it is found, and what it says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.apiserver.binaries import built

GET_KUBECTL = (
    "kubectl is neither on the PATH nor in the cache folder. Get it from https://kubernetes.io/docs/tasks/tools/, or let "
    "`make test-apiserver` build it"
)


def find_kubectl() -> Path | None:
    """The one on the PATH, or the one that was built for the tests on real API servers."""
    if (found := shutil.which("kubectl")) is not None:
        return Path(found)
    binaries = built()
    return binaries.kubectl if binaries is not None and binaries.kubectl.is_file() else None


@dataclass(frozen=True)
class Said:
    """How a run of kubectl ended. Runs of blanks are one, for columns are as wide as what stands in them."""

    code: int
    out: str
    err: str

    @property
    def rows(self) -> list[list[str]]:
        """The table it printed."""
        return [line.split() for line in self.out.splitlines() if line]

    def column(self, title: str) -> list[str]:
        head, *rows = self.rows
        return [row[head.index(title)] for row in rows]


@dataclass(frozen=True)
class Kubectl:
    """Somebody at a terminal: one context of one kubeconfig, and a folder for files."""

    program: Path
    kubeconfig: Path
    folder: Path
    context: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, *words: str, stdin: str = "", **environment: str) -> Said:
        """Run it, for twenty seconds at most."""
        done = subprocess.run(
            [str(self.program), *(("--context", self.context) if self.context else ()), *words],
            cwd=self.folder,
            env=self._environment(environment),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )
        return Said(done.returncode, _even(done.stdout), _even(done.stderr))

    def ok(self, *words: str, stdin: str = "", **environment: str) -> Said:
        said = self(*words, stdin=stdin, **environment)
        assert said.code == 0, f"kubectl {' '.join(words)} ended with {said.code}: {said.err}{said.out}"
        return said

    def start(self, *words: str) -> subprocess.Popen[str]:
        """For a command that goes on; whoever starts it kills it."""
        return subprocess.Popen(
            [str(self.program), *(("--context", self.context) if self.context else ()), *words],
            cwd=self.folder,
            env=self._environment({}),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def _environment(self, more: Mapping[str, str]) -> dict[str, str]:
        kept = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "KUBECONFIG": str(self.kubeconfig)}
        return {**kept, **self.environment, **more}


def _even(text: str) -> str:
    return re.sub(r"[ \t]+", " ", text)
