"""One value changed across the repository: every place of it, each file otherwise as it was."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gitops_mc.app.authoring_ports import Edit
from gitops_mc.app.use_cases.repository import usable
from gitops_mc.app.use_cases.trial import Trial
from gitops_mc.core.authoring.scalars import with_scalar
from gitops_mc.core.authoring.versions import VersionPlace, as_version, version_places
from gitops_mc.core.desired.layout import CLUSTERS
from gitops_mc.core.desired.repository import LINK
from gitops_mc.core.errors import InputProblemsError, RefusedError, together
from gitops_mc.core.globs import name_matches
from gitops_mc.core.model import DesiredCluster, Severity


@dataclass(frozen=True, slots=True)
class VersionsSet:
    """What a change of a module's version comes to."""

    places: tuple[VersionPlace, ...]
    """All that have another version now."""
    standing: tuple[VersionPlace, ...]
    """Those that have this one already."""
    edits: tuple[Edit, ...]


def set_module_version(trial: Trial, module: str, version: str, globs: Sequence[str]) -> VersionsSet:
    """The edits that give these clusters (all, where no glob is given) this version of the module. Nothing is written.

    Raises UsageError as the places do; RefusedError that names all that cannot be changed; InputProblemsError where a cluster that is asked for has errors, and where
    any has and a shared set is to change: nobody knows then what it has, or whose the set is.
    """
    as_version(version)
    state = usable(trial.state())
    _readable(c for c in state.clusters if not globs or name_matches(c.name, globs))
    found, refused = version_places(state, module, globs)
    if any(not place.place.file.startswith(f"{CLUSTERS}/") for place in found):
        _readable(state.clusters)
    due = tuple(place for place in found if place.version != version)
    standing = tuple(place for place in found if place.version == version)
    edits = _edits(trial, due, version)
    if every := (*refused, *(one for one in edits if isinstance(one, RefusedError))):
        raise together(every)
    return VersionsSet(due, standing, tuple(one for one in edits if isinstance(one, Edit)))


def _readable(clusters: Iterable[DesiredCluster]) -> None:
    """Raises InputProblemsError."""
    errors = [p for c in clusters for p in c.problems if p.severity is Severity.ERROR]
    if errors:
        raise InputProblemsError(tuple(dict.fromkeys(errors)))


def _edits(trial: Trial, places: Sequence[VersionPlace], version: str) -> tuple[Edit | RefusedError, ...]:
    """One a file, whatever it holds of them; or what is in the way there, place by place."""
    entries = {entry.path: entry for entry in trial.tree.entries}
    found: list[Edit | RefusedError] = []
    for path in dict.fromkeys(place.place.file for place in places):
        entry = entries[path]
        if entry.mode == LINK:
            hint = "nothing is written through links; edit what it leads to"
            found.append(RefusedError(f"{path} is a link", hint=hint))
            continue
        before = after = trial.tree.read(entry)
        for place in (one for one in places if one.place.file == path):
            try:
                after = with_scalar(after, place.line, place.path, version)
            except RefusedError as error:
                found.append(RefusedError(f"{place.place}: {error.message}", hint=error.hint))
        found.append(Edit(path, before, after))
    return tuple(found)
