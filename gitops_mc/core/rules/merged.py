"""Rules about what the configs of one cluster come to, pool by pool, for the pools known from the repository."""

from __future__ import annotations

from collections.abc import Iterator

from gitops_mc.core.disruption import is_inert, policy_of
from gitops_mc.core.ignition import (
    MAX_SPEC_BYTES,
    Effective,
    Entry,
    EntryKind,
    MergeOrder,
    compare,
    merge,
    spec_size,
    wholly_overridden,
)
from gitops_mc.core.model import POLICY_NAME, ROLE_LABEL, BodyPath, DesiredCluster, JsonObject, Kind, Manifest
from gitops_mc.core.rules.files import parent_among
from gitops_mc.core.rules.policies import readable_policy, states_file_default
from gitops_mc.core.rules.pools import known_pools, selected
from gitops_mc.core.rules.row import DesiredFacts, Hit, PoolView
from gitops_mc.core.rules.shapes import entries, labels

_NEAR = 0.9
_CONFIG = ("spec", "config")
_UNIT_FOLDER = "/etc/systemd/system"
_LISTS = {
    EntryKind.FILE: (("storage", "files"), "path"),
    EntryKind.UNIT: (("systemd", "units"), "name"),
    EntryKind.DROPIN: (("systemd", "units"), "name"),
    EntryKind.USER: (("passwd", "users"), "name"),
    EntryKind.SSH_KEYS: (("passwd", "users"), "name"),
    EntryKind.SSH_KEY: (("passwd", "users"), "name"),
}


def pool_views(cluster: DesiredCluster) -> tuple[PoolView, ...]:
    """What each pool known from the repository would render, in either merge order; pools without configs left out."""
    views = []
    for pool in known_pools(cluster):
        configs = selected(cluster, pool)
        if configs:
            bodies = [manifest.body for manifest in configs]
            by_name, role_first = (merge(bodies, order) for order in MergeOrder)
            views.append(PoolView(pool, configs, by_name, role_first))
    return tuple(views)


def where(body: JsonObject, entry: Entry) -> BodyPath:
    """The path of an entry in the config that declares it."""
    if entry.kind in (EntryKind.KERNEL_ARGUMENT, EntryKind.KERNEL_ARGUMENTS):
        return ("spec", "kernelArguments")
    if entry.kind in _LISTS:
        path, key = _LISTS[entry.kind]
        for place, found in entries(body, *_CONFIG, *path):
            if found.get(key) == entry.name:
                return (*place, key)
    return _CONFIG


def role_label(facts: DesiredFacts) -> Iterator[Hit]:
    used = _used(facts)
    for manifest in facts.cluster.of_kind(Kind.MACHINE_CONFIG):
        if manifest.key.name not in used and not labels(manifest.body).get(ROLE_LABEL):
            yield Hit(
                manifest,
                ("metadata", "labels"),
                f"{manifest.key.name} has no label {ROLE_LABEL}, so no pool selects it and it is ignored without a word",
                f"add {ROLE_LABEL}: worker",
            )


def selects_no_pool(facts: DesiredFacts) -> Iterator[Hit]:
    used = _used(facts)
    for manifest in facts.cluster.of_kind(Kind.MACHINE_CONFIG):
        role = labels(manifest.body).get(ROLE_LABEL)
        if role and manifest.key.name not in used:
            yield Hit(
                manifest,
                ("metadata", "labels", ROLE_LABEL),
                f"no pool in the repository selects role {role}; a pool of the live cluster may",
                f"known here: {', '.join(known_pools(facts.cluster))}",
            )


def _used(facts: DesiredFacts) -> set[str]:
    return {manifest.key.name for view in facts.pools for manifest in view.configs}


def overridden(facts: DesiredFacts) -> Iterator[Hit]:
    lost: dict[str, bool] = {}
    for view in facts.pools:
        without_effect = set(wholly_overridden(view.by_name)) & set(wholly_overridden(view.role_first))
        for manifest in view.configs:
            name = manifest.key.name
            lost[name] = lost.get(name, True) and name in without_effect
    for manifest in facts.cluster.of_kind(Kind.MACHINE_CONFIG):
        if lost.get(manifest.key.name, False):
            yield Hit(
                manifest,
                ("metadata", "name"),
                f"nothing of {manifest.key.name} is left in any pool: later configs override all of it",
                "remove it, or rename it so that it comes later",
            )


def order_dependent(facts: DesiredFacts) -> Iterator[Hit]:
    for view in facts.pools:
        for mismatch in compare(view.by_name, view.role_first):
            by_name, role_first = (
                _decider(merged, mismatch.entry) for merged in (view.by_name, view.role_first)
            )
            manifest = named(view, by_name)
            says = f": by name {by_name} decides, with role worker first {role_first}"
            yield Hit(
                manifest,
                where(manifest.body, mismatch.entry),
                f"pool {view.pool}: the result for {mismatch.entry} depends on the merge order of the cluster's operator"
                + (says if by_name != role_first else ""),
                "rename the configs so that both orders agree",
            )


