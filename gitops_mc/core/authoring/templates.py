"""New manifests with the words that whoever fills them in needs. Each is valid as it is, and does nothing to a node yet."""

from __future__ import annotations

from typing import Final

from gitops_mc.core.manifests.scalars import resolve_plain
from gitops_mc.core.model import CLUSTER_LABEL, MODULE_LABEL, MODULE_TYPE_LABEL, ROLE_LABEL, Kind
from gitops_mc.core.pools import MASTER_POOL, WORKER_POOL

_CONFIG: Final = """\
# What the nodes of role {role} get of {topic}: files, units, kernel arguments, SSH keys. As it stands it holds nothing; take
# the `#` away from what you need. What a change does to a node: gitops-mc plan.
apiVersion: {api}
kind: MachineConfig
metadata:
  # NN-<role>-<topic>: configs merge in the order of their names, and later ones win.
  name: {name}
  labels:
    {label}: {value}
spec:
  config:
    ignition:
      version: 3.4.0
    # storage:
    #   files:
    #     - path: /etc/{topic}.conf
    #       mode: 0644
    #       contents:
    #         # Or, for a file beside this manifest: local: files/{topic}.conf
    #         inline: |
    #           # managed in Git
    # systemd:
    #   units:
    #     - name: {topic}-check.service
    #       enabled: true
    #       # Or, for a file beside this manifest: contents_local: files/{topic}-check.service
    #       contents: |
    #         [Unit]
    #         Description=Checks {topic}
    #         [Service]
    #         Type=oneshot
    #         ExecStart=/usr/bin/true
    #         [Install]
    #         WantedBy=multi-user.target
  # Any change of kernel arguments reboots the nodes, whatever the node-disruption policy says.
  # kernelArguments:
  #   - console=ttyS0,115200
"""

_CUSTOM_POOL: Final = """\
# Nodes with the label node-role.kubernetes.io/{name} get the configs of role worker and those of role {name}. Custom pools are
# for workers only, and a change to a worker config rolls this pool, too. A node may be in one custom pool at most.
apiVersion: {api}
kind: MachineConfigPool
metadata:
  name: {value}
spec:
  machineConfigSelector:
    matchExpressions:
      - key: {label}
        operator: In
        values: [worker, {value}]
  nodeSelector:
    matchLabels:
      node-role.kubernetes.io/{name}: ""
  # Nodes out of service at once, for any reason: a number, or a percentage. 1 is the default.
  maxUnavailable: 1
"""

_BUILT_IN_POOL: Final = """\
# Pool {name} is the operator's: only what stands here is ours, its selectors are not.
apiVersion: {api}
kind: MachineConfigPool
metadata:
  name: {name}
spec:
  # Nodes out of service at once, for any reason. {limit}
  maxUnavailable: 1
"""

_MODULE: Final = """\
# Cluster plugin {name}. It is created on the global cluster, whatever the target is: its labels decide.
apiVersion: {api}
kind: ModuleInfo
metadata:
{head}spec:
  # A version that is published on the platform. For another one: gitops-mc set module-version {name} VERSION
  version: {version}
  # Only what is to differ from the defaults of the plugin; the platform fills in the rest.
  config: {{}}
"""

_TEMPORARY_NAME: Final = """\
  # A temporary name: the platform renames the object. What identifies it is its pair of labels.
  name: {cluster}-temporary-name
"""


def machine_config_text(name: str, role: str) -> str:
    """`name` as `NN-<role>-<topic>` where its topic is to be told by it."""
    topic = name.removeprefix(f"{name[:2]}-{role}-") if name[:2].isdigit() else name
    return _CONFIG.format(
        api=Kind.MACHINE_CONFIG.api_version,
        name=_said(name),
        label=ROLE_LABEL,
        role=role,
        value=_said(role),
        topic=topic,
    )


def pool_text(name: str) -> str:
    api = Kind.MACHINE_CONFIG_POOL.api_version
    if name not in (MASTER_POOL, WORKER_POOL):
        return _CUSTOM_POOL.format(api=api, label=ROLE_LABEL, name=name, value=_said(name))
    limit = (
        "Of masters never more than 1."
        if name == MASTER_POOL
        else "A number, or a percentage; 1 is the default."
    )
    return _BUILT_IN_POOL.format(api=api, name=name, limit=limit)


def module_text(name: str, version: str, cluster: str | None) -> str:
    """`cluster` is None in a shared set, where every cluster fills in its own."""
    labels = {CLUSTER_LABEL: cluster, MODULE_LABEL: name, MODULE_TYPE_LABEL: "plugin"}
    said = "".join(f"    {label}: {_said(value)}\n" for label, value in labels.items() if value is not None)
    head = _TEMPORARY_NAME.format(cluster=cluster) if cluster is not None else ""
    return _MODULE.format(
        api=Kind.MODULE_INFO.api_version, name=name, version=_said(version), head=f"{head}  labels:\n{said}"
    )


def _said(text: str) -> str:
    """A name or a version as a string for every reader: in quotes where plain it would be a number or a boolean."""
    return text if resolve_plain(text) == text else f'"{text}"'
