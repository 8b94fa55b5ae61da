"""Who carries the rollout out. A rollout moves only while a process drives it."""

from __future__ import annotations

from enum import StrEnum


class Driver(StrEnum):
    """What moves the rollout at this moment."""

    NOBODY = "nobody"
    APPLY = "apply"
    """A process that holds the state file."""
    CONTROLLER = "controller"
    """The controller of a Fleet."""


UNDRIVEN = "nothing moves until somebody runs: gitops-mc apply"
"""Said of what is pending while nobody drives."""