def _decider(merged: Effective, entry: Entry) -> str:
    """The config that has the last word on an entry; on kernel arguments, the one whose argument comes last."""
    found = merged.entries.get(entry)
    if found is not None:
        return found.owner
    return merged.kernel_arguments[-1].owner if merged.kernel_arguments else merged.configs[-1]


def named(view: PoolView, name: str) -> Manifest:
    """The manifest of one of the configs that a pool selects."""
    return next(manifest for manifest in view.configs if manifest.key.name == name)


def too_large(facts: DesiredFacts) -> Iterator[Hit]:
    for view, size in _sizes(facts):
        if size > MAX_SPEC_BYTES:
            yield Hit(
                _largest(view),
                _CONFIG,
                f"the merged config of pool {view.pool} has {size:,} bytes; above {MAX_SPEC_BYTES:,} it is refused",
                "this is its largest config: move large files out, or compress them (contents.local of a .gz)",
            )


def nearly_too_large(facts: DesiredFacts) -> Iterator[Hit]:
    for view, size in _sizes(facts):
        if MAX_SPEC_BYTES >= size > MAX_SPEC_BYTES * _NEAR:
            yield Hit(
                _largest(view),
                _CONFIG,
                f"the merged config of pool {view.pool} has {size:,} bytes; {MAX_SPEC_BYTES:,} is the limit, "
                "and the operator's own entries are not counted here",
                "make room before the next change",
            )


def _sizes(facts: DesiredFacts) -> Iterator[tuple[PoolView, int]]:
    for view in facts.pools:
        yield view, max(spec_size(view.by_name), spec_size(view.role_first))


def _largest(view: PoolView) -> Manifest:
    return max(view.configs, key=lambda manifest: spec_size(merge((manifest.body,), MergeOrder.ALPHABETICAL)))


def file_below_file(facts: DesiredFacts) -> Iterator[Hit]:
    for view in facts.pools:
        files = {found.entry.name: found.owner for found in view.by_name.of_kind(EntryKind.FILE)}
        paths = set(files)
        for path, owner in files.items():
            parent = parent_among(path, paths)
            if parent and files[parent] != owner:
                manifest = named(view, owner)
                yield Hit(
                    manifest,
                    where(manifest.body, Entry(EntryKind.FILE, path)),
                    f"pool {view.pool}: {parent} is a file of {files[parent]} and cannot be the directory of {path}",
                    "move one of the two",
                )


def file_is_unit(facts: DesiredFacts) -> Iterator[Hit]:
    """Ignition refuses a config in which a file and a unit go to one path (its check of 3.4 configs)."""
    for view in facts.pools:
        written = {
            **{f"{_UNIT_FOLDER}/{found.entry.name}": found for found in view.by_name.of_kind(EntryKind.UNIT)},
            **{
                f"{_UNIT_FOLDER}/{found.entry.name}.d/{found.entry.part}": found
                for found in view.by_name.of_kind(EntryKind.DROPIN)
            },
        }
        for file in view.by_name.of_kind(EntryKind.FILE):
            unit = written.get(file.entry.name)
            if unit is not None and ("contents",) in unit.fields:
                manifest = named(view, file.owner)
                yield Hit(
                    manifest,
                    where(manifest.body, file.entry),
                    f"pool {view.pool}: {file.entry.name} is also written by {unit.entry} of {unit.owner}",
                    "keep the unit, and remove the file",
                )


def file_without_contents(facts: DesiredFacts) -> Iterator[Hit]:
    for view in facts.pools:
        for file in view.by_name.of_kind(EntryKind.FILE):
            if not any(path[:1] in (("contents",), ("append",)) for path in file.fields):
                manifest = named(view, file.owner)
                yield Hit(
                    manifest,
                    where(manifest.body, file.entry),
                    f"pool {view.pool}: no config gives {file.entry.name} contents; it may be emptied, or left alone",
                    'write contents; for an empty file `contents: {inline: ""}`',
                )


def inert_file(facts: DesiredFacts) -> Iterator[Hit]:
    """A file that no policy entry of the repository covers, where the default for files is None alone."""
    policies = facts.cluster.of_kind(Kind.MACHINE_CONFIGURATION)
    stated = next((m.body for m in policies if m.key.name == POLICY_NAME), {})
    policy = policy_of(None, readable_policy(stated))
    default = "is None" if states_file_default(stated) else "is None as shipped"
    for manifest in facts.cluster.of_kind(Kind.MACHINE_CONFIG):
        for path_to, file in entries(manifest.body, *_CONFIG, "storage", "files"):
            path = file.get("path")
            if isinstance(path, str) and path and is_inert(path, policy):
                yield Hit(
                    manifest,
                    (*path_to, "path"),
                    f"a change of {path} is written and nothing restarts: no policy entry in the repository covers it, "
                    f"and the default for files {default}",
                    "add an entry to MachineConfiguration cluster (with `type: None` if that is what you want)",
                )
