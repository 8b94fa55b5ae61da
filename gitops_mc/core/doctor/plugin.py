"""The plugin machine-config as it stands on global: published, installed, running, and at one version everywhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gitops_mc.core.doctor.finding import Examined, Finding, failed, not_checked, ok, some, version_of
from gitops_mc.core.gates import live_modules
from gitops_mc.core.model import (
    CLUSTER_LABEL,
    MACHINE_CONFIG_MODULE,
    MODULE_LABEL,
    JsonObject,
    Unknown,
    labels_of,
)


def published(x: Examined) -> Iterator[Finding]:
    fact = x.live.catalog
    if isinstance(fact, Unknown):
        yield not_checked("plugin published", f"the catalog on global was not read: {fact.reason}")
        return
    if f"ModulePlugin/{MACHINE_CONFIG_MODULE}" not in fact.value:
        yield failed(
            "plugin published",
            f"global has no ModulePlugin {MACHINE_CONFIG_MODULE}: upload the package with violet push",
            f"kubectl get moduleplugins {MACHINE_CONFIG_MODULE}  # on global",
        )
        return
    published = sorted(
        version_of(c) for k, c in fact.value.items() if k.startswith("ModuleConfig/") and _is_ours(c)
    )
    show = f"kubectl get moduleconfigs -l {MODULE_LABEL}={MACHINE_CONFIG_MODULE}  # on global"
    if not published:
        yield failed(
            "plugin published", "no version of it is published (an upload takes 10 to 15 minutes)", show
        )
    elif x.wanted_version and x.wanted_version not in published:
        told = f"the repository wants {x.wanted_version}; published: {', '.join(published)}"
        yield failed("plugin published", told, show)
    else:
        yield ok("plugin published", f"versions {', '.join(published)}")


def installed(x: Examined) -> Iterator[Finding]:
    fact = x.live.modules
    if isinstance(fact, Unknown):
        yield not_checked("plugin installed", f"ModuleInfos on global were not read: {fact.reason}")
        return
    found = live_modules(x.live, MACHINE_CONFIG_MODULE)
    show = f"kubectl get moduleinfoes -l {MODULE_LABEL}={MACHINE_CONFIG_MODULE},{CLUSTER_LABEL}={x.name}  # on global"
    if not found and x.wanted_version:
        told = f"not yet; the repository installs {x.wanted_version} with gitops-mc apply"
        yield not_checked("plugin installed", told, show)
    elif not found:
        told = "it is not: put its ModuleInfo into the repository, or install it in the console (Cluster Plugins)"
        yield failed("plugin installed", told, show)
    elif len(found) > 1:
        yield failed("plugin installed", f"there are {len(found)} ModuleInfos where one is right", show)
    else:
        yield from _running(found[0], show)


def _running(info: JsonObject, show: str) -> Iterator[Finding]:
    status = info.get("status") or {}
    wanted, running, phase = (
        version_of(info),
        status.get("version") or "nothing",
        status.get("phase") or "not said",
    )
    yield ok("plugin installed", f"version {wanted}")
    if phase == "Running" and wanted == running:
        yield ok("plugin running", f"phase Running at {running}")
    else:
        yield failed(
            "plugin running", f"phase {phase}, at {running} of {wanted}", show.replace("  #", " -o yaml  #")
        )


def versions_apart(examined: Sequence[Examined]) -> tuple[Finding, ...]:
    """One environment runs one version of machine-config (ACP docs)."""
    found: dict[str, list[str]] = {}
    for x in examined:
        for info in live_modules(x.live, MACHINE_CONFIG_MODULE):
            found.setdefault(version_of(info), []).append(x.name)
    if len(found) < 2:
        return ()
    told = "; ".join(f"{version} on {some(names)}" for version, names in sorted(found.items()))
    show = f"kubectl get moduleinfoes -l {MODULE_LABEL}={MACHINE_CONFIG_MODULE}  # on global"
    return (failed("one version", f"clusters run different versions of machine-config: {told}", show),)


def _is_ours(config: JsonObject) -> bool:
    name = str((config.get("metadata") or {}).get("name", ""))
    return labels_of(config).get(MODULE_LABEL) == MACHINE_CONFIG_MODULE or name.startswith(
        f"{MACHINE_CONFIG_MODULE}-"
    )
