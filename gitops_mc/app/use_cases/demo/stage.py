"""What the story is played on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gitops_mc.app.use_cases.demo.notes import NodeNote
from gitops_mc.app.use_cases.planning import Session
from gitops_mc.app.use_cases.repository import Repository
from gitops_mc.core.model import Commit


@dataclass(frozen=True, slots=True)
class Stage:
    """A fleet within reach, a repository somebody commits to, and two witnesses that are not the engine."""

    session: Session
    nodes: Mapping[str, int]
    """How many nodes each cluster has."""
    repository: Repository
    commit: Callable[[Mapping[str, bytes], str], Commit]
    """Commit these files, by path, with this message; files that are not named stay."""
    notes: Callable[[], tuple[NodeNote, ...]]
    """What happened on nodes since the last call, oldest first."""
    writes: Callable[[], Mapping[str, int]]
    """How many writes each cluster's API server has accepted from gitops-mc so far."""
