"""A parsed object and its home -> the manifests of each cluster that has it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from gitops_mc.core.desired.layout import Home
from gitops_mc.core.desired.repository import LINK, Fault, Repository, SourceFile
from gitops_mc.core.ignition import resolve_contents
from gitops_mc.core.manifests import Cache, Parsed, read_manifests
from gitops_mc.core.manifests.positions import Places
from gitops_mc.core.model import (
    CLUSTER_LABEL,
    MODULE_LABEL,
    ClusterScope,
    JsonObject,
    Kind,
    Manifest,
    Place,
    Problem,
    ResourceKey,
    Scope,
    Severity,
    SharedScope,
    dotted,
    labels_of,
    metadata,
)

MODULE_CLUSTER_RULE: Final = "module-cluster-label"
MODULE_NAME_RULE: Final = "module-name-label"


@dataclass(frozen=True, slots=True)
class Candidate:
    """An object of one file, before it is given to clusters."""

    scope: ClusterScope | SharedScope
    kind: Kind
    name: str
    """As in ResourceKey."""
    body: JsonObject
    places: Places
    place: Place

    @property
    def shared_set(self) -> str | None:
        return self.scope.path if isinstance(self.scope, SharedScope) else None

    def problem(
        self,
        path: tuple[str | int, ...],
        rule: str,
        message: str,
        hint: str,
        *,
        scope: Scope | None = None,
        severity: Severity = Severity.ERROR,
    ) -> Problem:
        """A problem at the place of a field; in the object's own scope where no other is given."""
        place = self.places.nearest(path)
        return Problem(place, rule, dotted(path), message, hint, scope or self.scope, severity)


def read_home(
    home: Home, repository: Repository, cache: Cache, problems: list[Problem]
) -> Iterator[Candidate]:
    """The objects of one manifest file. What is wrong goes to `problems`."""
    path = home.file.path
    file = _followed(home.file, repository)
    if isinstance(file, Fault):
        problems.append(_unreadable(home, file))
        return
    parsed = cache.get(file.blob)
    if parsed is None:
        data = repository.data(file)
        if isinstance(data, Fault):
            problems.append(_unreadable(home, data))
            return
        parsed = cache[file.blob] = read_manifests(data)
    problems.extend(flaw.in_file(path, home.scope) for flaw in parsed.flaws)
    for one in parsed.objects:
        candidate = _candidate(one, home, repository, problems)
        if candidate is not None:
            yield candidate


def _followed(file: SourceFile, repository: Repository) -> SourceFile | Fault:
    if file.mode != LINK:
        return file
    folder, _, name = file.path.rpartition("/")
    return repository.follow(folder, name)


def _unreadable(home: Home, fault: Fault) -> Problem:
    return Problem(Place(home.file.path), "file-unreadable", "", fault.message, fault.hint, home.scope)


def _candidate(
    parsed: Parsed, home: Home, repository: Repository, problems: list[Problem]
) -> Candidate | None:
    """None when the object has no identity; a missing or wrong metadata.name has been noted with the file."""
    path = home.file.path
    place, places = parsed.place(path), parsed.places(path)
    name = metadata(parsed.body).get("name")
    if parsed.kind is Kind.MODULE_INFO:
        name = labels_of(parsed.body).get(MODULE_LABEL)
    if not isinstance(name, str) or not name:
        if parsed.kind is Kind.MODULE_INFO:
            problems.append(
                Problem(
                    places.nearest(("metadata", "labels")),
                    MODULE_NAME_RULE,
                    "metadata.labels",
                    f"the label {MODULE_LABEL} is missing, so nobody knows which module this is",
                    f"write {MODULE_LABEL}: <module>",
                    home.scope,
                )
            )
        return None
    candidate = Candidate(home.scope, parsed.kind, name, parsed.body, places, place)
    return _with_local_files(candidate, repository, problems) if parsed.local else candidate


def _with_local_files(candidate: Candidate, repository: Repository, problems: list[Problem]) -> Candidate:
    faults: dict[str, Fault] = {}

    def read_file(relative: str) -> bytes | None:
        found = repository.payload(candidate.place.file, relative)
        if isinstance(found, bytes):
            return found
        faults[relative] = found
        return None

    body, findings = resolve_contents(candidate.body, read_file)
    for finding in findings:
        fault = faults.get(str(_value_at(candidate.body, finding.path)))
        message, hint = (finding.message, finding.hint) if fault is None else (fault.message, fault.hint)
        problems.append(candidate.problem(finding.path, finding.rule, message, hint))
    return Candidate(candidate.scope, candidate.kind, candidate.name, body, candidate.places, candidate.place)


def _value_at(body: JsonObject, path: tuple[str | int, ...]) -> object:
    value: object = body
    for part in path:
        match value, part:
            case dict(), str():
                value = value.get(part)
            case list(), int() if part < len(value):
                value = value[part]
            case _:
                return None
    return value


def for_cluster(candidate: Candidate, cluster: str, problems: list[Problem]) -> Manifest:
    """The manifest of one cluster. In a shared set a ModuleInfo is filled in; a disagreement is noted."""
    body = candidate.body
    if candidate.kind is Kind.MODULE_INFO:
        body = _module_body(candidate, cluster, problems)
    return Manifest(
        key=ResourceKey(cluster, candidate.kind, candidate.name),
        body=body,
        place=candidate.place,
        shared_set=candidate.shared_set,
        places=candidate.places,
    )


def _module_body(candidate: Candidate, cluster: str, problems: list[Problem]) -> JsonObject:
    meta = metadata(candidate.body)
    label = labels_of(candidate.body).get(CLUSTER_LABEL)
    path = ("metadata", "labels", CLUSTER_LABEL)
    shared = candidate.shared_set is not None
    if label is None and not shared:
        problems.append(
            candidate.problem(
                path,
                MODULE_CLUSTER_RULE,
                f"the label {CLUSTER_LABEL} is missing",
                f"write {CLUSTER_LABEL}: {cluster}",
            )
        )
    elif label is not None and label != cluster:
        where = f"{candidate.shared_set} is used by" if shared else "the folder says"
        problems.append(
            candidate.problem(
                path,
                MODULE_CLUSTER_RULE,
                f"{CLUSTER_LABEL} says {label}, and {where} {cluster}",
                "leave the label out: it is filled in" if shared else f"write {CLUSTER_LABEL}: {cluster}",
                scope=ClusterScope(cluster),
            )
        )
    if "name" not in meta and not shared:
        hint = f"write name: {cluster}-temporary-name; the platform renames the object"
        problems.append(candidate.problem(("metadata",), "manifest-name", "metadata.name is missing", hint))
    if not shared:
        return candidate.body
    filled = {
        **meta,
        "labels": {**labels_of(candidate.body), CLUSTER_LABEL: label or cluster},
        "name": meta.get("name") or f"{cluster}-temporary-name",
    }
    return {**candidate.body, "metadata": filled}
