"""Repositories as texts by path, for tests of desired state."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from gitops_mc.core.desired import Cache, DesiredState, SourceFile, load

FILE = 0o100644
LINK = 0o120000
SUBMODULE = 0o160000

FLEET = "apiVersion: gitops-mc.io/v1alpha1\nkind: FleetConfig\nspec:\n"


def config(name: str = "50-worker-a", *, local: str | None = None) -> str:
    """A MachineConfig; with `local`, one whose only file takes its contents from there."""
    head = (
        "apiVersion: machineconfiguration.alauda.io/v1alpha1\n"
        "kind: MachineConfig\n"
        f"metadata: {{name: {name}, labels: {{machineconfiguration.alauda.io/role: worker}}}}\n"
    )
    if local is None:
        return head + "spec: {config: {ignition: {version: 3.4.0}}}\n"
    return head + (
        "spec:\n"
        "  config:\n"
        "    ignition: {version: 3.4.0}\n"
        "    storage:\n"
        "      files:\n"
        "        - path: /etc/a\n"
        "          mode: 0644\n"
        f"          contents: {{local: {local}}}\n"
    )


def module(name: str = "machine-config", labels: str = "", metadata: str = "") -> str:
    return (
        "apiVersion: cluster.alauda.io/v1alpha1\n"
        "kind: ModuleInfo\n"
        f"metadata: {{{metadata} labels: {{cpaas.io/module-name: {name}, cpaas.io/module-type: plugin, {labels}}}}}\n"
        "spec: {version: v1.0.0, config: {}}\n"
    )


def files(
    texts: Mapping[str, str | bytes],
    *,
    links: Mapping[str, str] | None = None,
    submodules: tuple[str, ...] = (),
) -> tuple[SourceFile, ...]:
    plain = {path: text.encode() if isinstance(text, str) else text for path, text in texts.items()}
    return (
        *(_file(path, FILE, data) for path, data in plain.items()),
        *(_file(path, LINK, target.encode()) for path, target in (links or {}).items()),
        *(SourceFile(path, "0" * 40, SUBMODULE, None) for path in submodules),
    )


def _file(path: str, mode: int, data: bytes) -> SourceFile:
    return SourceFile(path, hashlib.sha1(data, usedforsecurity=False).hexdigest(), mode, data)


def desired(
    texts: Mapping[str, str | bytes],
    *,
    links: Mapping[str, str] | None = None,
    submodules: tuple[str, ...] = (),
    cache: Cache | None = None,
) -> DesiredState:
    return load(files(texts, links=links, submodules=submodules), cache={} if cache is None else cache)


RULES_OF_CONTENT = ("mc-", "file-inert", "module-version", "pool-", "unit-", "policy-")
"""Rules about what manifests say: not the business of tests of the layout."""


def told(state: DesiredState) -> list[tuple[str, str, str]]:
    """Place, rule and scope of every problem, without those about the content of manifests."""
    return [
        (str(p.place), p.rule, str(p.scope))
        for p in state.problems
        if not p.rule.startswith(RULES_OF_CONTENT)
    ]
