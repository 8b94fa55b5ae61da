"""The public pages the rules rest on."""

from __future__ import annotations

from gitops_mc.core.rules.row import Source

_ACP = "https://docs.alauda.io/container_platform/4.1"
_IMMUTABLE = "https://github.com/alauda/immutable-infra-docs/blob/HEAD/docs/en/machine-configuration"

OVERVIEW = Source(
    "ACP docs, Machine Configuration: Overview", f"{_ACP}/configure/machine_config/overview.html"
)
MANAGING = Source(
    "ACP docs, Managing Node Configuration with MachineConfig",
    f"{_ACP}/configure/machine_config/managing.html",
)
DISRUPTION = Source(
    "ACP docs, Node Disruption Policies", f"{_ACP}/configure/machine_config/node_disruption.html"
)
POLICY_API = Source(
    "ACP docs, API of MachineConfiguration",
    f"{_ACP}/apis/kubernetes_apis/machineconfiguration/machineconfiguration.html",
)
POOL_API = Source(
    "ACP docs, API of MachineConfigPool",
    f"{_ACP}/apis/kubernetes_apis/machineconfiguration/machineconfigpool.html",
)
PLUGIN = Source("ACP docs, Cluster Plugin", f"{_ACP}/extend/cluster_plugin.html")
KUBELET = Source(
    "ACP docs, Immutable Infrastructure: Configuring Kubelet", f"{_IMMUTABLE}/kubelet_config.mdx"
)
INSTALLING = Source(
    "ACP docs, Immutable Infrastructure: Installing Machine Configuration", f"{_IMMUTABLE}/install.mdx"
)
MODULE_API = Source(
    "ACP docs, API of ModuleConfig", f"{_ACP}/apis/kubernetes_apis/moduleplugin/moduleconfig.html"
)
MODULE_CONFIG = Source(
    "alauda/cluster-plugin, ModuleConfig",
    "https://github.com/alauda/cluster-plugin/blob/HEAD/docs/moduleconfig.md",
)
KUBELET_FOLDER = Source(
    "Kubernetes docs, Set kubelet parameters via a configuration file",
    "https://kubernetes.io/docs/tasks/administer-cluster/kubelet-config-file/",
)
SERVICE = Source(
    "systemd.service(5)", "https://www.freedesktop.org/software/systemd/man/latest/systemd.service.html"
)
IGNITION = Source(
    "Ignition configuration specification 3.4", "https://coreos.github.io/ignition/configuration-v3_4/"
)
MCO = Source(
    "OpenShift machine-config-operator, MachineConfigDaemon",
    "https://github.com/openshift/machine-config-operator/blob/master/docs/MachineConfigDaemon.md",
)
MERGE = Source(
    "OpenShift machine-config-operator, MergeMachineConfigs",
    "https://github.com/openshift/machine-config-operator/blob/master/pkg/controller/common/helpers.go",
)
CUSTOM_POOLS = Source(
    "OpenShift machine-config-operator, Custom Pools",
    "https://github.com/openshift/machine-config-operator/blob/master/docs/custom-pools.md",
)
IGNITION_CHECKS = Source(
    "Ignition, validation of specification 3.4",
    "https://github.com/coreos/ignition/blob/main/config/v3_4/types/config.go",
)
ETCD = Source("etcd docs, System limits", "https://etcd.io/docs/v3.5/dev-guide/limit/")
SYSTEMD = Source(
    "systemd.unit(5)", "https://www.freedesktop.org/software/systemd/man/latest/systemd.unit.html"
)
SSHD = Source(
    "sshd(8), AUTHORIZED_KEYS FILE FORMAT", "https://man.openbsd.org/sshd#AUTHORIZED_KEYS_FILE_FORMAT"
)
KERNEL = Source(
    "The kernel's command-line parameters",
    "https://docs.kernel.org/admin-guide/kernel-parameters.html",
)
LABELS = Source(
    "Kubernetes docs, Labels and Selectors",
    "https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/",
)
ANNOTATIONS = Source(
    "Kubernetes docs, Annotations",
    "https://kubernetes.io/docs/concepts/overview/working-with-objects/annotations/",
)
APPLY = Source(
    "Kubernetes docs, Server-Side Apply",
    "https://kubernetes.io/docs/reference/using-api/server-side-apply/",
)
