"""The rules that files alone decide, as a table. Those about the live cluster stand in `live/table.py`.

A new rule is a row, a check, its fixtures in tests/data/rules/, and its section below docs/rules/.
"""

from __future__ import annotations

from gitops_mc.core.model import Kind, Severity
from gitops_mc.core.rules import (
    directives,
    files,
    fleet_checks,
    kernel,
    kubelet,
    merged,
    modules,
    ownership,
    policies,
    pools,
    schema,
    sections,
    services,
    sources,
    units,
)
from gitops_mc.core.rules.row import FleetRule, Rule, ScopeKind, each, every

_ERROR, _WARNING = Severity.ERROR, Severity.WARNING
_HERE, _CLUSTER = ScopeKind.MANIFEST, ScopeKind.CLUSTER
_MC, _POOL = Kind.MACHINE_CONFIG, Kind.MACHINE_CONFIG_POOL
_POLICY, _MODULE = Kind.MACHINE_CONFIGURATION, Kind.MODULE_INFO

# fmt: off
_OBJECTS = (
    Rule("field-unknown", "Every field is one that the platform's schema declares.",
         _ERROR, _HERE, sources.APPLY, every(schema.unknown_fields)),
    Rule("field-type", "Every value has the type that the schema declares.",
         _ERROR, _HERE, sources.APPLY, every(schema.wrong_types)),
    Rule("annotation-unknown", "An annotation `gitops-mc.io/*` is one that has a meaning.",
         _ERROR, _HERE, sources.ANNOTATIONS, every(directives.unknown_annotation)),
    Rule("annotation-value", "An annotation `gitops-mc.io/*` has a value that has a meaning.",
         _ERROR, _HERE, sources.ANNOTATIONS, every(directives.annotation_value)),
)

_CONFIGS = (
    Rule("mc-protected-name", "Configs named `00-*`, `rendered-*` and `render-*` are the operator's.",
         _ERROR, _HERE, sources.OVERVIEW, each(_MC, sections.protected_name)),
    Rule("mc-name-convention", "A config is named `NN-<role>-<topic>`.",
         _WARNING, _HERE, sources.MANAGING, each(_MC, sections.name_convention)),
    Rule("mc-role-label", "A config has a role label, or a pool in the repository selects it by another.",
         _ERROR, _CLUSTER, sources.OVERVIEW, merged.role_label),
    Rule("mc-selects-no-pool", "The role of a config is one that a pool in the repository selects.",
         _WARNING, _CLUSTER, sources.OVERVIEW, merged.selects_no_pool),
    Rule("mc-overridden", "Something of every config is left after the merge, in one pool at least.",
         _WARNING, _CLUSTER, sources.OVERVIEW, merged.overridden),
    Rule("merge-order", "What configs merge to does not depend on the operator's merge order.",
         _WARNING, _CLUSTER, sources.MERGE, merged.order_dependent),
    Rule("merged-size", "The merged config of a pool has at most 1,572,864 bytes.",
         _ERROR, _CLUSTER, sources.ETCD, merged.too_large),
    Rule("merged-size-near", "The merged config of a pool stays 10 % below the limit.",
         _WARNING, _CLUSTER, sources.ETCD, merged.nearly_too_large),
    Rule("kernel-argument", "A kernel argument is not empty and has no white space around it.",
         _ERROR, _HERE, sources.KERNEL, each(_MC, sections.kernel_arguments)),
    Rule("kernel-argument-twice", "A config has a kernel argument once.",
         _WARNING, _HERE, sources.KERNEL, each(_MC, sections.duplicate_kernel_arguments)),
    Rule("kernel-argument-conflict", "A kernel argument of one value has one value in what a pool merges.",
         _WARNING, _CLUSTER, sources.KERNEL, kernel.contradiction),
    Rule("ignition-version", "The Ignition version is the string 3.4.0.",
         _ERROR, _HERE, sources.OVERVIEW, each(_MC, sections.ignition_version)),
    Rule("ignition-section", "Only files, units and SSH keys are configured.",
         _ERROR, _HERE, sources.OVERVIEW, each(_MC, sections.unsupported_sections)),
    Rule("ignition-fetching", "Settings for fetching a config do not stand in a MachineConfig.",
         _WARNING, _HERE, sources.IGNITION, each(_MC, sections.fetch_settings)),
    Rule("ignition-field", "Every field is one of Ignition 3.4.",
         _WARNING, _HERE, sources.IGNITION, each(_MC, sections.unknown_ignition_fields)),
)

