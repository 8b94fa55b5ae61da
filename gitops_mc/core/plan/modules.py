"""In which order modules are written: machine-config and what it depends on first, then the others by name, each after those
that it depends on and those that ask to be upgraded before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from gitops_mc.core.gates import module_config
from gitops_mc.core.live import LiveCluster
from gitops_mc.core.model import MACHINE_CONFIG_MODULE, DesiredCluster, JsonObject, Kind
from gitops_mc.core.raw import items, section, text


def module_order(desired: DesiredCluster, live: LiveCluster) -> tuple[str, ...]:
    """Names of the desired modules in the order in which they are written. In a circle the first one by name stays first."""
    configs = _configs(desired, live)
    first = _ordered([MACHINE_CONFIG_MODULE], configs, _dependencies)
    earlier: dict[str, list[str]] = {}
    for name, config in configs.items():
        for later in _names(config, "upgradeBefore"):
            earlier.setdefault(later, []).append(name)
    rest = _ordered(
        sorted(configs), configs, lambda config, name: (*_dependencies(config, name), *earlier.get(name, ()))
    )
    return (*first, *(name for name in rest if name not in first))


def machine_modules(desired: DesiredCluster, live: LiveCluster) -> tuple[str, ...]:
    """machine-config and the modules it depends on, dependencies first; only these gate pools."""
    return _ordered([MACHINE_CONFIG_MODULE], _configs(desired, live), _dependencies)


def _configs(desired: DesiredCluster, live: LiveCluster) -> Mapping[str, JsonObject]:
    """What is published of every desired module in its desired version; empty where nothing is."""
    versions = {
        m.key.name: text(section(m.body, "spec"), "version") for m in desired.of_kind(Kind.MODULE_INFO)
    }
    return {name: module_config(live, name, version) or {} for name, version in versions.items()}


def _dependencies(config: JsonObject, _name: str) -> tuple[str, ...]:
    return _names(config, "dependencies")


def _names(config: JsonObject, field: str) -> tuple[str, ...]:
    return tuple(text(item, "moduleName") for item in items(config, "spec", field))


def _ordered(
    names: Iterable[str],
    configs: Mapping[str, JsonObject],
    before: Callable[[JsonObject, str], Iterable[str]],
) -> tuple[str, ...]:
    """Those of `names` that are desired, each after what has to come before it."""
    ordered: dict[str, None] = {}

    def visit(name: str, path: tuple[str, ...]) -> None:
        if name not in configs or name in ordered or name in path:
            return
        for other in before(configs[name], name):
            visit(other, (*path, name))
        ordered[name] = None

    for name in names:
        visit(name, ())
    return tuple(ordered)
