"""Rules about the modules that Git wants, against the platform's catalog and what is installed.

Most of it the gate before a module's step asks again, of the same functions: here it is told on the pull request. What
may come by itself is a warning, and so is what a catalog says in words that nobody has documented.
"""

from __future__ import annotations

from collections.abc import Iterator

from gitops_mc.core.gates import (
    Outcome,
    dependency_checks,
    installed_versions,
    module_config,
    preflight,
    rivals,
)
from gitops_mc.core.model import MODULE_LABEL, JsonObject, Manifest, labels_of
from gitops_mc.core.modules import is_core
from gitops_mc.core.raw import items, section, text
from gitops_mc.core.rules.live.facts import known, wanted_versions
from gitops_mc.core.rules.row import Hit, LiveFact, LiveFacts

_VERSION = ("spec", "version")
_QUIET_RISKS = ("", "low")
"""upgradeRiskLevel is low, middle or high (alauda/cluster-plugin)."""


def _to_come(facts: LiveFacts) -> Iterator[tuple[Manifest, str, str]]:
    """Every module that is not installed in the wanted version: what is there already needs no catalog."""
    installed = installed_versions(facts.live) or {}
    for manifest, module, version in wanted_versions(facts):
        if installed.get(module) != version:
            yield manifest, module, version


def _configs(facts: LiveFacts) -> Iterator[tuple[Manifest, str, str, JsonObject]]:
    """Every module to come in a version that is published, with its ModuleConfig."""
    for manifest, module, version in _to_come(facts):
        config = module_config(facts.live, module, version)
        if config is not None:
            yield manifest, module, version, config


def _upgrades(facts: LiveFacts) -> Iterator[tuple[Manifest, str, str, str]]:
    """Every module that is installed in another version than the wanted one: manifest, name, installed, wanted."""
    installed = installed_versions(facts.live) or {}
    for manifest, module, version in wanted_versions(facts):
        standing = installed.get(module)
        if standing and standing != version:
            yield manifest, module, standing, version


def _has_plugin(facts: LiveFacts, module: str) -> bool:
    return f"ModulePlugin/{module}" in known(facts, LiveFact.CATALOG)


def plugin_known(facts: LiveFacts) -> Iterator[Hit]:
    for manifest, module, _ in _to_come(facts):
        if not _has_plugin(facts, module):
            yield Hit(
                manifest,
                ("metadata", "labels", MODULE_LABEL),
                f"the platform knows no module {module}: there is no ModulePlugin of that name",
                "correct the name, or upload the module with violet push",
            )


def version_published(facts: LiveFacts) -> Iterator[Hit]:
    for manifest, module, version in _to_come(facts):
        if _has_plugin(facts, module) and module_config(facts.live, module, version) is None:
            yield Hit(
                manifest,
                _VERSION,
                f"version {version} of module {module} is not published on the platform yet",
                "upload it with violet push; after that the platform needs 10 to 15 minutes to show it",
            )


def version_ready(facts: LiveFacts) -> Iterator[Hit]:
    for manifest, module, version in _to_come(facts):
        config = module_config(facts.live, module, version)
        if config is not None and section(config, "status").get("readyForDeploy") is not True:
            yield Hit(
                manifest,
                _VERSION,
                f"version {version} of module {module} is published, but not ready to be deployed",
                f"see status of ModuleConfig {module}-{version} on the global cluster; an upload takes it 10 to 15 minutes",
            )


def cluster_affinity(facts: LiveFacts) -> Iterator[Hit]:
    for manifest, module, version in _to_come(facts):
        for check in preflight(facts.live, module, version):
            if check.name == "affinity" and check.outcome is Outcome.REFUSED:
                yield Hit(
                    manifest,
                    _VERSION,
                    f"module {module} {version} is not for this cluster: {check.reason}",
                    "remove the manifest; which labels it asks for stands in spec.affinity of its ModuleConfig",
                )


def rival_modules(facts: LiveFacts) -> Iterator[Hit]:
    installed = set(installed_versions(facts.live) or {}) | {name for _, name, _ in wanted_versions(facts)}
    for manifest, module, version, config in _configs(facts):
        for rival in rivals(config, module):
            if rival in installed:
                yield Hit(
                    manifest,
                    ("metadata", "labels", MODULE_LABEL),
                    f"module {module} {version} does not bear module {rival} on the same cluster (pluginAntiAffinity)",
                    "keep one of the two",
                )


def dependencies_met(facts: LiveFacts) -> Iterator[Hit]:
    """What Git wants counts, where it wants something: it is installed or upgraded first."""
    versions = {**(installed_versions(facts.live) or {})}
    versions |= {module: version for _, module, version in wanted_versions(facts)}
    for manifest, module, version, config in _configs(facts):
        for check in dependency_checks(config, versions):
            if check.outcome is Outcome.PENDING:
                yield Hit(
                    manifest,
                    _VERSION,
                    f"module {module} {version} would wait: {check.reason}",
                    "add what it depends on to Git in a version that fits, or install it by hand",
                )


def upgrade_supported(facts: LiveFacts) -> Iterator[Hit]:
    for manifest, module, _, version in _upgrades(facts):
        for check in preflight(facts.live, module, version):
            if check.name == "upgrade" and check.outcome is Outcome.REFUSED:
                yield Hit(
                    manifest,
                    _VERSION,
                    f"module {module}: {check.reason}",
                    "go by a version between the two, in a commit of its own",
                )


def core_module(facts: LiveFacts) -> Iterator[Hit]:
    infos = {labels_of(i).get(MODULE_LABEL): i for i in known(facts, LiveFact.MODULES).values()}
    catalog = known(facts, LiveFact.CATALOG)
    for manifest, module, standing, version in _upgrades(facts):
        config = module_config(facts.live, module, version) or {}
        if is_core(infos.get(module, {}), catalog.get(f"ModulePlugin/{module}", {}), config):
            yield Hit(
                manifest,
                _VERSION,
                f"module {module} follows the version of the cluster (life cycle Core): from {standing} to {version} it goes "
                "with an upgrade of the cluster, not by itself",
                "upgrade the cluster, and write here the version that it brings, or remove the manifest",
            )


def upgrade_order(facts: LiveFacts) -> Iterator[Hit]:
    """upgradeBefore: this one is to be upgraded before those (the schema says no more, so this is a warning)."""
    together = {module for _, module, _, _ in _upgrades(facts)}
    for manifest, module, version, config in _configs(facts):
        for later in items(config, "spec", "upgradeBefore"):
            name = text(later, "moduleName")
            if module in together and name in together and name != module:
                yield Hit(
                    manifest,
                    _VERSION,
                    f"module {module} {version} asks to be upgraded before module {name}, which this upgrades as well",
                    f"upgrade {name} in a later commit, once {module} runs",
                )


def upgrade_risk(facts: LiveFacts) -> Iterator[Hit]:
    for manifest, module, standing, version in _upgrades(facts):
        config = module_config(facts.live, module, version)
        risk = text(section(config, "spec"), "upgradeRiskLevel")
        if risk.lower() not in _QUIET_RISKS:
            yield Hit(
                manifest,
                _VERSION,
                f"the platform rates the upgrade of module {module} from {standing} to {version} as a risk: {risk}",
                f"read spec.upgradeRiskDescriptionEn of ModuleConfig {module}-{version} before it is merged",
            )