_FILES = (
    Rule("file-path", "The path of a file is absolute and normalised.",
         _ERROR, _HERE, sources.IGNITION, each(_MC, files.file_path)),
    Rule("file-in-root", "A file stands in a directory below the root.",
         _ERROR, _HERE, sources.OVERVIEW, each(_MC, files.file_in_root)),
    Rule("file-place", "A file stands in a writable directory that outlives a boot (inferred: /usr but for /usr/local, "
         "/boot and the like are not).",
         _WARNING, _HERE, sources.OVERVIEW, each(_MC, files.read_only_place)),
    Rule("file-twice", "A path stands in a config once.",
         _ERROR, _HERE, sources.IGNITION, each(_MC, files.duplicate_path)),
    Rule("file-below-file", "No path is both a file and a directory in one config.",
         _ERROR, _HERE, sources.IGNITION, each(_MC, files.file_below_file)),
    Rule("merged-file-below-file", "No path is both a file and a directory in what a pool merges.",
         _ERROR, _CLUSTER, sources.IGNITION, merged.file_below_file),
    Rule("file-is-unit", "No file stands where a unit or a drop-in of the same pool is written.",
         _ERROR, _CLUSTER, sources.IGNITION_CHECKS, merged.file_is_unit),
    Rule("file-no-contents", "Of every file the merge has contents.",
         _WARNING, _CLUSTER, sources.IGNITION, merged.file_without_contents),
    Rule("file-append", "Files are written whole, never appended to.",
         _ERROR, _HERE, sources.MCO, each(_MC, files.file_append)),
    Rule("file-mode-type", "A mode is a whole number.",
         _ERROR, _HERE, sources.IGNITION, each(_MC, files.mode_type)),
    Rule("file-mode-decimal", "A mode is written in octal: 0644, not 644.",
         _ERROR, _HERE, sources.IGNITION, each(_MC, files.mode_decimal)),
    Rule("file-mode-range", "A mode is 0777 at most.",
         _ERROR, _HERE, sources.MCO, each(_MC, files.mode_range)),
    Rule("file-owner-twice", "An owner is named by id or by name, not by both.",
         _ERROR, _HERE, sources.IGNITION, each(_MC, files.owner_twice)),
    Rule("file-owner-name", "An owner named by name exists on every node: users and groups are never created.",
         _WARNING, _HERE, sources.OVERVIEW, each(_MC, files.owner_name)),
    Rule("file-contents", "The contents of a file can be decoded.",
         _ERROR, _HERE, sources.IGNITION, each(_MC, files.file_contents)),
    Rule("file-operator", "No file stands where the operator keeps its own.",
         _WARNING, _HERE, sources.MANAGING, each(_MC, ownership.operators_file)),
    Rule("file-two-owners", "The contents of a file come from one config of a role and folder.",
         _WARNING, _CLUSTER, sources.OVERVIEW, ownership.file_two_owners),
    Rule("kubelet-piece", "A piece of kubelet configuration ends in .conf and says what it is.",
         _WARNING, _HERE, sources.KUBELET, each(_MC, kubelet.form)),
    Rule("kubelet-setting", "A piece of kubelet configuration leaves alone what the platform decides.",
         _WARNING, _HERE, sources.KUBELET, each(_MC, kubelet.platforms_setting)),
    Rule("file-inert", "Something happens after a file has changed, or a policy entry says that nothing need.",
         _WARNING, _CLUSTER, sources.DISRUPTION, merged.inert_file),
)

