"""Commands in messages, as they have to be typed where the repository or the state file is not the usual one."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

_OF_REPO = re.compile(r"gitops-mc (apply|plan|validate|diff|status|doctor)\b")
_OF_CLUSTER = re.compile(r"gitops-mc (skip|why|forget) ([\w./-]*\w)")
_OF_STATE = re.compile(r"gitops-mc (release|retry|rollback|excuse|accept)\b")


@dataclass(frozen=True, slots=True)
class Typed:
    """What the command line named: the repository (`.`: the usual one), the state file (empty: the one in there), and the
    revision of the repository (empty: the folder as it lies there).
    """

    repo: str = "."
    state: str = ""
    revision: str = ""

    def command(self, text: str) -> str:
        """A message with every command in it as it has to be typed."""
        state = f" --state {shlex.quote(self.state)}" if self.state else ""
        repo = "" if self.repo == "." else f" {shlex.quote(self.repo)}"
        git = f"{repo} --revision {shlex.quote(self.revision)}" if self.revision else repo
        with_repo = _OF_REPO.sub(
            lambda m: f"{m[0]}{git}{'' if m[1] in {'validate', 'doctor'} else state}", text
        )
        with_cluster = _OF_CLUSTER.sub(lambda m: f"{m[0]}{git}{state}", with_repo)
        kept = state or (
            f" --state {shlex.quote(self.repo.rstrip('/') + '/.gitops-mc-state.json')}" if repo else ""
        )
        return _OF_STATE.sub(lambda m: f"{m[0]}{kept}", with_cluster)
