"""The layout of every manifest of a repository: what would change, and the proof that it says the same afterwards."""

from __future__ import annotations

from dataclasses import dataclass

from gitops_mc.app.authoring_ports import Edit
from gitops_mc.app.use_cases.trial import Trial
from gitops_mc.core.authoring.formatting import Even, Uneven, formatted
from gitops_mc.core.desired import DesiredState
from gitops_mc.core.desired.layout import sort_out
from gitops_mc.core.desired.repository import LINK, Repository, SourceFile
from gitops_mc.core.errors import RefusedError
from gitops_mc.core.fleetfile import FLEET_FILE


@dataclass(frozen=True, slots=True)
class Layouts:
    """Every manifest and fleet.yaml, looked at."""

    looked_at: int
    edits: tuple[Edit, ...]
    """Files that look otherwise than they should."""
    left_alone: tuple[tuple[str, Uneven], ...]
    """Files that cannot be laid out without risk, with the reason."""


def lay_out(trial: Trial) -> Layouts:
    """Nothing is written. Raises SourceError, and RefusedError where the repository would not say the same afterwards."""
    state = trial.state()
    edits: list[Edit] = []
    left: list[tuple[str, Uneven]] = []
    paths = _manifests(trial, state)
    entries = {entry.path: entry for entry in trial.tree.entries}
    for path in paths:
        before = trial.tree.read(entries[path])
        match formatted(before):
            case Even(after) if after != before:
                edits.append(Edit(path, before, after))
            case Uneven() as uneven:
                left.append((path, uneven))
            case _:
                pass
    if _said(state) != _said(trial.state({edit.path: edit.after for edit in edits})):
        raise RefusedError(
            "the repository would not say the same afterwards, so nothing was written",
            hint="this should not happen: please report it, with the repository if you can",
        )
    return Layouts(len(paths), tuple(edits), tuple(left))


def _manifests(trial: Trial, state: DesiredState) -> tuple[str, ...]:
    """By path; what links lead to is laid out where it stands."""
    files = {e.path: SourceFile(e.path, e.blob, e.mode, None, e.size) for e in trial.tree.entries}
    layout = sort_out(Repository(files), state.policy.ignore)
    found = [home.file.path for home in layout.manifests if home.file.mode != LINK]
    fleet = files.get(FLEET_FILE)
    return (*([FLEET_FILE] if fleet is not None and fleet.mode != LINK else []), *found)


def _said(state: DesiredState) -> object:
    """All that the rollout acts on; where it stands in its file has no part in that."""
    contents = [(cluster.name, cluster.content, cluster.labels) for cluster in state.clusters]
    problems = sorted((p.place.file, p.rule, p.field, str(p.scope), p.severity) for p in state.problems)
    return contents, problems, state.policy