_UNITS = (
    Rule("unit-name", "A unit's name ends in a unit type and has valid characters.",
         _ERROR, _HERE, sources.SYSTEMD, each(_MC, units.unit_name)),
    Rule("unit-twice", "A unit stands in a config once.",
         _ERROR, _HERE, sources.IGNITION, each(_MC, units.duplicate_unit)),
    Rule("unit-contents", "The contents of a unit, where given, are those of a unit.",
         _WARNING, _HERE, sources.SYSTEMD, each(_MC, units.unit_contents)),
    Rule("unit-enabled", "A unit that is enabled has an [Install] section.",
         _WARNING, _HERE, sources.SYSTEMD, each(_MC, units.enabled_without_install)),
    Rule("unit-masked", "A unit that is masked has neither contents nor `enabled`.",
         _WARNING, _HERE, sources.IGNITION, each(_MC, units.masked_with_contents)),
    Rule("unit-taken-over", "A drop-in for a unit of the system is a file, not an entry under systemd.units.",
         _WARNING, _CLUSTER, sources.KUBELET, ownership.unit_taken_over),
    Rule("unit-two-owners", "The contents of a unit or drop-in come from one config of a role and folder.",
         _WARNING, _CLUSTER, sources.OVERVIEW, ownership.unit_two_owners),
    Rule("unit-executes", "A file that a unit starts may be executed.",
         _WARNING, _CLUSTER, sources.SERVICE, services.not_executable),
    Rule("dropin-contents", "A drop-in has the contents of one.",
         _WARNING, _HERE, sources.SYSTEMD, each(_MC, units.dropin_contents)),
    Rule("dropin-name", "A drop-in's name ends in .conf and stands in a unit once.",
         _ERROR, _HERE, sources.SYSTEMD, each(_MC, units.dropin_name)),
)

_USERS = (
    Rule("user-other", "The only user is boot.",
         _ERROR, _HERE, sources.OVERVIEW, each(_MC, sections.other_users)),
    Rule("user-name-field", "The user is named by `name`, as Ignition 3.4 has it.",
         _WARNING, _HERE, sources.IGNITION, each(_MC, sections.user_name_field)),
    Rule("user-field", "Of user boot nothing but the SSH keys is set.",
         _ERROR, _HERE, sources.OVERVIEW, each(_MC, sections.user_fields)),
    Rule("ssh-key", "An SSH key is a whole public key on one line.",
         _ERROR, _HERE, sources.SSHD, each(_MC, sections.ssh_keys)),
    Rule("ssh-key-twice", "An SSH key stands in a config once.",
         _WARNING, _HERE, sources.SSHD, each(_MC, sections.duplicate_ssh_keys)),
)

_POOLS = (
    Rule("pool-max-unavailable", "maxUnavailable is a whole number or a percentage.",
         _ERROR, _HERE, sources.POOL_API, each(_POOL, pools.max_unavailable_form)),
    Rule("pool-max-unavailable-zero", "maxUnavailable is not 0, which means 1.",
         _ERROR, _HERE, sources.POOL_API, each(_POOL, pools.max_unavailable_zero)),
    Rule("pool-max-unavailable-master", "maxUnavailable of pool master is 1.",
         _ERROR, _HERE, sources.POOL_API, each(_POOL, pools.max_unavailable_master)),
    Rule("pool-max-unavailable-all", "maxUnavailable is not 100%.",
         _WARNING, _HERE, sources.POOL_API, each(_POOL, pools.max_unavailable_all)),
    Rule("pool-paused", "A pool is not paused by its manifest.",
         _WARNING, _HERE, sources.POOL_API, each(_POOL, pools.paused)),
    Rule("pool-configuration", "spec.configuration is the operator's.",
         _ERROR, _HERE, sources.POOL_API, each(_POOL, pools.configuration)),
    Rule("pool-selector", "Selectors are well-formed.",
         _ERROR, _HERE, sources.LABELS, each(_POOL, pools.selector_form)),
    Rule("pool-default-selector", "Pools master and worker keep their selectors.",
         _ERROR, _HERE, sources.OVERVIEW, each(_POOL, pools.default_selectors)),
    Rule("pool-custom-selector", "A custom pool says which configs and which nodes it selects.",
         _ERROR, _HERE, sources.OVERVIEW, each(_POOL, pools.custom_selectors)),
    Rule("pool-inherits-worker", "A custom pool selects the configs of role worker.",
         _ERROR, _HERE, sources.OVERVIEW, each(_POOL, pools.inherits_worker)),
    Rule("pool-own-role", "A custom pool selects the configs of its own role.",
         _WARNING, _HERE, sources.OVERVIEW, each(_POOL, pools.own_role)),
    Rule("pool-control-plane", "A custom pool has neither the configs nor the nodes of the control plane.",
         _ERROR, _HERE, sources.OVERVIEW, each(_POOL, pools.takes_control_plane)),
    Rule("pool-same-nodes", "No two custom pools select the same nodes.",
         _ERROR, _CLUSTER, sources.CUSTOM_POOLS, pools.same_nodes),
)

