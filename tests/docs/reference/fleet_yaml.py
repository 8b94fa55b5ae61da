"""docs/reference/fleet-yaml.md: what its reader takes, asked of it, with the defaults of the policy."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from gitops_mc.core.policy import DEFAULT_POLICY, ClusterSelector, Wave
from tests.docs.reference.asked import SELECTOR, Asked, fields_of_fleet_yaml, members_of_a_selector
from tests.docs.reference.tables import code, table

_HEAD = """\
# fleet.yaml

Every field of it, found by asking what reads it. `make reference` writes this page anew. Without the file all defaults hold. What it is for,
with an example: [the repository's format](../repository-format.md#fleetyaml); windows have [a page](../windows.md).

`apiVersion: gitops-mc.io/v1alpha1` and `kind: FleetConfig` are required. An unknown field is an error, with the field that may be meant. A
duration is written in days, hours, minutes and seconds (`90s`, `1h30m`, `10d`); a percentage is rounded down.

"""
_WAVE = Wave("", ClusterSelector())


def _short(span: timedelta) -> str:
    seconds = int(span.total_seconds())
    return f"{seconds}s" if seconds < 60 else f"{seconds // 60}m"


_ROLLOUT, _GATES, _PRUNE = DEFAULT_POLICY.rollout, DEFAULT_POLICY.gates, DEFAULT_POLICY.prune
DEFAULTS: Final[Mapping[str, str]] = {
    "metadata.name": DEFAULT_POLICY.name,
    "spec.rollout.waves[].soak": _short(_WAVE.soak),
    "spec.rollout.waves[].maxConcurrent": str(_WAVE.max_concurrent),
    "spec.rollout.waves[].approval": _WAVE.approval.value,
    "spec.rollout.maxFailures": str(_ROLLOUT.max_failures),
    "spec.rollout.maxUnreachable": str(_ROLLOUT.max_unreachable),
    "spec.rollout.onFailure": _ROLLOUT.on_failure.value,
    "spec.rollout.poolOrder[]": ", ".join(kind.value for kind in _ROLLOUT.pool_order),
    "spec.rollout.requirePreview": str(_ROLLOUT.require_preview).lower(),
    "spec.gates.pool.stall": _short(_GATES.pool.stall),
    "spec.gates.pool.settle": _short(_GATES.pool.settle),
    "spec.gates.pool.perNode": _short(_GATES.pool.per_node),
    "spec.gates.module.timeout": _short(_GATES.module.timeout),
    "spec.gates.module.publishTimeout": _short(_GATES.module.publish_timeout),
    "spec.gates.unreachableAfter": _short(_GATES.unreachable_after),
    "spec.prune.enabled": str(_PRUNE.enabled).lower(),
    "spec.prune.maxDeletes": str(_PRUNE.max_deletes),
    "spec.drift": "report",
}
_MEANINGS: Final[Mapping[str, str]] = {
    "metadata.name": "Written as the label `gitops-mc.io/fleet` on all that is owned.",
    "spec.clusters[]": "Clusters with labels, for selection. Every folder below `clusters/` is a member anyway.",
    "spec.clusters[].name": "A DNS label, each once.",
    "spec.clusters[].labels": "What `matchLabels` and `matchExpressions` look at.",
    "spec.shared[]": "Shared sets, and whom they are for.",
    "spec.shared[].path": "`shared/<set>`, one folder below `shared/`.",
    "spec.shared[].clusters": "The clusters that get it.",
    "spec.rollout": "How clusters are rolled.",
    "spec.rollout.waves[]": "In order; the first that matches a cluster has it. Without waves: one cluster at a time, by name, `global` last.",
    "spec.rollout.waves[].name": "Each once; `approve` names it.",
    "spec.rollout.waves[].clusters": "Who is in it; `{}` takes the rest.",
    "spec.rollout.waves[].soak": "How long the gates of all its clusters have to stay open before the next wave.",
    "spec.rollout.waves[].maxConcurrent": "Clusters of the wave in flight at once; a percentage is of the wave, and means one at least.",
    "spec.rollout.waves[].approval": "Whether it waits for somebody before it opens.",
    "spec.rollout.maxFailures": "Failed clusters of the fleet that are tolerated; one more halts new writes everywhere.",
    "spec.rollout.maxUnreachable": "Blocked or dark clusters of the fleet that are tolerated before the next wave opens.",
    "spec.rollout.onFailure": "`rollback` takes a cluster whose pools fail back to what it passed; the failed content is held either way.",
    "spec.rollout.poolOrder[]": "In which order the pools of a cluster are written; each kind once.",
    "spec.rollout.requirePreview": "Whether a cluster waits for approval where its plan does more than the preview of the pull request has shown.",
    "spec.gates": "When a step counts as over, and when as failed.",
    "spec.gates.pool": "The gate of a pool.",
    "spec.gates.pool.stall": "Failed when no node has changed state for so long. A warning where it is not more than the hour that a drain gets.",
    "spec.gates.pool.settle": "How long a pool has to look right.",
    "spec.gates.pool.perNode": "How long a node is taken to need: for estimates, and for what fits a change window.",
    "spec.gates.pool.operatorFiles[]": "Globs of files that the operator adds to what it renders.",
    "spec.gates.module": "The gate of a module.",
    "spec.gates.module.timeout": "How long an installation or an upgrade may take.",
    "spec.gates.module.publishTimeout": "How long a version may take to be published.",
    "spec.gates.unreachableAfter": "From when on a silent cluster counts as unreachable.",
    "spec.windows[]": "When steps may begin. An entry is one of the two.",
    "spec.windows[].allow": "Steps begin only in such windows; they add up.",
    "spec.windows[].freeze": "No step begins in it; it wins over every `allow`.",
    "spec.prune": "What becomes of owned objects that have left Git.",
    "spec.prune.enabled": "Whether they are deleted.",
    "spec.prune.maxDeletes": "How much at most, in objects, and in files and units that leave a pool, per cluster and content.",
    "spec.sensitive[]": "What no output shows: a glob of paths (`/etc/**`, `**/*.key`), `unit:NAME`, `module:NAME:/json/pointer`, or `kernelArguments`.",
    "spec.ignore[]": "Globs of files of the repository to leave alone.",
    "spec.drift": "What is done about objects that are not as written any more. The only value so far.",
}
_OF_A_WINDOW: Final[Mapping[str, str]] = {
    "cron": "When it begins: minute, hour, day of the month, month, day of the week.",
    "duration": "How long it lasts.",
    "timeZone": "An IANA name, like `Asia/Shanghai`.",
    "clusters": "Whom it concerns; everybody where it is left out.",
}
_OF_A_SELECTOR: Final[Mapping[str, str]] = {
    "matchLabels": "Labels that all have to be there with these values.",
    "matchExpressions[]": "As in Kubernetes; all of them have to be so.",
    "matchExpressions[].key": "A label.",
    "matchExpressions[].operator": "`In`, `NotIn` (with values), `Exists`, `DoesNotExist` (without).",
    "matchExpressions[].values[]": "What the label may, or may not, be.",
    "names[]": "Globs of names; one of them has to match.",
    "except[]": "Globs of names that are left out whatever else is said.",
}


def fleet_yaml_page() -> str:
    """The page as Markdown. Raises KeyError where a field has no meaning here."""
    rows = [_row(field, _meaning(field.path)) for field in fields_of_fleet_yaml()]
    selector = [_row(field, _OF_A_SELECTOR[field.path]) for field in members_of_a_selector()]
    return (
        f"{_HEAD}{table(('field', 'takes', 'default', 'meaning'), rows)}\n## Selector\n\nWhich clusters. `{{}}` takes all; each member that "
        f"stands there narrows it.\n\n{table(('field', 'takes', 'default', 'meaning'), selector)}"
    )


def _meaning(path: str) -> str:
    window, _, member = path.rpartition(".")
    if window in {"spec.windows[].allow", "spec.windows[].freeze"}:
        return _OF_A_WINDOW[member]
    return _MEANINGS[path]


def _row(field: Asked, meaning: str) -> tuple[str, str, str, str]:
    takes = "[selector](#selector)" if field.takes == SELECTOR else field.takes
    default = "required" if field.required else code(DEFAULTS[field.path]) if field.path in DEFAULTS else ""
    return code(field.path), takes, default, meaning
