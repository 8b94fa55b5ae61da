"""fleet.yaml as types: rollout policy, gates, limits. Durations are timedeltas; the defaults are the safe ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from types import MappingProxyType

from gitops_mc.core.globs import name_matches
from gitops_mc.core.model import JsonObject, matches_selector


@dataclass(frozen=True, slots=True)
class Count:
    """A number of clusters as written: a plain number, or a percentage."""

    number: int = 0
    percent: int | None = None

    def of(self, total: int) -> int:
        """The number meant for `total` clusters; percentages are rounded down."""
        return self.number if self.percent is None else total * self.percent // 100

    def at_least_one(self, total: int) -> int:
        """As `of`, but never less than one."""
        return max(1, self.of(total))

    def __str__(self) -> str:
        return str(self.number) if self.percent is None else f"{self.percent}%"


@dataclass(frozen=True, slots=True)
class ClusterSelector:
    """Which clusters: by label selector and by names with globs, less `excluded` ones. An empty one takes all."""

    selector: JsonObject | None = None
    """`matchLabels` / `matchExpressions`; None: labels do not matter."""
    names: tuple[str, ...] | None = None
    """Globs; None: names do not matter."""
    excluded: tuple[str, ...] = ()

    def matches(self, name: str, labels: Mapping[str, str]) -> bool:
        if name_matches(name, self.excluded):
            return False
        if self.names is not None and not name_matches(name, self.names):
            return False
        return self.selector is None or matches_selector(self.selector, labels)


class Approval(StrEnum):
    AUTOMATIC = "automatic"
    MANUAL = "manual"


class OnFailure(StrEnum):
    HALT = "halt"
    ROLLBACK = "rollback"


class PoolClass(StrEnum):
    """What kind of pool, for the order in which groups of pools are written."""

    CUSTOM = "custom"
    WORKER = "worker"
    MASTER = "master"


@dataclass(frozen=True, slots=True)
class Wave:
    """Clusters that are rolled in parallel, up to `max_concurrent` of them; then a soak; then the next wave."""

    name: str
    clusters: ClusterSelector
    soak: timedelta = timedelta(0)
    max_concurrent: Count = Count(1)
    approval: Approval = Approval.AUTOMATIC


@dataclass(frozen=True, slots=True)
class SharedSet:
    """A folder of manifests for many clusters."""

    path: str
    clusters: ClusterSelector


@dataclass(frozen=True, slots=True)
class PoolGatePolicy:
    stall: timedelta = timedelta(minutes=75)
    """Failed when no node changed state for so long; longer than the operator's one-hour drain limit."""
    settle: timedelta = timedelta(seconds=30)
    per_node: timedelta = timedelta(minutes=20)
    """For the estimate that is shown, not for the gate."""
    operator_files: tuple[str, ...] = ()
    """Globs of file paths that the operator adds to every rendered config."""
    debounce: timedelta = timedelta(seconds=60)
    """How long Degraded or RenderDegraded must persist to be a failure."""


@dataclass(frozen=True, slots=True)
class ModuleGatePolicy:
    timeout: timedelta = timedelta(minutes=30)
    publish_timeout: timedelta = timedelta(minutes=30)


@dataclass(frozen=True, slots=True)
class Gates:
    pool: PoolGatePolicy = PoolGatePolicy()
    module: ModuleGatePolicy = ModuleGatePolicy()
    unreachable_after: timedelta = timedelta(minutes=15)


@dataclass(frozen=True, slots=True)
class Rollout:
    waves: tuple[Wave, ...] | None = None
    """None: no fleet.yaml or no waves in it: one cluster at a time, by name, global last."""
    max_failures: Count = Count(0)
    max_unreachable: Count = Count(percent=10)
    on_failure: OnFailure = OnFailure.HALT
    pool_order: tuple[PoolClass, ...] = (PoolClass.CUSTOM, PoolClass.WORKER, PoolClass.MASTER)
    require_preview: bool = False
    """What does more to a cluster than a preview of its content has shown waits for approval."""


class WindowKind(StrEnum):
    ALLOW = "allow"
    FREEZE = "freeze"


@dataclass(frozen=True, slots=True)
class Window:
    """A change window or a freeze: a cron expression, how long it lasts, and its time zone."""

    kind: WindowKind
    cron: str
    duration: timedelta
    time_zone: str
    clusters: ClusterSelector = ClusterSelector()


@dataclass(frozen=True, slots=True)
class Prune:
    enabled: bool = False
    max_deletes: int = 5
    """Objects, file paths and units per cluster and content."""


@dataclass(frozen=True, slots=True)
class ObjectPattern:
    """`module:<module glob>:<JSON pointer>` of `sensitive`."""

    module: str
    pointer: str


@dataclass(frozen=True, slots=True)
class Sensitive:
    """What no output may show, in any encoding."""

    paths: tuple[str, ...] = ()
    """Globs of file paths on the node; `**` crosses folders."""
    units: tuple[str, ...] = ()
    modules: tuple[ObjectPattern, ...] = ()
    kernel_arguments: bool = False

    def joined(self, other: Sensitive) -> Sensitive:
        """What either says: nothing becomes less sensitive because somebody asks for it in a pull request."""
        return Sensitive(
            tuple(dict.fromkeys((*self.paths, *other.paths))),
            tuple(dict.fromkeys((*self.units, *other.units))),
            tuple(dict.fromkeys((*self.modules, *other.modules))),
            self.kernel_arguments or other.kernel_arguments,
        )


EVERYTHING = Sensitive(("**",), ("*",), (ObjectPattern("*", ""),), kernel_arguments=True)
"""What is sensitive where nobody can say what is."""


DEFAULT_FLEET = "default"
"""The fleet's name where fleet.yaml gives none; any fleet takes such objects over."""


@dataclass(frozen=True, slots=True)
class FleetPolicy:
    """fleet.yaml, read; or the defaults where there is none."""

    name: str = DEFAULT_FLEET
    """metadata.name: the value of our label on every object we own."""
    cluster_labels: Mapping[str, Mapping[str, str]] = field(default_factory=lambda: MappingProxyType({}))
    shared: tuple[SharedSet, ...] = ()
    rollout: Rollout = Rollout()
    gates: Gates = Gates()
    windows: tuple[Window, ...] = ()
    prune: Prune = Prune()
    sensitive: Sensitive = Sensitive()
    ignore: tuple[str, ...] = ()


DEFAULT_POLICY = FleetPolicy()