_POLICIES = (
    Rule("policy-name", "The MachineConfiguration is named cluster.",
         _ERROR, _HERE, sources.DISRUPTION, each(_POLICY, policies.singleton_name)),
    Rule("policy-action", "An action is Reboot, Drain, Reload, Restart, DaemonReload or None.",
         _ERROR, _HERE, sources.POLICY_API, each(_POLICY, policies.action_type)),
    Rule("policy-action-alone", "Reboot and None stand alone.",
         _ERROR, _HERE, sources.POLICY_API, each(_POLICY, policies.stands_alone)),
    Rule("policy-action-service", "Reload and Restart name a service, and no other action does.",
         _ERROR, _HERE, sources.POLICY_API, each(_POLICY, policies.service_given)),
    Rule("policy-service-name", "Services and units are named as the schema admits.",
         _ERROR, _HERE, sources.POLICY_API, each(_POLICY, policies.service_name)),
    Rule("policy-entry", "Each entry has its path or name, and each path or name one entry.",
         _ERROR, _HERE, sources.POLICY_API, each(_POLICY, policies.entry_key)),
    Rule("policy-path", "The path of an entry is absolute and normalised, and not the root.",
         _ERROR, _HERE, sources.DISRUPTION, each(_POLICY, policies.policy_path)),
    Rule("policy-most", "At most 50 files, 50 units and 10 actions each.",
         _ERROR, _HERE, sources.POLICY_API, each(_POLICY, policies.most_entries)),
    Rule("policy-daemon-reload", "systemd reads a unit again before its service is restarted.",
         _WARNING, _HERE, sources.KUBELET, each(_POLICY, services.reads_old_unit)),
    Rule("policy-masked", "No action restarts or reloads a service that a config masks.",
         _WARNING, _CLUSTER, sources.SYSTEMD, services.restarts_masked),
    Rule("policy-no-action", "A list of actions is not empty.",
         _ERROR, _HERE, sources.POLICY_API, each(_POLICY, policies.no_actions)),
)

_MODULES = (
    Rule("module-labels", "A ModuleInfo has its three labels.",
         _ERROR, _HERE, sources.PLUGIN, each(_MODULE, modules.three_labels)),
    Rule("module-cluster", "The cluster label agrees with the folder.",
         _ERROR, _HERE, sources.PLUGIN, modules.own_cluster),
    Rule("module-version", "A ModuleInfo has a version.",
         _ERROR, _HERE, sources.PLUGIN, each(_MODULE, modules.version_given)),
    Rule("module-version-form", "A version looks like vX.Y.Z.",
         _WARNING, _HERE, sources.PLUGIN, each(_MODULE, modules.version_form)),
    Rule("module-no-config", "Module machine-config has no configuration.",
         _ERROR, _HERE, sources.PLUGIN, each(_MODULE, modules.no_config)),
)

RULES: tuple[Rule, ...] = (
    *_OBJECTS, *_CONFIGS, *_FILES, *_UNITS, *_USERS, *_POOLS, *_POLICIES, *_MODULES,
)

FLEET_RULES: tuple[FleetRule, ...] = (
    FleetRule("fleet-module-version", "Module machine-config has one version on every cluster.",
              ScopeKind.FLEET, sources.INSTALLING, fleet_checks.one_version),
    FleetRule("policy-entry-unused", "Every entry of a policy decides for a file or a unit in the repository.",
              _HERE, sources.DISRUPTION, fleet_checks.entry_unused),
)
# fmt: on
