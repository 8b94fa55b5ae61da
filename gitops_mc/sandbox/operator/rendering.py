"""From the live configs and pools to rendered configs, and the reasons for which the operator refuses to render."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

from gitops_mc.core.model import (
    MACHINE_GROUP_VERSION,
    JsonObject,
    labels_of,
    matches_selector,
    metadata,
    name_of,
    uid_of,
)
from gitops_mc.sandbox.operator.merging import IGNITION_VERSION, MergeOrder, merge_specs, ordered
from gitops_mc.sandbox.operator.shapes import flaw
from gitops_mc.sandbox.payload import PayloadError, decode_contents

SIZE_LIMIT = 1_572_864
"""Bytes of a merged spec above which the operator refuses to write it (etcd's limit, 1.5 MiB)."""

SSH_USER = "boot"
_SUPPORTED_STORAGE = frozenset({"files"})
_SUPPORTED_SECTIONS = frozenset({"ignition", "storage", "systemd", "passwd"})


class RenderError(Exception):
    """Why a pool cannot be rendered; goes into its RenderDegraded condition."""


def is_rendered(name: str) -> bool:
    return name.startswith(("rendered-", "render-"))


def selected(pool: JsonObject, configs: Iterable[JsonObject]) -> list[JsonObject]:
    """The configs a pool selects. Rendered ones carry no role label and are never taken, whatever the selector."""
    selector = pool["spec"].get("machineConfigSelector")
    return [c for c in configs if not is_rendered(name_of(c)) and matches_selector(selector, labels_of(c))]


def render(
    pool: JsonObject, configs: Iterable[JsonObject], order: MergeOrder, extra: tuple[JsonObject, ...] = ()
) -> JsonObject:
    """The rendered config of a pool. `extra`: specs the operator itself puts first. Raises RenderError."""
    sources = ordered(configs, order)
    if not sources:
        raise RenderError(f"no MachineConfigs found matching selector of pool {name_of(pool)}")
    for config in sources:
        check(config)
    spec = merge_specs([*extra, *(c.get("spec") or {} for c in sources)])
    raw = json.dumps(spec, sort_keys=True, separators=(",", ":")).encode()
    if len(raw) > SIZE_LIMIT:
        raise RenderError(
            f"merged config of pool {name_of(pool)} has {len(raw)} bytes, the limit is {SIZE_LIMIT}"
        )
    return {
        "apiVersion": MACHINE_GROUP_VERSION,
        "kind": "MachineConfig",
        "metadata": {
            "name": f"rendered-{name_of(pool)}-{hashlib.md5(raw, usedforsecurity=False).hexdigest()}",
            "ownerReferences": [
                {
                    "apiVersion": MACHINE_GROUP_VERSION,
                    "kind": "MachineConfigPool",
                    "name": name_of(pool),
                    "uid": uid_of(pool),
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": spec,
    }


def configuration_of(rendered: JsonObject, sources: Iterable[JsonObject]) -> JsonObject:
    """What the operator writes into spec.configuration of the pool."""
    return {
        "name": name_of(rendered),
        "source": [
            {"apiVersion": MACHINE_GROUP_VERSION, "kind": "MachineConfig", "name": name_of(config)}
            for config in sorted(sources, key=name_of)
        ],
    }


def input_of(pool: JsonObject, configs: Iterable[JsonObject]) -> tuple[object, ...]:
    """Moves when something that a render reads has moved."""
    selector = json.dumps(pool["spec"].get("machineConfigSelector"), sort_keys=True)
    return (
        uid_of(pool),
        selector,
        *((name_of(c), uid_of(c), metadata(c).get("generation")) for c in configs),
    )


def check(config: JsonObject) -> None:
    """Raise RenderError for a config that cannot be rendered (ACP docs: Ignition 3.4.0, files, units, keys of boot)."""
    name, ignition = name_of(config), (config.get("spec") or {}).get("config")
    if not ignition:
        return
    if malformed := flaw(ignition):
        raise RenderError(f"parsing Ignition config of MachineConfig {name} failed: {malformed}")
    version = (ignition.get("ignition") or {}).get("version")
    if version != IGNITION_VERSION:
        raise RenderError(
            f"parsing Ignition config of MachineConfig {name} failed: unsupported version {version!r}"
        )
    unsupported = [s for s in ignition if s not in _SUPPORTED_SECTIONS and ignition[s]]
    storage = ignition.get("storage") or {}
    unsupported += [f"storage.{s}" for s in storage if s not in _SUPPORTED_STORAGE and storage[s]]
    passwd = ignition.get("passwd") or {}
    unsupported += ["passwd.groups"] if passwd.get("groups") else []
    unsupported += [
        f"passwd user {u.get('name')}" for u in passwd.get("users") or () if u.get("name") != SSH_USER
    ]
    if unsupported:
        raise RenderError(f"MachineConfig {name} has unsupported section {', '.join(sorted(unsupported))}")
    for file in storage.get("files") or ():
        _check_file(name, file)


def _check_file(config: str, file: JsonObject) -> None:
    path = file.get("path")
    if not isinstance(path, str) or not path.startswith("/"):
        raise RenderError(f"MachineConfig {config} has a file without an absolute path: {path!r}")
    if file.get("append"):
        raise RenderError(f"MachineConfig {config} appends to {path}: append is not supported")
    if (file.get("mode") or 0) < 0:
        raise RenderError(f"MachineConfig {config} gives {path} an illegal mode")
    if (file.get("mode") or 0) > 0o777:
        raise RenderError(f"MachineConfig {config} gives {path} a mode above 0777")
    try:
        decode_contents(file.get("contents") or {})
    except PayloadError as error:
        raise RenderError(f"MachineConfig {config}, file {path}: {error}") from error
