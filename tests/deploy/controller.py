"""The controller as a process, with the rights that deploy/ grants it, and a Git repository that it follows."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.adapters.git_servers import Origin
from tests.apiserver.processes import Child, start
from tests.e2e.program import plain_environment

NAMESPACE = "gitops-mc"
PROGRAM = (sys.executable, "-m", "gitops_mc.cli", "controller")
ACCOUNT = "gitops-mc"
"""The controller's ServiceAccount."""
GATEWAY_USER = "gitops-mc-gateway"
"""The user of the gateway's token, as deploy/workload calls it."""


@contextmanager
def running(
    folder: Path,
    *arguments: str,
    program: tuple[str, ...] = PROGRAM,
    environment: Mapping[str, str] | None = None,
    log: str = "controller.log",
) -> Iterator[Child]:
    """Until the end of the `with`: then it has to end by itself, with 0, within ten seconds of being asked to."""
    env = {**plain_environment(), **(environment or {})}
    child = start("controller", [*program, f"--cache={folder / 'cache'}", *arguments], folder / log, env)
    try:
        yield child
        child.process.terminate()
        assert child.process.wait(10) == 0, child.last_words()
    finally:
        if child.process.poll() is None:
            child.process.kill()
            child.process.wait()


@dataclass
class Repository:
    """What is pushed to."""

    origin: Origin

    def push(self, files: Mapping[str, str]) -> str:
        """A commit of these files and no others."""
        self.origin.git("rm", "-rq", "--ignore-unmatch", ".")
        for path, text in files.items():
            file = self.origin.work / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        self.origin.git("add", "-A")
        self.origin.git("commit", "-q", "-m", "a commit")
        return self.origin.head()
