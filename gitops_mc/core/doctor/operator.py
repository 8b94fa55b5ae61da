"""What the operator brings along once it is installed: its components, its first objects, and pools that settle."""

from __future__ import annotations

from collections.abc import Iterator

from gitops_mc.core.doctor.finding import (
    Examined,
    Finding,
    failed,
    is_served,
    not_checked,
    ok,
    why_not_served,
)
from gitops_mc.core.gates import PoolNotKnown, Unsettled, read_pool
from gitops_mc.core.gates.components import (
    COMPONENT_NAMESPACE,
    CONTROLLER,
    DAEMON,
    daemon_set_lacks,
    deployment_lacks,
)
from gitops_mc.core.live import Fact
from gitops_mc.core.model import POLICY_NAME, Unknown
from gitops_mc.core.policy import PoolGatePolicy
from gitops_mc.core.pools import BUILT_IN_POOLS

_COMPONENTS = (
    ("controller", CONTROLLER, deployment_lacks),
    ("daemon", DAEMON, daemon_set_lacks),
)


def components(x: Examined) -> Iterator[Finding]:
    for check, key, lacks in _COMPONENTS:
        kind, name = key.split("/")
        show = f"kubectl -n {COMPONENT_NAMESPACE} describe {kind.lower()} {name}"
        fact = x.live.components
        if not is_served(x.live):
            yield not_checked(check, why_not_served(x.live))
        elif isinstance(fact, Unknown):
            yield not_checked(check, f"not read: {fact.reason}")
        elif key not in fact.value:
            yield failed(check, f"{key} does not exist in {COMPONENT_NAMESPACE}", show)
        elif wrong := [*lacks(fact.value[key])]:
            yield failed(check, f"{key} {'; '.join(wrong)}", show)
        else:
            yield ok(check, f"{key} is up")


def initial_objects(x: Examined) -> Iterator[Finding]:
    rows: tuple[tuple[str, str, Fact, tuple[str, ...]], ...] = (
        ("pools", "machineconfigpool", x.live.pools, BUILT_IN_POOLS),
        ("base configs", "machineconfig", x.live.configs, tuple(f"00-{pool}" for pool in BUILT_IN_POOLS)),
        ("machine configuration", "machineconfiguration", x.live.policies, (POLICY_NAME,)),
    )
    for check, kind, fact, names in rows:
        if isinstance(fact, Unknown):
            yield not_checked(check, f"not read: {fact.reason}")
        elif not is_served(x.live):
            yield not_checked(check, why_not_served(x.live))
        elif absent := [n for n in names if n not in fact.value]:
            logs = f"kubectl -n {COMPONENT_NAMESPACE} logs deployment/machine-config-controller"
            yield failed(
                check,
                f"{kind} {', '.join(absent)} does not exist; the controller makes it when it starts",
                logs,
            )
        else:
            yield ok(check, f"{', '.join(names)} exist" if len(names) > 1 else f"{names[0]} exists")


def pools_settled(x: Examined) -> Iterator[Finding]:
    if isinstance(x.live.pools, Unknown) or not is_served(x.live):
        return
    for pool in sorted(x.live.pools.value):
        reading = read_pool(
            x.live, pool, order=None, policy=PoolGatePolicy(), excused=frozenset(), ours=frozenset()
        )
        match reading:
            case Unsettled():
                yield failed("pools settled", reading.reason, f"kubectl describe machineconfigpool {pool}")
            case PoolNotKnown():
                yield not_checked("pools settled", reading.reason)
            case _:
                yield ok("pools settled", f"pool {pool} is settled")
