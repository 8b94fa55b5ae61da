"""MachineConfig bodies for tests, in few words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gitops_mc.core.ignition import Effective, effective_of, effective_spec
from gitops_mc.core.model import ROLE_LABEL, JsonObject


def machine_config(
    name: str = "50-worker-test",
    role: str = "worker",
    *,
    files: Iterable[JsonObject] = (),
    units: Iterable[JsonObject] = (),
    ssh_keys: Mapping[str, Iterable[str]] | None = None,
    kernel_arguments: Iterable[str] = (),
    **sections: Any,
) -> JsonObject:
    """A MachineConfig; `sections` are further parts of `spec.config`."""
    config: JsonObject = {"ignition": {"version": "3.4.0"}, **sections}
    if files := list(files):
        config["storage"] = {"files": files, **sections.get("storage", {})}
    if units := list(units):
        config["systemd"] = {"units": units}
    if ssh_keys:
        users = [{"name": user, "sshAuthorizedKeys": list(keys)} for user, keys in ssh_keys.items()]
        config["passwd"] = {"users": users}
    return {
        "apiVersion": "machineconfiguration.alauda.io/v1alpha1",
        "kind": "MachineConfig",
        "metadata": {"name": name, "labels": {ROLE_LABEL: role}},
        "spec": {"config": config, "kernelArguments": list(kernel_arguments)},
    }


def file(path: str, source: str | None = None, **fields: Any) -> JsonObject:
    """A file; `compression` goes into its contents, anything else beside the path."""
    contents = {"source": source, "compression": fields.pop("compression", None)}
    written = {key: value for key, value in contents.items() if value is not None}
    return {"path": path, **({"contents": written} if written else {}), **fields}


def as_rendered(effective: Effective, name: str = "rendered-worker-1") -> Effective:
    """What a pool says that has rendered exactly this."""
    return effective_of({"metadata": {"name": name}, "spec": effective_spec(effective)})
