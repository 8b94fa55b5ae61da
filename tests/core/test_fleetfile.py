"""fleet.yaml: what it says, and everything that is wrong in it at once."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitops_mc.core.fleetfile import FleetFile, read_fleet_file
from gitops_mc.core.manifests.documents import read_documents
from gitops_mc.core.model import Severity
from gitops_mc.core.policy import (
    DEFAULT_POLICY,
    EVERYTHING,
    Approval,
    ClusterSelector,
    Count,
    FleetPolicy,
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

HEAD = "apiVersion: gitops-mc.io/v1alpha1\nkind: FleetConfig\n"

WHOLE = (
    HEAD
    + """\
metadata: {name: factory}
spec:
  clusters: [{name: edge-01, labels: {env: canary}}, {name: edge-02}]
  shared:
    - path: shared/base/
      clusters: {matchLabels: {env: prod}, except: [edge-9*]}
  rollout:
    waves:
      - name: canary
        clusters: {names: [edge-01]}
        soak: 1h30m
      - name: rest
        clusters: {}
        maxConcurrent: 25%
        approval: manual
    maxFailures: 1
    maxUnreachable: "20%"
    onFailure: rollback
    poolOrder: [worker, custom, master]
    requirePreview: true
  gates:
    pool: {stall: 2h, settle: 45s, perNode: 25m, operatorFiles: ["/etc/kubernetes/ca*"]}
    module: {timeout: 20m, publishTimeout: 40m}
    unreachableAfter: 10m
  windows:
    - freeze: {cron: "0 0 24 12 *", duration: 10d, timeZone: Asia/Shanghai}
    - allow: {cron: "0 22 * * mon-fri", duration: 6h, timeZone: UTC, clusters: {names: ["edge-*"]}}
  prune: {enabled: true, maxDeletes: 3}
  drift: report
  sensitive: ["/etc/kubernetes/**", "**/*.key", "unit:registry-login.service", "module:logcenter:/auth", "kernelArguments"]
  ignore: ["**/kustomization.yaml"]
"""
)


def read(spec: str) -> FleetFile:
    return read_fleet_file((HEAD + "spec:\n" + spec).encode())


def told(spec: str) -> list[tuple[int, str, str]]:
    return [(flaw.line, ".".join(map(str, flaw.path)), flaw.hint) for flaw in read(spec).flaws]


def test_every_field_is_read() -> None:
    file = read_fleet_file(WHOLE.encode())
    assert file.flaws == ()
    assert file.policy == FleetPolicy(
        name="factory",
        cluster_labels={"edge-01": {"env": "canary"}, "edge-02": {}},
        shared=(
            SharedSet("shared/base", ClusterSelector({"matchLabels": {"env": "prod"}}, None, ("edge-9*",))),
        ),
        rollout=Rollout(
            waves=(
                Wave("canary", ClusterSelector(names=("edge-01",)), timedelta(hours=1, minutes=30)),
                Wave("rest", ClusterSelector(), timedelta(0), Count(percent=25), Approval.MANUAL),
            ),
            max_failures=Count(1),
            max_unreachable=Count(percent=20),
            on_failure=OnFailure.ROLLBACK,
            pool_order=(PoolClass.WORKER, PoolClass.CUSTOM, PoolClass.MASTER),
            require_preview=True,
        ),
        gates=Gates(
            PoolGatePolicy(
                timedelta(hours=2), timedelta(seconds=45), timedelta(minutes=25), ("/etc/kubernetes/ca*",)
            ),
            ModuleGatePolicy(timedelta(minutes=20), timedelta(minutes=40)),
            timedelta(minutes=10),
        ),
        windows=(
            Window(WindowKind.FREEZE, "0 0 24 12 *", timedelta(days=10), "Asia/Shanghai"),
            Window(
                WindowKind.ALLOW,
                "0 22 * * mon-fri",
                timedelta(hours=6),
                "UTC",
                ClusterSelector(names=("edge-*",)),
            ),
        ),
        prune=Prune(enabled=True, max_deletes=3),
        sensitive=Sensitive(
            ("/etc/kubernetes/**", "**/*.key"),
            ("registry-login.service",),
            (ObjectPattern("logcenter", "/auth"),),
            kernel_arguments=True,
        ),
        ignore=("**/kustomization.yaml",),
    )


def test_a_file_that_says_nothing_gives_the_defaults() -> None:
    for text in (HEAD, HEAD + "spec:\n", HEAD + "spec: {rollout: , gates: {}}\n"):
        file = read_fleet_file(text.encode())
        assert (file.policy, file.flaws) == (DEFAULT_POLICY, ())


def test_all_that_is_wrong_is_told_at_once_with_line_and_hint() -> None:
    assert told(
        """\
  rollot: {}
  rollout:
    maxFailurs: 1
    maxUnreachable: 200%
    onFailure: rolback
    poolOrder: [custom, worker]
    waves:
      - {name: a, clusters: {}, soak: 5 minutes}
      - {name: a, clusters: {nmaes: [x]}, maxConcurrent: 0}
  prune: {enabled: maybe}
  drift: correct
