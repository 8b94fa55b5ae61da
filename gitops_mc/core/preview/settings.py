"""The settings of fleet.yaml, each under its path and as people write it, and those in which two revisions differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Final

from gitops_mc.core.model import JsonObject
from gitops_mc.core.policy import ClusterSelector, FleetPolicy, Gates, Rollout, Sensitive, Window
from gitops_mc.core.preview.changed import SettingChange
from gitops_mc.core.render.yaml_text import yaml_lines

_UNITS: Final = ((86_400, "d"), (3_600, "h"), (60, "m"), (1, "s"))


def setting_changes(before: FleetPolicy, after: FleetPolicy) -> tuple[SettingChange, ...]:
    """Settings with another value, in the order of the file; defaults count as values. Of lists without names (windows, globs) each
    entry that goes and each that comes.
    """
    earlier, later = dict(_single(before)), dict(_single(after))
    found = [
        SettingChange(path, earlier.get(path, ""), later.get(path, ""))
        for path in dict.fromkeys([*later, *earlier])
        if earlier.get(path, "") != later.get(path, "")
    ]
    gone, come = Counter(_listed(before)), Counter(_listed(after))
    found += [SettingChange(path, value, "") for path, value in _in_order(_listed(before), gone - come)]
    found += [SettingChange(path, "", value) for path, value in _in_order(_listed(after), come - gone)]
    return tuple(found)


def _in_order(
    pairs: Iterator[tuple[str, str]], counted: Counter[tuple[str, str]]
) -> Iterator[tuple[str, str]]:
    for pair in pairs:
        if counted[pair] > 0:
            counted[pair] -= 1
            yield pair


def _single(policy: FleetPolicy) -> Iterator[tuple[str, str]]:
    """Settings that have one value, and entries of lists that have a name."""
    yield "metadata.name", policy.name
    for cluster, labels in sorted(policy.cluster_labels.items()):
        yield f"spec.clusters[{cluster}].labels", _flow(dict(labels))
    yield from _rollout(policy.rollout)
    yield from _gates(policy.gates)
    yield "spec.prune.enabled", _flow(policy.prune.enabled)
    yield "spec.prune.maxDeletes", str(policy.prune.max_deletes)


def _rollout(rollout: Rollout) -> Iterator[tuple[str, str]]:
    yield "spec.rollout.maxFailures", str(rollout.max_failures)
    yield "spec.rollout.maxUnreachable", str(rollout.max_unreachable)
    yield "spec.rollout.onFailure", rollout.on_failure.value
    yield "spec.rollout.requirePreview", _flow(rollout.require_preview)
    yield "spec.rollout.poolOrder", _flow([kind.value for kind in rollout.pool_order])
    if rollout.waves is None:
        return
    yield "spec.rollout.waves", _flow([wave.name for wave in rollout.waves])
    for wave in rollout.waves:
        path = f"spec.rollout.waves[{wave.name}]"
        yield f"{path}.clusters", _selector(wave.clusters)
        yield f"{path}.soak", _span(wave.soak)
        yield f"{path}.maxConcurrent", str(wave.max_concurrent)
        yield f"{path}.approval", wave.approval.value


def _gates(gates: Gates) -> Iterator[tuple[str, str]]:
    yield "spec.gates.pool.stall", _span(gates.pool.stall)
    yield "spec.gates.pool.settle", _span(gates.pool.settle)
    yield "spec.gates.pool.perNode", _span(gates.pool.per_node)
    yield "spec.gates.module.timeout", _span(gates.module.timeout)
    yield "spec.gates.module.publishTimeout", _span(gates.module.publish_timeout)
    yield "spec.gates.unreachableAfter", _span(gates.unreachable_after)


def _listed(policy: FleetPolicy) -> Iterator[tuple[str, str]]:
    """Entries of lists that have no name."""
    for shared in policy.shared:
        yield f"spec.shared[{shared.path}]", _selector(shared.clusters)
    yield from (("spec.gates.pool.operatorFiles", glob) for glob in policy.gates.pool.operator_files)
    yield from (("spec.windows", _window(window)) for window in policy.windows)
    yield from (("spec.sensitive", pattern) for pattern in _sensitive(policy.sensitive))
    yield from (("spec.ignore", glob) for glob in policy.ignore)


def _window(window: Window) -> str:
    said: JsonObject = {
        "cron": window.cron,
        "duration": _span(window.duration),
        "timeZone": window.time_zone,
    }
    if window.clusters != ClusterSelector():
        said["clusters"] = _selected(window.clusters)
    return _flow({window.kind.value: said})


def _sensitive(sensitive: Sensitive) -> Iterator[str]:
    yield from sensitive.paths
    yield from (f"unit:{name}" for name in sensitive.units)
    for pattern in sensitive.modules:
        yield f"module:{pattern.module}:{pattern.pointer}" if pattern.pointer else f"module:{pattern.module}"
    if sensitive.kernel_arguments:
        yield "kernelArguments"


def _selector(selector: ClusterSelector) -> str:
    return _flow(_selected(selector))


def _selected(selector: ClusterSelector) -> JsonObject:
    said: JsonObject = dict(selector.selector or {})
    if selector.names is not None:
        said["names"] = list(selector.names)
    if selector.excluded:
        said["except"] = list(selector.excluded)
    return said


def _span(span: timedelta) -> str:
    """As `spans.span_of` reads it: `1h30m`, `0s`."""
    left, told = int(span.total_seconds()), ""
    for seconds, unit in _UNITS:
        number, left = divmod(left, seconds)
        told += f"{number}{unit}" if number else ""
    return told or "0s"


def _flow(value: Any) -> str:
    """YAML on one line."""
    match value:
        case dict():
            return f"{{{', '.join(f'{_flow(key)}: {_flow(inner)}' for key, inner in value.items())}}}"
        case list():
            return f"[{', '.join(map(_flow, value))}]"
        case _:
            return yaml_lines(value)[0]
