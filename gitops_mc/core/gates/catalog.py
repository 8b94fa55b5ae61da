"""Whether the platform would install a version of a module on a cluster: what its catalog says, check by check.

Fields that are absent ask for nothing. Constraints in a grammar we do not know are said and left to the platform.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from gitops_mc.core.gates.constraints import admits
from gitops_mc.core.gates.waiting import GateHopeless, GateReading, gate_reading
from gitops_mc.core.live import LiveCluster, Objects
from gitops_mc.core.model import (
    GLOBAL_CLUSTER,
    MODULE_LABEL,
    JsonObject,
    Unknown,
    being_deleted,
    labels_of,
    matches_selector,
    name_of,
)
from gitops_mc.core.raw import items, section, text
from gitops_mc.core.remembered import Remembered


class Outcome(StrEnum):
    MET = "met"
    PENDING = "pending"
    """May come by itself: an upload that is not published yet, a dependency that is not installed yet."""
    REFUSED = "refused"
    """The platform would refuse it."""
    UNCHECKED = "not checked"
    """Left to the platform."""
    NOT_KNOWN = "not known"


@dataclass(frozen=True, slots=True)
class CatalogCheck:
    """One line of the preflight."""

    name: str
    outcome: Outcome
    reason: str


@dataclass(frozen=True, slots=True)
class _Request:
    live: LiveCluster
    module: str
    wanted: str
    config: JsonObject | None


def module_config(live: LiveCluster, module: str, version: str) -> JsonObject | None:
    """The published ModuleConfig of one version of a module, or None where there is none or the catalog is unread."""
    if isinstance(live.catalog, Unknown):
        return None
    return _of_module(_index(live.catalog.value).get(version, ()), module, version)


def published_versions(catalog: Objects, module: str) -> Mapping[str, JsonObject]:
    """Every published ModuleConfig of a module by its version, ready to be deployed or not."""
    found = ((version, _of_module(bodies, module, version)) for version, bodies in _index(catalog).items())
    return {version: body for version, body in found if version and body is not None}


def _of_module(bodies: Iterable[JsonObject], module: str, version: str) -> JsonObject | None:
    """The first one that is of this module, by its label, its spec or its name."""
    for body in bodies:
        told = labels_of(body).get(MODULE_LABEL) or text(section(body, "spec"), "name")
        if told == module or name_of(body) == f"{module}-{version}":
            return body
    return None


def _index(catalog: Objects) -> Mapping[str, list[JsonObject]]:
    return _BY_VERSION.get((catalog,), (), lambda: _by_version(catalog))


def _by_version(catalog: Objects) -> Mapping[str, list[JsonObject]]:
    found: dict[str, list[JsonObject]] = {}
    for key, body in catalog.items():
        if key.startswith("ModuleConfig/"):
            found.setdefault(text(section(body, "spec"), "version"), []).append(body)
    return found


_BY_VERSION: Remembered[Mapping[str, list[JsonObject]]] = Remembered(1024)


def preflight(live: LiveCluster, module: str, wanted: str) -> tuple[CatalogCheck, ...]:
    """All checks of a version that is to be installed or upgraded to on this cluster, in order."""
    if isinstance(live.catalog, Unknown):
        return (
            CatalogCheck("catalog", Outcome.NOT_KNOWN, f"the catalog was not read: {live.catalog.reason}"),
        )
    request = _Request(live, module, wanted, module_config(live, module, wanted))
    return tuple(found for check in _CHECKS for found in check(request))


def read_publication(live: LiveCluster, module: str, wanted: str) -> GateReading:
    """The preflight as one reading: refused is hopeless, pending is waited for."""
    checks = preflight(live, module, wanted)
    what = f"version {wanted} of module {module} for {live.name}"
    refused = [c.reason for c in checks if c.outcome is Outcome.REFUSED]
    if refused:
        return GateHopeless(f"{what}: {'; '.join(refused)}")
    pending = tuple(c.reason for c in checks if c.outcome is Outcome.PENDING)
    unknown = tuple(c.reason for c in checks if c.outcome is Outcome.NOT_KNOWN)
    see = f"kubectl get moduleconfigs -l {MODULE_LABEL}={module} on {GLOBAL_CLUSTER}"
    return gate_reading(what, pending, unknown, see)


def _plugin(request: _Request) -> Iterator[CatalogCheck]:
    assert not isinstance(request.live.catalog, Unknown)
    there = f"ModulePlugin/{request.module}" in request.live.catalog.value
    yield CatalogCheck(
        "plugin",
        Outcome.MET if there else Outcome.PENDING,
        "the plugin is known"
        if there
        else f"there is no ModulePlugin {request.module}: upload it with violet push",
    )


def _published(request: _Request) -> Iterator[CatalogCheck]:
    if request.config is None:
        told = "not published yet (an upload takes the platform 10 to 15 minutes)"
        yield CatalogCheck("published", Outcome.PENDING, told)
    elif section(request.config, "status").get("readyForDeploy") is not True:
        told = f"ModuleConfig {name_of(request.config)} is not readyForDeploy yet"
        yield CatalogCheck("published", Outcome.PENDING, told)
    else:
        yield CatalogCheck("published", Outcome.MET, f"ModuleConfig {name_of(request.config)} is ready")


def _affinity(request: _Request) -> Iterator[CatalogCheck]:
    affinity = section(request.config, "spec", "affinity")
    wanted, unwanted = (section(affinity, key) for key in ("clusterAffinity", "clusterAntiAffinity"))
    if not wanted and not unwanted:
        return
    inventory = request.live.inventory
    if isinstance(inventory, Unknown) or not inventory.value:
        told = inventory.reason if isinstance(inventory, Unknown) else "it is not registered"
        yield CatalogCheck("affinity", Outcome.NOT_KNOWN, f"labels of {request.live.name} not known: {told}")
        return
    if not _plain(wanted) or not _plain(unwanted):
        yield CatalogCheck("affinity", Outcome.UNCHECKED, "affinity with an operator we do not know")
        return
    labels = labels_of(next(iter(inventory.value.values())))
    fits = (not wanted or matches_selector(wanted, labels)) and not (
        unwanted and matches_selector(unwanted, labels)
    )
    yield CatalogCheck(
        "affinity",
        Outcome.MET if fits else Outcome.REFUSED,
        f"the labels of {request.live.name} {'fit' if fits else 'do not fit'} the version's cluster affinity",
    )


_OPERATORS = frozenset({"In", "NotIn", "Exists", "DoesNotExist"})


def _plain(selector: JsonObject) -> bool:
    return all(e.get("operator") in _OPERATORS for e in items(selector, "matchExpressions"))


def _rivals(request: _Request) -> Iterator[CatalogCheck]:
    installed = installed_versions(request.live)
    for rival in rivals(request.config, request.module):
        if installed is None:
            yield CatalogCheck("rivals", Outcome.NOT_KNOWN, "installed modules were not read")
        elif rival in installed:
            yield CatalogCheck("rivals", Outcome.REFUSED, f"module {rival} is installed, and excludes it")


def rivals(config: JsonObject | None, module: str) -> tuple[str, ...]:
    """The modules that a version does not bear beside it on one cluster (pluginAntiAffinity).

    A module may name itself there (a sample of alauda/cluster-plugin does): that forbids a second instance, and no upgrade.
    """
    found = section(config, "spec", "affinity").get("pluginAntiAffinity")
    names = found if isinstance(found, list) else []
    return tuple(name for name in names if isinstance(name, str) and name != module)


def _dependencies(request: _Request) -> Iterator[CatalogCheck]:
    yield from dependency_checks(request.config, installed_versions(request.live))


def dependency_checks(
    config: JsonObject | None, installed: Mapping[str, str] | None
) -> Iterator[CatalogCheck]:
    """What a version of a module depends on, against the versions that there are by module; None: they were not read."""
    for dependency in items(config, "spec", "dependencies"):
        name = text(dependency, "moduleName")
        matches = dependency.get("versionsMatch")
        constraints = [str(m) for m in matches] if isinstance(matches, list) else []
        if installed is None:
            yield CatalogCheck("dependencies", Outcome.NOT_KNOWN, "installed modules were not read")
        elif not installed.get(name):
            yield CatalogCheck(
                "dependencies", Outcome.PENDING, f"it needs module {name}, which is not installed"
            )
        else:
            yield _dependency(name, installed[name], constraints)


def _dependency(name: str, version: str, constraints: list[str]) -> CatalogCheck:
    answers = [admits(constraint, version) for constraint in constraints]
    told = f"module {name} is at {version}"
    if not constraints or True in answers or version in constraints:
        return CatalogCheck("dependencies", Outcome.MET, told)
    asked = f"{told}, wanted is any of {', '.join(constraints)}"
    if None in answers:
        return CatalogCheck("dependencies", Outcome.UNCHECKED, asked)
    return CatalogCheck("dependencies", Outcome.PENDING, asked)


def _upgrade(request: _Request) -> Iterator[CatalogCheck]:
    if not upgrades_from(request.config):
        return
    installed = installed_versions(request.live)
    if installed is None:
        yield CatalogCheck("upgrade", Outcome.NOT_KNOWN, "installed modules were not read")
        return
    version = installed.get(request.module)
    if version and version != request.wanted:
        yield from upgrade_checks(request.config, request.wanted, version)


def upgrades_from(config: JsonObject | None) -> str:
    """From which versions a version can be reached, in the words of its ModuleConfig; empty: it says nothing."""
    return text(section(config, "spec"), "supportedUpgradeVersions")


def upgrade_checks(config: JsonObject | None, wanted: str, version: str) -> Iterator[CatalogCheck]:
    """Whether `wanted`, of which this is the ModuleConfig, can be reached from a version."""
    if supported := upgrades_from(config):
        answer = admits(supported, version)
        outcome = {True: Outcome.MET, False: Outcome.REFUSED, None: Outcome.UNCHECKED}[answer]
        yield CatalogCheck("upgrade", outcome, f"{wanted} can be reached from {supported}, live is {version}")


_CHECKS: tuple[Callable[[_Request], Iterator[CatalogCheck]], ...] = (
    _plugin,
    _published,
    _affinity,
    _rivals,
    _dependencies,
    _upgrade,
)


def installed_versions(live: LiveCluster) -> dict[str, str] | None:
    """Versions that run on this cluster by module, those being deleted left out; None where they were not read."""
    if isinstance(live.modules, Unknown):
        return None
    return {
        labels_of(info).get(MODULE_LABEL, ""): text(section(info, "status"), "version")
        for info in live.modules.value.values()
        if not being_deleted(info)
    }
