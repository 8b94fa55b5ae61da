"""Settings of fleet.yaml in which two revisions differ, as people write them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from datetime import timedelta
from enum import StrEnum
from typing import Any

import pytest
import yaml

from gitops_mc.core.fleetfile import read_fleet_file
from gitops_mc.core.policy import (
    ClusterSelector,
    Count,
    FleetPolicy,
    ObjectPattern,
    SharedSet,
    Wave,
    Window,
    WindowKind,
)
from gitops_mc.core.preview.settings import setting_changes

NOT_IN_THE_FILE = ("gates.pool.debounce",)
WHOLE: dict[str, Any] = {
    "cluster_labels": {"edge-01": {"env": "prod"}},
    "shared": (SharedSet("shared/base", ClusterSelector()),),
    "rollout.waves": (Wave("canary", ClusterSelector()),),
    "windows": (Window(WindowKind.FREEZE, "0 0 24 12 *", timedelta(days=10), "UTC"),),
    "sensitive.modules": (ObjectPattern("logcenter", "/auth"),),
}


def other(value: Any) -> Any:
    """Another value of the same type."""
    match value:
        case bool():
            return not value
        case int():
            return value + 1
        case str() if isinstance(value, StrEnum):
            return next(choice for choice in type(value) if choice is not value)
        case str():
            return f"{value}x"
        case timedelta():
            return value + timedelta(minutes=1)
        case Count():
            return Count(value.number + 1)
        case ():
            return ("x",)
        case tuple():
            return value[::-1]
    raise AssertionError(value)


def with_another(policy: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The policy with one field another one, for each field."""
    for field in fields(policy):
        value, name = getattr(policy, field.name), f"{path}{field.name}"
        if name in WHOLE:
            yield name, replace(policy, **{field.name: WHOLE[name]})
        elif is_dataclass(value) and not isinstance(value, Count):
            for inner, changed in with_another(value, f"{name}."):
                yield inner, replace(policy, **{field.name: changed})
        else:
            yield name, replace(policy, **{field.name: other(value)})


EACH = dict(with_another(FleetPolicy()))


@pytest.mark.parametrize("name", EACH)
def test_no_setting_changes_without_being_told(name: str) -> None:
    told = setting_changes(FleetPolicy(), EACH[name])
    assert bool(told) == (name not in NOT_IN_THE_FILE)
    assert len(told) <= (5 if name == "rollout.waves" else 1)
    back = setting_changes(EACH[name], FleetPolicy())
    assert sorted((c.path, c.before, c.after) for c in back) == sorted(
        (c.path, c.after, c.before) for c in told
    )


@pytest.mark.parametrize("name", ["soak", "max_concurrent", "approval", "clusters"])
def test_a_wave_is_told_setting_by_setting(name: str) -> None:
    wave = Wave("canary", ClusterSelector())
    changed: dict[str, Any] = {
        "clusters": ClusterSelector(names=("edge-*",)),
        "max_concurrent": Count(percent=25),
    }
    another: Any = changed.get(name) or other(getattr(wave, name))
    after = replace(wave, **{name: another})
    before, then = (
        replace(FleetPolicy(), rollout=replace(FleetPolicy().rollout, waves=(w,))) for w in (wave, after)
    )
    (told,) = setting_changes(before, then)
    assert told.path.startswith("spec.rollout.waves[canary].")


BEFORE = """\
apiVersion: gitops-mc.io/v1alpha1
kind: FleetConfig
metadata: {name: factory}
spec:
  clusters: [{name: edge-01, labels: {env: canary}}]
  shared: [{path: shared/base, clusters: {matchLabels: {env: prod}}}]
  rollout: {waves: [{name: rest, clusters: {}, soak: 90m}], maxFailures: 1}
  windows: [{freeze: {cron: 0 0 24 12 *, duration: 10d, timeZone: Asia/Shanghai}}]
  sensitive: [/etc/kubernetes/**, "unit:a.service"]
"""
AFTER = """\
apiVersion: gitops-mc.io/v1alpha1
kind: FleetConfig
metadata: {name: factory}
spec:
  clusters: [{name: edge-01, labels: {env: prod}}]
  shared: [{path: shared/base, clusters: {names: [edge-*], except: [edge-09]}}]
  rollout: {waves: [{name: rest, clusters: {}, soak: 2h}], maxUnreachable: 5%}
  windows: [{allow: {cron: 0 22 * * *, duration: 8h, timeZone: UTC, clusters: {names: [edge-*]}}}]
  sensitive: [/etc/kubernetes/**, "module:logcenter:/auth", kernelArguments]
"""


def told() -> list[tuple[str, str, str]]:
    before, after = (read_fleet_file(text.encode()) for text in (BEFORE, AFTER))
    assert not before.flaws
    assert not after.flaws
    return [(c.path, c.before, c.after) for c in setting_changes(before.policy, after.policy)]


def test_values_are_written_as_in_the_file() -> None:
    assert told() == [
        ("spec.clusters[edge-01].labels", "{env: canary}", "{env: prod}"),
        ("spec.rollout.maxFailures", "1", "0"),
        ("spec.rollout.maxUnreachable", "10%", "5%"),
        ("spec.rollout.waves[rest].soak", "1h30m", "2h"),
        ("spec.shared[shared/base]", "{matchLabels: {env: prod}}", ""),
        (
            "spec.windows",
            '{freeze: {cron: "0 0 24 12 *", duration: "10d", timeZone: Asia/Shanghai}}',
            "",
        ),
        ("spec.sensitive", "unit:a.service", ""),
        ("spec.shared[shared/base]", "", '{names: ["edge-*"], except: [edge-09]}'),
        (
            "spec.windows",
            "",
            '{allow: {cron: "0 22 * * *", duration: "8h", timeZone: UTC, clusters: {names: ["edge-*"]}}}',
        ),
        ("spec.sensitive", "", "module:logcenter:/auth"),
        ("spec.sensitive", "", "kernelArguments"),
    ]


def test_what_is_told_can_be_put_back_into_a_file() -> None:
    window = next(after for path, _, after in told() if path == "spec.windows" and after)
    again = {**yaml.safe_load(BEFORE), "spec": {"windows": [yaml.safe_load(window)]}}
    read = read_fleet_file(yaml.safe_dump(again).encode())
    assert not read.flaws
    assert read.policy.windows == read_fleet_file(AFTER.encode()).policy.windows
