"""The sections of fleet.yaml, each from its field to its policy type."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum
from types import MappingProxyType
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from gitops_mc.core.cron import parse_cron
from gitops_mc.core.fleetfile.fields import Field, is_dns_label
from gitops_mc.core.model import JsonObject, Severity
from gitops_mc.core.policy import (
    Approval,
    ClusterSelector,
    Count,
    Gates,
    ModuleGatePolicy,
    ObjectPattern,
    OnFailure,
    PoolClass,
    PoolGatePolicy,
    Prune,
    Rollout,
    Sensitive,
    SharedSet,
    Wave,
    Window,
    WindowKind,
)

_ZERO: Final = timedelta(0)
_DRAIN_LIMIT: Final = timedelta(hours=1)
_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist")
_SHARED_PATH: Final = re.compile(r"shared/[^/]+/?")


class _Drift(StrEnum):
    REPORT = "report"


def clusters_of(section: Field) -> Mapping[str, Mapping[str, str]]:
    found: dict[str, Mapping[str, str]] = {}
    seen: dict[str, Field] = {}
    for item in section.items():
        fields = item.mapping("name", "labels", required=("name",))
        name = fields["name"].text() if "name" in fields else None
        if name is None:
            continue
        if not is_dns_label(name):
            fields["name"].note(
                f"{name!r} is no cluster name", "lower-case letters, digits and `-`, at most 63"
            )
        fields["name"].unique("cluster", seen, name)
        seen[name] = fields["name"]
        found[name] = MappingProxyType(dict(fields["labels"].strings()) if "labels" in fields else {})
    return MappingProxyType(found)


def selector_of(field: Field) -> ClusterSelector:
    """`{}` takes all clusters; names, labels and `except` narrow it."""
    fields = field.mapping("matchLabels", "matchExpressions", "names", "except")
    selector: JsonObject = {}
    if "matchLabels" in fields:
        selector["matchLabels"] = dict(fields["matchLabels"].strings())
    if "matchExpressions" in fields:
        selector["matchExpressions"] = [_expression(item) for item in fields["matchExpressions"].items()]
    return ClusterSelector(
        selector=selector or None,
        names=fields["names"].globs() if "names" in fields else None,
        excluded=fields["except"].globs() if "except" in fields else (),
    )


def _expression(item: Field) -> JsonObject:
    fields = item.mapping("key", "operator", "values", required=("key", "operator"))
    operator = fields["operator"].text() if "operator" in fields else None
    values = list(fields["values"].texts()) if "values" in fields else []
    if operator is not None and operator not in _OPERATORS:
        fields["operator"].note(f"{operator!r} is no operator", f"one of {', '.join(_OPERATORS)}")
    elif operator in {"In", "NotIn"} and not values:
        item.note(f"{operator} needs values", "write values: [..]")
    elif operator in {"Exists", "DoesNotExist"} and values:
        item.note(f"{operator} takes no values", "remove values")
    key = fields["key"].text() if "key" in fields else None
    return {"key": key, "operator": operator, "values": values}


def shared_of(section: Field) -> tuple[SharedSet, ...]:
    found: list[SharedSet] = []
    for item in section.items():
        fields = item.mapping("path", "clusters", required=("path", "clusters"))
        path = fields["path"].text() if "path" in fields else None
        if path is not None and not _SHARED_PATH.fullmatch(path):
            fields["path"].note(f"{path!r} is no shared set", "write shared/<set>, one folder below shared/")
        elif path is not None and "clusters" in fields:
            found.append(SharedSet(path.rstrip("/"), selector_of(fields["clusters"])))
    return tuple(found)


def rollout_of(section: Field) -> Rollout:
    default = Rollout()
    fields = section.mapping(
        "waves", "maxFailures", "maxUnreachable", "onFailure", "poolOrder", "requirePreview"
    )
    return Rollout(
        waves=_waves(fields["waves"]) if "waves" in fields else None,
        max_failures=_count(fields, "maxFailures", default.max_failures),
        max_unreachable=_count(fields, "maxUnreachable", default.max_unreachable),
        on_failure=fields["onFailure"].choice(OnFailure, default.on_failure)
        if "onFailure" in fields
        else default.on_failure,
        pool_order=_pool_order(fields["poolOrder"], default.pool_order)
        if "poolOrder" in fields
        else default.pool_order,
        require_preview="requirePreview" in fields
        and fields["requirePreview"].boolean(default.require_preview),
    )


def _count(fields: Mapping[str, Field], key: str, default: Count) -> Count:
    return fields[key].count(default) if key in fields else default


def _duration(
    fields: Mapping[str, Field], key: str, default: timedelta, *, least: timedelta = _ZERO
) -> timedelta:
    return fields[key].duration(default, least=least) if key in fields else default


MOST_WAVES: Final = 500
LONGEST_NAME: Final = 253
"""Characters of a wave's name. A Fleet holds no more waves, and no longer names (deploy/crds)."""


