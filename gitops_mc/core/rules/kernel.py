"""Rules about the kernel arguments of a pool, all of its configs together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gitops_mc.core.ignition import KernelArgument
from gitops_mc.core.rules.merged import named
from gitops_mc.core.rules.row import DesiredFacts, Hit

_SINGLE = frozenset(
    [
        "apparmor",
        "audit",
        "audit_backlog_limit",
        "biosdevname",
        "cgroup_disable",
        "default_hugepagesz",
        "enforcing",
        "fips",
        "idle",
        "intel_idle.max_cstate",
        "intel_pstate",
        "ipv6.disable",
        "loglevel",
        "mem",
        "mitigations",
        "net.ifnames",
        "nmi_watchdog",
        "nosmt",
        "numa_balancing",
        "panic",
        "pcie_aspm",
        "processor.max_cstate",
        "selinux",
        "skew_tick",
        "systemd.unified_cgroup_hierarchy",
        "transparent_hugepage",
        "tsc",
    ]
)
"""Arguments of one value: the kernel takes the last and forgets the others. Those that may be repeated (`console`,
`hugepages`, `crashkernel` ...) are not here, and one that is not known is left alone."""


def contradiction(facts: DesiredFacts) -> Iterator[Hit]:
    told: set[tuple[str, str]] = set()
    for view in facts.pools:
        by_key: dict[str, list[KernelArgument]] = defaultdict(list)
        for argument in view.by_name.kernel_arguments:
            by_key[argument.value.partition("=")[0].replace("-", "_")].append(argument)
        for key, found in by_key.items():
            owner = found[-1].owner
            if key in _SINGLE and len({a.value for a in found}) > 1 and (key, owner) not in told:
                told.add((key, owner))
                owners = " and ".join(dict.fromkeys(a.owner for a in found))
                yield Hit(
                    named(view, owner),
                    ("spec", "kernelArguments"),
                    f"pool {view.pool}: kernel argument {key} has more than one value (in {owners}); the kernel takes the last",
                    "keep one",
                )
