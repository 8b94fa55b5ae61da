"""In which order modules are written: machine-config and what it depends on first, the others by name."""

from __future__ import annotations

from collections.abc import Mapping

from gitops_mc.core.live import LiveCluster
from gitops_mc.core.model import MACHINE_CONFIG_MODULE, DesiredCluster, JsonObject, Kind, Unknown
from gitops_mc.core.raw import items, section, text


def module_order(desired: DesiredCluster, live: LiveCluster) -> tuple[str, ...]:
    """Names of the desired modules in the order in which they are written."""
    first = machine_modules(desired, live)
    names = sorted(m.key.name for m in desired.of_kind(Kind.MODULE_INFO))
    return (*first, *(name for name in names if name not in first))


def machine_modules(desired: DesiredCluster, live: LiveCluster) -> tuple[str, ...]:
    """machine-config and the modules it depends on, dependencies first; only these gate pools."""
    versions = {
        m.key.name: text(section(m.body, "spec"), "version") for m in desired.of_kind(Kind.MODULE_INFO)
    }
    catalog: Mapping[str, JsonObject] = {} if isinstance(live.catalog, Unknown) else live.catalog.value
    ordered: list[str] = []

    def visit(name: str, path: tuple[str, ...]) -> None:
        if name not in versions or name in ordered or name in path:
            return
        config = catalog.get(f"ModuleConfig/{name}-{versions[name]}") or {}
        for dependency in items(config, "spec", "dependencies"):
            visit(text(dependency, "moduleName"), (*path, name))
        ordered.append(name)

    visit(MACHINE_CONFIG_MODULE, ())
    return tuple(ordered)