def _waves(section: Field) -> tuple[Wave, ...]:
    found: list[Wave] = []
    seen: dict[str, Field] = {}
    rest: Field | None = None
    for item in section.items():
        wave = _wave(item, seen)
        if rest is not None:
            item.note(
                "no cluster reaches this wave: an earlier one takes the rest",
                "put it before",
                Severity.WARNING,
            )
        if wave is not None:
            found.append(wave)
            rest = item if wave.clusters == ClusterSelector() else rest
    if len(found) > MOST_WAVES:
        section.note(
            f"there are {len(found)} waves, at most {MOST_WAVES} are", "let a wave have more clusters"
        )
    if section.value == []:
        section.note("there are no waves, so every cluster is in none", "write a wave, or leave `waves` out")
    return tuple(found)


def _wave(item: Field, seen: dict[str, Field]) -> Wave | None:
    fields = item.mapping(
        "name", "clusters", "soak", "maxConcurrent", "approval", required=("name", "clusters")
    )
    name = fields["name"].text() if "name" in fields else None
    clusters = selector_of(fields["clusters"]) if "clusters" in fields else None
    soak = _duration(fields, "soak", _ZERO)
    concurrent = fields["maxConcurrent"].count(Count(1), least=1) if "maxConcurrent" in fields else Count(1)
    approval = (
        fields["approval"].choice(Approval, Approval.MANUAL) if "approval" in fields else Approval.AUTOMATIC
    )
    if name is None or clusters is None:
        return None
    if len(name) > LONGEST_NAME:
        fields["name"].note(f"the name has {len(name)} characters, at most {LONGEST_NAME} are", "shorten it")
    fields["name"].unique("wave", seen, name)
    seen[name] = fields["name"]
    return Wave(name, clusters, soak, concurrent, approval)


def _pool_order(section: Field, default: tuple[PoolClass, ...]) -> tuple[PoolClass, ...]:
    found = tuple(item.choice(PoolClass, PoolClass.CUSTOM) for item in section.items())
    if sorted(found) != sorted(PoolClass):
        section.note(
            "the order does not name each kind of pool once", "write custom, worker and master, each once"
        )
        return default
    return found


def gates_of(section: Field) -> Gates:
    default = Gates()
    fields = section.mapping("pool", "module", "unreachableAfter")
    return Gates(
        pool=_pool_gate(fields["pool"]) if "pool" in fields else default.pool,
        module=_module_gate(fields["module"]) if "module" in fields else default.module,
        unreachable_after=_duration(
            fields, "unreachableAfter", default.unreachable_after, least=timedelta(seconds=1)
        ),
    )


def _pool_gate(section: Field) -> PoolGatePolicy:
    default = PoolGatePolicy()
    fields = section.mapping("stall", "settle", "perNode", "operatorFiles")
    second = timedelta(seconds=1)
    stall = _duration(fields, "stall", default.stall, least=second)
    if stall <= _DRAIN_LIMIT:
        fields["stall"].note(
            "the operator itself gives a drain one hour; a shorter stall calls a slow drain a failure",
            "write more than 1h",
            Severity.WARNING,
        )
    return PoolGatePolicy(
        stall=stall,
        settle=_duration(fields, "settle", default.settle),
        per_node=_duration(fields, "perNode", default.per_node, least=second),
        operator_files=fields["operatorFiles"].globs() if "operatorFiles" in fields else (),
    )


