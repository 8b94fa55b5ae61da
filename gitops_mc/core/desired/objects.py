"""A parsed object and its home -> the manifests of each cluster that has it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from gitops_mc.core.desired.layout import Home
from gitops_mc.core.desired.repository import LINK, Fault, Repository, SourceFile
from gitops_mc.core.ignition import resolve_contents
from gitops_mc.core.manifests import Cache, Parsed, read_manifests
from gitops_mc.core.manifests.documents import MAX_BYTES
from gitops_mc.core.manifests.positions import Places
from gitops_mc.core.model import (
    CLUSTER_LABEL,
    MODULE_LABEL,
    BodyPath,
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
    blob: str
    """Id of the file's content."""

    @property
    def shared_set(self) -> str | None:
        return self.scope.path if isinstance(self.scope, SharedScope) else None

    def problem(
        self,
        path: BodyPath,
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
        data = repository.data(file, MAX_BYTES)
        if isinstance(data, Fault):
            problems.append(_unreadable(home, data))
            return
        parsed = cache[file.blob] = read_manifests(data)
    problems.extend(flaw.in_file(path, home.scope) for flaw in parsed.flaws)
    for one in parsed.objects:
        candidate = _candidate(one, home, file.blob, repository, problems)
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
    parsed: Parsed, home: Home, blob: str, repository: Repository, problems: list[Problem]
) -> Candidate | None:
    """None when the object has no identity; a missing or wrong metadata.name has been noted with the file."""
    path = home.file.path
    place, places = parsed.place(path), parsed.places(path)
    name = metadata(parsed.body).get("name")
    if parsed.kind is Kind.MODULE_INFO:
        name = labels_of(parsed.body).get(MODULE_LABEL)
    candidate = Candidate(home.scope, parsed.kind, str(name), parsed.body, places, place, blob)
    if parsed.kind is Kind.MODULE_INFO:
        problems.extend(_module_problems(candidate))
    if not isinstance(name, str) or not name:
        return None
    return _with_local_files(candidate, repository, problems) if parsed.local else candidate


def _module_problems(candidate: Candidate) -> Iterator[Problem]:
    """What a ModuleInfo must say where it stands; its other labels are the business of the rules."""
    if not labels_of(candidate.body).get(MODULE_LABEL):
        message = f"the label {MODULE_LABEL} is missing, so nobody knows which module this is"
        yield candidate.problem(
            ("metadata", "labels"), "module-name-label", message, f"write {MODULE_LABEL}: <module>"
        )
    if "name" not in metadata(candidate.body) and candidate.shared_set is None:
        hint = "write name: <cluster>-temporary-name; the platform renames the object"
        yield candidate.problem(("metadata",), "manifest-name", "metadata.name is missing", hint)


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
    return replace(candidate, body=body)


def _value_at(body: JsonObject, path: BodyPath) -> object:
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


def for_cluster(candidate: Candidate, cluster: str) -> Manifest:
    """The manifest of one cluster. In a shared set a ModuleInfo gets the label and the name that it may leave out."""
    body = candidate.body
    if candidate.kind is Kind.MODULE_INFO and candidate.shared_set is not None:
        meta = metadata(body)
        labels = {CLUSTER_LABEL: cluster, **labels_of(body)}
        name = meta.get("name") or f"{cluster}-temporary-name"
        body = {**body, "metadata": {**meta, "name": name, "labels": labels}}
    return Manifest(
        key=ResourceKey(cluster, candidate.kind, candidate.name),
        body=body,
        place=candidate.place,
        shared_set=candidate.shared_set,
        places=candidate.places,
    )
