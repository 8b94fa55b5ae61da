"""Commands in messages, as they are typed where a controller drives: the core speaks of `gitops-mc apply` and a state file; for a
Fleet the same is asked for with `--fleet`, and nobody has to run anything for the rollout to go on.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from typing import Final

from gitops_mc.core.model import JsonObject, metadata, name_of
from gitops_mc.core.rollout.driver import UNDRIVEN

DEFAULT_NAMESPACE: Final = "gitops-mc"
DRIVEN: Final = "the controller goes on by itself"
"""Said where, without one, somebody would have to run apply."""
_DRIVEN: Final = (
    (UNDRIVEN, DRIVEN),
    ("writes go on with the next apply", "writes go on"),
    ("the next apply writes it", "the next pass writes it"),
)
_NAME: Final = r"[\w{}][\w.:/{}-]*(?<![.:])"
"""Of a cluster, wave, node or finding; or what stands for one."""
_FLEET: Final = (
    (r"apply --approve (?P<approved>NAME)", "approve {approved}"),
    (r"apply --override-window (?P<open>NAME) --reason TEXT", "sync {open} --override-window --reason TEXT"),
    (r"apply(?: --cluster NAME)?", "sync"),
    (r"accept (?P<finding>NAME)(?P<shown_by> --cluster NAME)?", "accept {finding}{shown_by}"),
    (r"excuse (?P<node>NAME --cluster NAME)(?P<taken_back> --undo)?", "excuse {node}{taken_back}"),
    (r"skip (?P<left_out>NAME)(?P<again> --undo)?", "skip {left_out}{again}"),
    (r"(?P<held>release|rollback) (?P<whom>--all|NAME)", "{held} {whom}"),
    (r"(?P<act>retry|forget) (?P<of>NAME)", "{act} {of}"),
    (r"why(?= shows?\b)", "why CLUSTER"),
    (r"why (?P<asked>NAME)", "why {asked}"),
    (r"status", "status"),
    (r"resume", "resume"),
)
"""What the core says, and what it is with a Fleet; the first that fits."""
_OF_FLEET: Final = tuple(
    (re.compile(rf"gitops-mc (?>{said.replace('NAME', _NAME)})(?! ?--)"), with_fleet)
    for said, with_fleet in _FLEET
)
_ORDERS: Final = (
    (re.compile(r"\bresume the rollout\b"), "gitops-mc resume"),
    (re.compile(rf"\btake the hold of ({_NAME}) back\b"), r"gitops-mc release \1"),
)
"""What the core says without a command, as without a controller there is none."""
_OF_REPO: Final = re.compile(r"gitops-mc (plan|validate|diff|doctor)\b(?! REPO)")
"""Of a checkout; a controller has no folder that they would be typed in."""
_ANY: Final = re.compile(r"gitops-mc |next apply|resume the rollout|take the hold of")
"""Stands in every text that may change: most say nothing of this, and every pass has many."""


@dataclass(frozen=True, slots=True)
class FleetCommands:
    """How commands are typed for one Fleet."""

    name: str
    namespace: str = DEFAULT_NAMESPACE

    @property
    def options(self) -> str:
        """What names the Fleet: `--fleet prod`."""
        where = "" if self.namespace in {"", DEFAULT_NAMESPACE} else f" --namespace {self.namespace}"
        return f"--fleet {self.name}{where}"

    def said(self, text: str) -> str:
        """A message with every command in it as it is typed for this Fleet. A message that was said so stays as it is."""
        if not _ANY.search(text):
            return text
        told = text
        for without, driven in _DRIVEN:
            told = told.replace(without, driven)
        for words, command in _ORDERS:
            told = words.sub(command, told)
        for said, with_fleet in _OF_FLEET:
            told = said.sub(partial(self._typed, with_fleet), told)
        return _OF_REPO.sub(r"gitops-mc \1 REPO", told)

    def _typed(self, form: str, found: re.Match[str]) -> str:
        parts = {name: value or "" for name, value in found.groupdict().items()}
        return f"gitops-mc {form.format(**parts)} {self.options}"


def commands_of(fleet: JsonObject) -> FleetCommands:
    """Of the Fleet with this body."""
    return FleetCommands(name_of(fleet), str(metadata(fleet).get("namespace") or ""))