def _module_gate(section: Field) -> ModuleGatePolicy:
    default = ModuleGatePolicy()
    fields = section.mapping("timeout", "publishTimeout")
    second = timedelta(seconds=1)
    return ModuleGatePolicy(
        timeout=_duration(fields, "timeout", default.timeout, least=second),
        publish_timeout=_duration(fields, "publishTimeout", default.publish_timeout, least=second),
    )


MOST_WINDOWS: Final = 50
"""Each is looked at years ahead, whenever a commit is read; thousands of them stopped every Fleet for minutes."""


def windows_of(section: Field) -> tuple[Window, ...]:
    """No more than MOST_WINDOWS of them."""
    found: list[Window] = []
    items = list(section.items())
    if len(items) > MOST_WINDOWS:
        section.note(
            f"there are {len(items)} windows, at most {MOST_WINDOWS} are",
            "say several hours or days in one `cron`",
        )
    for item in items[:MOST_WINDOWS]:
        fields = item.mapping("allow", "freeze")
        if len(fields) != 1 and isinstance(item.value, dict):
            item.note("an entry is one window", "write either allow: {..} or freeze: {..}")
        found.extend(
            window
            for kind in WindowKind
            if kind.value in fields and (window := _window(kind, fields[kind.value])) is not None
        )
    return tuple(found)


def _window(kind: WindowKind, section: Field) -> Window | None:
    fields = section.mapping(
        "cron", "duration", "timeZone", "clusters", required=("cron", "duration", "timeZone")
    )
    cron = (
        fields["cron"].parsed(parse_cron, "minute hour day-of-month month day-of-week")
        if "cron" in fields
        else None
    )
    zone = (
        fields["timeZone"].parsed(_zone, "an IANA name such as Asia/Shanghai or UTC")
        if "timeZone" in fields
        else None
    )
    duration = _duration(fields, "duration", _ZERO, least=timedelta(minutes=1))
    clusters = selector_of(fields["clusters"]) if "clusters" in fields else ClusterSelector()
    return None if cron is None or zone is None else Window(kind, cron, duration, zone, clusters)


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(f"{name!r} is no time zone that this system knows") from error


def prune_of(section: Field) -> Prune:
    default = Prune()
    fields = section.mapping("enabled", "maxDeletes")
    return Prune(
        enabled=fields["enabled"].boolean(default.enabled) if "enabled" in fields else default.enabled,
        max_deletes=fields["maxDeletes"].number(default.max_deletes)
        if "maxDeletes" in fields
        else default.max_deletes,
    )


def check_drift(field: Field) -> None:
    """`report` is the only way so far; it is read so that a file that asks for more is refused."""
    field.choice(_Drift, _Drift.REPORT)


def sensitive_of(section: Field) -> Sensitive:
    """`unit:NAME`, `module:NAME:/json/pointer`, `kernelArguments`, or a glob of a path on the node. Until a glob that is over the
    limits is mended, all of its kind is hidden.
    """
    paths: list[tuple[Field, str]] = []
    units: list[tuple[Field, str]] = []
    modules: list[tuple[Field, str]] = []
    pointers: dict[str, list[str]] = {}
    kernel_arguments = False
    for item in section.items():
        text = item.text() or "kernelArguments"
        word, _, rest = text.partition(":")
        name, _, pointer = rest.partition(":")
        if text == "kernelArguments":
            kernel_arguments = True
        elif word == "unit" and rest:
            units.append((item, rest))
        elif word == "module" and name and (pointer == "" or pointer.startswith("/")):
            if name not in pointers:
                modules.append((item, name))
            pointers.setdefault(name, []).append(pointer)
        elif text.startswith(("/", "**", "*/")):
            paths.append((item, text))
        else:
            item.note(
                f"{text!r} says nothing that can be hidden",
                "a path glob (/etc/**, **/*.key), unit:NAME, module:NAME:/json/pointer, or kernelArguments",
            )
    return Sensitive(
        _hiding(section, paths, "**"),
        _hiding(section, units, "*"),
        tuple(
            ObjectPattern(name, pointer)
            for name in _hiding(section, modules, "*")
            for pointer in pointers.get(name, [""])
        ),
        kernel_arguments,
    )


def _hiding(section: Field, written: list[tuple[Field, str]], everything: str) -> tuple[str, ...]:
    kept = section.within_limits(written)
    return kept if len(kept) == len(written) else (*kept, everything)
