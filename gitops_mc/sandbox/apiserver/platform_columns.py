"""The columns of the platform's kinds, as its definitions declare them (`additionalPrinterColumns`)."""

from __future__ import annotations

from collections.abc import Mapping

from gitops_mc.sandbox.apiserver.columns import AGE, NAME, Column, printed

_AGE = printed("Age", "date", ".metadata.creationTimestamp")
_LABEL = r".metadata.labels.cpaas\.io"

_MACHINE_CONFIG = (
    NAME,
    printed("IgnitionVersion", "string", ".spec.config.ignition.version"),
    _AGE,
)
_MACHINE_CONFIG_POOL = (
    NAME,
    printed("Config", "string", ".status.configuration.name"),
    *(
        printed(name, "string", f'.status.conditions[?(@.type=="{name}")].status')
        for name in ("Updated", "Updating", "Degraded")
    ),
    *(
        printed(f"{name[0].upper()}{name[1:]}", "number", f".status.{name}")
        for name in ("machineCount", "readyMachineCount", "updatedMachineCount", "degradedMachineCount")
    ),
    _AGE,
)
_MODULE_INFO = (
    NAME,
    printed("Cluster", "string", f"{_LABEL}/cluster-name"),
    printed("Module", "string", f"{_LABEL}/module-name"),
    printed("Display_Name", "string", r".metadata.annotations.cpaas\.io/display-name"),
    printed("Status", "string", ".status.phase"),
    printed("Target_Version", "string", ".spec.version"),
    printed("Current_Version", "string", ".status.version"),
    printed("New_Version", "string", ".status.availableVersions[0].version"),
)

PLATFORM: Mapping[str, tuple[Column, ...]] = {
    "machineconfigs.machineconfiguration.alauda.io": _MACHINE_CONFIG,
    "machineconfigpools.machineconfiguration.alauda.io": _MACHINE_CONFIG_POOL,
    "moduleinfoes.cluster.alauda.io": _MODULE_INFO,
}
"""By the id of the resource."""
UNDECLARED = (NAME, AGE)
"""Of a custom resource whose definition declares none."""
