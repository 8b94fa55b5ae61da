"""A new manifest, or a new cluster: where it belongs, and the proof that the repository is as valid with it as without."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Final, TypeAlias, assert_never

from gitops_mc.app.use_cases.importing import blocked_by
from gitops_mc.app.use_cases.repository import chosen
from gitops_mc.app.use_cases.trial import Trial
from gitops_mc.core.authoring.drafts import NewFile
from gitops_mc.core.authoring.templates import machine_config_text, module_text, pool_text
from gitops_mc.core.authoring.versions import as_version
from gitops_mc.core.desired import DesiredState
from gitops_mc.core.desired.layout import CLUSTERS, SHARED
from gitops_mc.core.errors import InputProblemsError, RefusedError, UsageError
from gitops_mc.core.fleetfile.fields import is_dns_label
from gitops_mc.core.model import MACHINE_CONFIG_MODULE, Kind, Problem, ResourceKey, Severity, is_object_name
from gitops_mc.core.raw import section, text

_CONVENTION: Final = re.compile(r"\d\d-(?P<role>[a-z0-9]+)-.+")


@dataclass(frozen=True, slots=True)
class ForCluster:
    """Into the folder of one cluster."""

    name: str


@dataclass(frozen=True, slots=True)
class ForShared:
    """Into a shared set; `name` without `shared/`."""

    name: str


Target: TypeAlias = ForCluster | ForShared


@dataclass(frozen=True, slots=True)
class Started:
    """What is to be written, and what validate says of it that was not said before."""

    files: tuple[NewFile, ...]
    warnings: tuple[Problem, ...]


def new_machine_config(trial: Trial, name: str, role: str | None, target: Target) -> Started:
    """Raises UsageError, RefusedError, and InputProblemsError where the repository would not be valid with it."""
    told = _CONVENTION.fullmatch(_named(name))
    if role is None and told is None:
        raise UsageError(
            f"the name {name} does not say which role it is for",
            hint="name it NN-<role>-<topic>, as in 50-worker-chrony, or say --role",
        )
    chosen_role = role if role is not None else str(told["role"] if told is not None else "")
    return _started(trial, target, name, machine_config_text(name, _named(chosen_role)))


def new_pool(trial: Trial, name: str, target: Target) -> Started:
    """Raises as `new_machine_config`."""
    return _started(trial, target, f"pool-{name}", pool_text(_named(name)))


def new_module(trial: Trial, name: str, version: str, target: Target) -> Started:
    """Raises as `new_machine_config`."""
    cluster = target.name if isinstance(target, ForCluster) else None
    said = module_text(_named(name), as_version(version), cluster)
    return _started(trial, target, f"module-{name}", said)


def new_cluster(trial: Trial, name: str, version: str | None) -> Started:
    """A folder with module machine-config in it, at `version` or at the one that most clusters have; with nothing, where a
    shared set brings that module. Raises as `new_machine_config`.
    """
    if not is_dns_label(name) or name == "files":
        raise UsageError(f"{name!r} is no cluster name", hint="name the cluster as the platform does")
    state = _usable(trial)
    if state.cluster(name) is not None:
        raise RefusedError(f"{CLUSTERS}/{name} is there already", hint="it was left alone")
    kept = NewFile(f"{CLUSTERS}/{name}/.gitkeep", b"")
    with_folder = trial.state({kept.path: kept.data}).cluster(name)
    brought = with_folder and with_folder.get(ResourceKey(name, Kind.MODULE_INFO, MACHINE_CONFIG_MODULE))
    if brought:
        if version is not None:
            raise UsageError(
                f"{brought.place.file} brings {MACHINE_CONFIG_MODULE} to it, with the version that stands there",
                hint="leave --version out, or leave the cluster out of that shared set",
            )
        return _proven(trial, state, kept)
    found = version if version is not None else _usual_version(state)
    said = module_text(MACHINE_CONFIG_MODULE, as_version(found), name)
    return _proven(
        trial, state, NewFile(f"{CLUSTERS}/{name}/module-{MACHINE_CONFIG_MODULE}.yaml", said.encode())
    )


def _usual_version(state: DesiredState) -> str:
    found = Counter(
        text(section(manifest.body, "spec"), "version")
        for cluster in state.clusters
        for manifest in cluster.of_kind(Kind.MODULE_INFO)
        if manifest.key.name == MACHINE_CONFIG_MODULE
    )
    if not found:
        raise UsageError(
            f"no cluster of the repository says which version of {MACHINE_CONFIG_MODULE} is usual",
            hint="say --version",
        )
    return found.most_common(1)[0][0]


def _started(trial: Trial, target: Target, name: str, said: str) -> Started:
    state = _usable(trial)
    folder = _folder(state, target)
    path = f"{folder}/{name}.yaml"
    if any(there.casefold() == path.casefold() for there in trial.paths):
        raise RefusedError(f"{path} is there already", hint="it was left alone; choose another name")
    return _proven(trial, state, NewFile(path, said.encode()))


def _folder(state: DesiredState, target: Target) -> str:
    match target:
        case ForCluster(name):
            try:
                chosen(state, (name,))
            except UsageError as error:
                hint = f"{error.hint}; for a new one: gitops-mc new cluster {name}"
                raise UsageError(error.message, hint=hint) from error
            return f"{CLUSTERS}/{name}"
        case ForShared(name):
            return f"{SHARED}/{_named(name)}"
        case _:
            assert_never(target)


def _usable(trial: Trial) -> DesiredState:
    state = trial.state()
    if blocking := blocked_by(state, None):
        raise InputProblemsError(blocking)
    return state


def _proven(trial: Trial, before: DesiredState, file: NewFile) -> Started:
    """Unless there is an error with the file that was not there without it."""
    after = trial.state({file.path: file.data})
    known = {(p.rule, p.message, p.scope) for p in before.problems}
    fresh = [p for p in after.problems if (p.rule, p.message, p.scope) not in known]
    if errors := [p for p in fresh if p.severity is Severity.ERROR]:
        raise InputProblemsError(errors)
    return Started((file,), tuple(p for p in fresh if p.severity is Severity.WARNING))


def _named(name: str) -> str:
    if not is_object_name(name):
        raise UsageError(f"{name!r} is no name of an object", hint="lower-case letters, digits, `-` and `.`")
    return name