"""
    ) == [
        (4, "spec.rollot", "did you mean rollout?"),
        (14, "spec.drift", ""),
        (6, "spec.rollout.maxFailurs", "did you mean maxFailures?"),
        (11, "spec.rollout.waves.0.soak", "write days, hours, minutes, seconds: 30m, 1h30m, 10d"),
        (12, "spec.rollout.waves.1.clusters.nmaes", "did you mean names?"),
        (12, "spec.rollout.waves.1.maxConcurrent", "write 1 or more"),
        (12, "spec.rollout.waves.1.name", "use each once"),
        (12, "spec.rollout.waves.1", "put it before"),
        (7, "spec.rollout.maxUnreachable", "write 1 or 25%"),
        (8, "spec.rollout.onFailure", "did you mean rollback?"),
        (9, "spec.rollout.poolOrder", "write custom, worker and master, each once"),
        (13, "spec.prune.enabled", "write true or false"),
    ]


@pytest.mark.parametrize(
    "text",
    ["a: [", "", "a: 1\n---\nb: 1\n", "[]", "just words", HEAD + "spec: []", HEAD + "spec: {sensitive: /etc/key}",
     HEAD + "spec: {sensitve: [/etc/key]}", HEAD + "Spec: {sensitive: [/etc/key]}", "version https://git-lfs.github.com/spec/v1\n"],
)  # fmt: skip
def test_where_nobody_can_say_what_is_sensitive_everything_is(text: str) -> None:
    """A slip in fleet.yaml must not uncover a secret in whatever is said until it is mended."""
    file = read_fleet_file(text.encode())
    assert any(flaw.severity is Severity.ERROR for flaw in file.flaws)
    assert file.draft.sensitive == EVERYTHING


def test_a_flawed_file_governs_nothing_but_its_draft_helps_to_read_on() -> None:
    file = read("  ignore: ['**/x.yaml']\n  prune: {enabled: true, maxDelete: 1}\n")
    assert file.policy is DEFAULT_POLICY
    assert file.draft.ignore == ("**/x.yaml",)


def test_a_warning_leaves_the_policy_in_force() -> None:
    file = read("  gates: {pool: {stall: 30m}}\n")
    assert [(f.severity, f.path) for f in file.flaws] == [
        (Severity.WARNING, ("spec", "gates", "pool", "stall"))
    ]
    assert file.policy.gates.pool.stall == timedelta(minutes=30)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("30s", timedelta(seconds=30)),
        ("30m", timedelta(minutes=30)),
        ("1h30m", timedelta(hours=1, minutes=30)),
        ("10d", timedelta(days=10)),
        ("1d2h3m4s", timedelta(days=1, hours=2, minutes=3, seconds=4)),
        ("90m", timedelta(minutes=90)),
    ],
)
def test_durations_are_read_as_people_write_them(text: str, expected: timedelta) -> None:
    assert read(f"  gates: {{unreachableAfter: {text}}}\n").policy.gates.unreachable_after == expected


@pytest.mark.parametrize(
    "text", ["30", "''", "m", "1h 30m", "-5m", "1.5h", "5M", "0s", "400d", "9999999999d", "[]", "30m1h"]
)
def test_what_is_no_duration_is_told(text: str) -> None:
    assert [path for _, path, _ in told(f"  gates: {{unreachableAfter: {text}}}\n")] == [
        "spec.gates.unreachableAfter"
    ]


@pytest.mark.parametrize("text", ["-1", "101%", "1.5", "'5'", "true", "five", "25 %", "[]"])
def test_what_is_no_number_of_clusters_is_told(text: str) -> None:
    assert [path for _, path, _ in told(f"  rollout: {{maxFailures: {text}}}\n")] == [
        "spec.rollout.maxFailures"
    ]


@pytest.mark.parametrize(
    "window",
    [
        '{cron: "0 0 24 12", duration: 1d, timeZone: UTC}',
        '{cron: "61 0 * * *", duration: 1d, timeZone: UTC}',
        '{cron: "0 0 30 2 *", duration: 1d, timeZone: UTC}',
        '{cron: "0 0 * * *", duration: 1d, timeZone: Mars/Olympus}',
        '{cron: "0 0 * * *", duration: 1d, timeZone: ../../etc/passwd}',
        '{cron: "0 0 * * *", duration: 0s, timeZone: UTC}',
        '{cron: "0 0 * * *", timeZone: UTC}',
        '{cron: "0 0 * * *", duration: 1d}',
        '{cron: "0 0 * * *", duration: 1d, timeZone: UTC, cluster: {}}',
    ],
)
def test_a_window_that_cannot_be_meant_is_told(window: str) -> None:
    assert len(told(f"  windows: [freeze: {window}]\n")) == 1


def test_an_entry_of_windows_is_one_window() -> None:
    window = '{cron: "0 0 * * *", duration: 1d, timeZone: UTC}'
    assert len(told(f"  windows: [{{allow: {window}, freeze: {window}}}]\n")) == 1
    assert len(told("  windows: [{}]\n")) == 1


@pytest.mark.parametrize(
    "path", ["base", "shared", "shared/", "shared/a/b", "/shared/a", "clusters/a", "../shared/a"]
)
def test_a_shared_set_is_one_folder_below_shared(path: str) -> None:
    assert [found for _, found, _ in told(f"  shared: [{{path: {path}, clusters: {{}}}}]\n")] == [
        "spec.shared.0.path"
    ]


def test_a_shared_set_or_a_wave_without_clusters_is_an_error_and_never_all_clusters() -> None:
    assert told("  shared: [{path: shared/a}]\n") == [(4, "spec.shared.0", "write clusters:")]
    assert told("  shared: [{path: shared/a, clusters: }]\n") == [(4, "spec.shared.0", "write clusters:")]
    assert told("  rollout: {waves: [{name: a}]}\n") == [(4, "spec.rollout.waves.0", "write clusters:")]
    assert len(told("  rollout: {waves: []}\n")) == 1


@pytest.mark.parametrize(
    "entry", ["etc/x", "unit:", "module:", "module:a:b", "kernelarguments", "unit", "5", "''"]
)
def test_an_entry_of_sensitive_that_hides_nothing_is_told(entry: str) -> None:
    assert len(told(f"  sensitive: [{entry!r}]\n".replace("'5'", "5"))) == 1


def test_label_selectors_are_checked() -> None:
    for expression in (
        "{key: a, operator: Is}",
        "{key: a, operator: In}",
        "{operator: Exists}",
        "{key: a, operator: Exists, values: [b]}",
    ):
        assert (
            len(told(f"  shared: [{{path: shared/a, clusters: {{matchExpressions: [{expression}]}}}}]\n"))
            == 1
        )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# nothing\n",
        HEAD + "---\n" + HEAD,
        "- a\n",
        "kind: FleetConfig\n",
        "apiVersion: gitops-mc.io/v2\nkind: FleetConfig\n",
        "apiVersion: gitops-mc.io/v1alpha1\nkind: Fleet\n",
        HEAD + "spec: [\n",
        HEAD + "spec: {prune: {enabled: true}, prune: {}}\n",
        HEAD + "metadata: {name: Not_A_Name}\n",
        "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n",
    ],
)
def test_a_file_that_is_no_fleet_file_is_an_error_and_never_the_silent_default(text: str) -> None:
    assert any(flaw.severity is Severity.ERROR for flaw in read_fleet_file(text.encode()).flaws)


VALUES: st.SearchStrategy[Any] = st.sampled_from(
    [
        None,
        True,
        0,
        -1,
        1.5,
        "",
        "x",
        "1h",
        "25%",
        [],
        {},
        [None],
        [[]],
        [{}],
        {"a": 1},
        {"": []},
        ["x", 1],
        10**18,
    ]
)


def paths(value: Any) -> list[tuple[str | int, ...]]:
    match value:
        case dict():
            children = list(value.items())
        case list():
            children = list(enumerate(value))
        case _:
            return [()]
    return [(), *((key, *path) for key, item in children for path in paths(item))]


WHOLE_VALUE: Any = read_documents(WHOLE.encode()).documents[0].value
WHOLE_PATHS = paths(WHOLE_VALUE)


def replaced(tree: Any, path: tuple[str | int, ...], value: Any) -> Any:
    if not path:
        return value
    changed: Any = list(tree) if isinstance(tree, list) else dict(tree)
    changed[path[0]] = replaced(tree[path[0]], path[1:], value)
    return changed


@settings(max_examples=400, deadline=None, derandomize=True)
@given(st.sampled_from(WHOLE_PATHS), VALUES)
def test_any_value_in_any_place_gives_a_policy_or_flaws_and_never_half_a_policy(
    path: tuple[str | int, ...], value: Any
) -> None:
    file = read_fleet_file(json.dumps(replaced(WHOLE_VALUE, path, value)).encode())
    refused = any(flaw.severity is Severity.ERROR for flaw in file.flaws)
    assert refused == (file.policy is DEFAULT_POLICY)
    assert all(flaw.message.isprintable() for flaw in file.flaws)


def test_a_missing_head_is_shown_as_it_has_to_be_written() -> None:
    hints = {flaw.hint for flaw in read_fleet_file(b"spec: {}\n").flaws}
    assert hints == {"write apiVersion: gitops-mc.io/v1alpha1", "write kind: FleetConfig"}
