"""Every rule of the table: what breaks it, what does not, and how it is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from gitops_mc.core.live import LiveCluster, objects, unread
from gitops_mc.core.model import (
    CLUSTER_LABEL,
    MODULE_LABEL,
    MODULE_TYPE_LABEL,
    ROLE_LABEL,
    ClusterScope,
    Content,
    DesiredCluster,
    JsonObject,
    Kind,
    Known,
    Manifest,
    Place,
    Problem,
    ResourceKey,
    Severity,
    SharedScope,
)
from gitops_mc.core.policy import DEFAULT_POLICY
from gitops_mc.core.rules import (
    LIVE_RULES,
    RULES,
    LiveRule,
    NotChecked,
    Rule,
    check,
    check_with_facts,
    rules_page,
)

ROOT = Path(__file__).parents[2]
ROWS: tuple[Rule | LiveRule, ...] = (*RULES, *LIVE_RULES)
DATA = ROOT / "tests" / "data" / "rules"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
CLUSTER = "edge-01"


def machine_config(short: JsonObject) -> JsonObject:
    """`files`, `units`, `users`: entries; `config`: sections; `large`: a file of so many characters; `spec`: the rest."""
    short = {"role": "worker", "name": "50-worker-x", **short}
    assert short.keys() <= {"name", "role", "config", "files", "units", "users", "large", "path", "spec"}
    config: JsonObject = {"ignition": {"version": "3.4.0"}, **short.get("config", {})}
    if "files" in short:
        config["storage"] = {"files": short["files"]}
    if "large" in short:
        source = "data:," + "x" * short["large"]
        config["storage"] = {"files": [{"path": short.get("path", "/etc/a"), "contents": {"source": source}}]}
    if "units" in short:
        config["systemd"] = {"units": short["units"]}
    if "users" in short:
        config["passwd"] = {"users": short["users"]}
    labels = {ROLE_LABEL: short["role"]} if short["role"] else {}
    return {
        "apiVersion": Kind.MACHINE_CONFIG.api_version,
        "kind": "MachineConfig",
        "metadata": {"name": short["name"], "labels": labels},
        "spec": {"config": config, **short.get("spec", {})},
    }


def pool(short: JsonObject) -> JsonObject:
    spec = {key: value for key, value in short.items() if key != "name"}
    return {"kind": "MachineConfigPool", "metadata": {"name": short["name"]}, "spec": spec}


def policy(short: JsonObject) -> JsonObject:
    spec = {key: value for key, value in short.items() if key not in ("name", "many_files")}
    if "many_files" in short:
        files = [{"path": f"/etc/{n}", "actions": [{"type": "None"}]} for n in range(short["many_files"])]
        spec = {"nodeDisruptionPolicy": {"files": files}}
    return {"kind": "MachineConfiguration", "metadata": {"name": short.get("name", "cluster")}, "spec": spec}


def module(short: JsonObject) -> JsonObject:
    name = short.get("name", "machine-config")
    labels = {
        CLUSTER_LABEL: CLUSTER,
        MODULE_LABEL: name,
        MODULE_TYPE_LABEL: "plugin",
        **short.get("labels", {}),
    }
    spec = {"version": "v4.1.0", **{k: v for k, v in short.items() if k not in ("name", "labels")}}
    return {"kind": "ModuleInfo", "metadata": {"name": f"x-{name}", "labels": labels}, "spec": spec}


BUILDERS: dict[str, Callable[[JsonObject], JsonObject]] = {
    "mc": machine_config,
    "pool": pool,
    "policy": policy,
    "module": module,
    "raw": dict,
}


def manifest(body: JsonObject) -> Manifest:
    kind = Kind(body["kind"])
    name = body["metadata"].get("name", "")
    if kind is Kind.MODULE_INFO:
        name = body["metadata"].get("labels", {}).get(MODULE_LABEL) or "module"
    return Manifest(ResourceKey(CLUSTER, kind, name), body, Place(f"clusters/{CLUSTER}/{name}.yaml", 1, 1))


def cluster_of(manifests: list[Manifest]) -> DesiredCluster:
    return DesiredCluster(CLUSTER, tuple(sorted(manifests, key=lambda m: m.key)), Content("0" * 64))


@dataclass(frozen=True)
class Case:
    rule: str
    says: str
    at: str
    cluster: DesiredCluster
    live: LiveCluster

    def problems(self) -> list[Problem]:
        found = [
            *check(self.cluster, DEFAULT_POLICY),
            *check_with_facts(self.cluster, DEFAULT_POLICY, self.live),
        ]
        return [p for p in found if isinstance(p, Problem) and p.rule == self.rule]


def live_of(facts: dict[str, Any]) -> LiveCluster:
    known = {name: Known(objects(value), NOW) for name, value in facts.items()}
    return replace(unread(CLUSTER, NOW), **known)  # type: ignore[arg-type]


def cases(group: str) -> list[Any]:
    found = []
    for file in sorted(DATA.glob("*.yaml")):
        for rule, groups in yaml.safe_load(file.read_text()).items():
            for number, case in enumerate(groups[group]):
                bodies = [BUILDERS[kind](short) for item in case["objects"] for kind, short in item.items()]
                found.append(
                    pytest.param(
                        Case(
                            rule,
                            case.get("says", ""),
                            case.get("at", ""),
                            cluster_of([manifest(body) for body in bodies]),
                            live_of(case.get("live", {})),
                        ),
                        id=f"{rule}-{number}",
                    )
                )
    return found


@pytest.mark.parametrize("case", cases("violating"))
def test_a_violation_is_told_with_its_field_and_what_is_wrong(case: Case) -> None:
    found = {problem.field: problem for problem in case.problems()}
    assert case.at in found
    assert case.says in found[case.at].message
    assert found[case.at].hint


@pytest.mark.parametrize("case", cases("clean"))
def test_what_keeps_a_rule_is_no_problem(case: Case) -> None:
    assert case.problems() == []


@pytest.mark.parametrize("group", ["violating", "clean"])
def test_every_rule_has_fixtures_and_every_fixture_a_rule(group: str) -> None:
    seen = {case.values[0].rule for case in cases(group)}
    assert seen == {rule.id for rule in ROWS}


def test_ids_are_unique_and_sentences_are_sentences() -> None:
    assert len({rule.id for rule in ROWS}) == len(ROWS)
    assert [rule.id for rule in ROWS if not rule.sentence.endswith(".")] == []
    assert [rule.id for rule in ROWS if not rule.source.url.startswith("https://")] == []


def test_the_page_of_rules_is_current() -> None:
    assert (ROOT / "docs" / "rules.md").read_text() == rules_page(), "see gitops_mc/core/rules/page.py"


def test_a_problem_stands_at_the_nearest_place_that_is_known() -> None:
    files = [{"path": "etc/a", "mode": 644}]
    places = MappingProxyType(
        {
            ("spec", "config"): Place("a.yaml", 6, 3),
            ("spec", "config", "storage", "files", 0, "path"): Place("a.yaml", 9, 9),
        }
    )
    written = replace(manifest(machine_config({"files": files})), places=places)
    found = {p.rule: p.place for p in check(cluster_of([written]), DEFAULT_POLICY)}
    assert found["file-path"] == Place("a.yaml", 9, 9)
    assert found["file-mode-decimal"] == Place("a.yaml", 6, 3)


def test_what_is_wrong_in_a_shared_set_blocks_all_who_use_it_and_what_is_wrong_in_the_sum_one_cluster() -> (
    None
):
    shared = replace(
        manifest(machine_config({"files": [{"path": "etc/a"}, {"path": "/etc/b/c"}]})),
        shared_set="shared/base",
    )
    own = manifest(machine_config({"name": "60-worker-y", "files": [{"path": "/etc/b"}]}))
    found = {p.rule: p.scope for p in check(cluster_of([shared, own]), DEFAULT_POLICY)}
    assert found["file-path"] == SharedScope("shared/base")
    assert found["merged-file-below-file"] == ClusterScope(CLUSTER)


def test_without_its_facts_a_rule_is_not_checked_which_is_no_pass() -> None:
    cluster = cluster_of([manifest(machine_config({"role": "gpu"}))])
    answers = check_with_facts(cluster, DEFAULT_POLICY, unread(CLUSTER, NOW))
    assert [type(answer) for answer in answers] == [NotChecked] * len(LIVE_RULES)
    assert answers[0] == NotChecked(
        LIVE_RULES[0].id, CLUSTER, f"not checked: pools of cluster {CLUSTER} not known: not read yet"
    )


def test_a_realistic_cluster_has_no_error() -> None:
    action = {"type": "Restart", "restart": {"serviceName": "chronyd.service"}}
    bodies = [
        machine_config(
            {
                "name": "50-worker-chrony",
                "files": [
                    {"path": "/etc/chrony.conf", "mode": 420, "contents": {"source": "data:,server%20a"}}
                ],
                "units": [{"name": "chronyd.service", "enabled": True}],
            }
        ),
        policy({"nodeDisruptionPolicy": {"files": [{"path": "/etc/chrony.conf", "actions": [action]}]}}),
        pool({"name": "worker", "maxUnavailable": "10%"}),
        module({"config": {}}),
    ]
    assert check(cluster_of([manifest(body) for body in bodies]), DEFAULT_POLICY) == ()


def test_no_message_shows_contents_or_the_value_of_a_kernel_argument() -> None:
    secret = "s3cret-value"
    body = machine_config(
        {
            "files": [{"path": "/etc/a", "mode": 644, "contents": {"source": f"data:;base64,{secret}!"}}],
            "units": [
                {"name": "a.service", "enabled": True, "contents": f"[Service]\nExecStart=/bin/x {secret}\n"}
            ],
            "spec": {"kernelArguments": [f"a={secret}", f"a={secret}", f" b={secret}"]},
        }
    )
    problems = check(cluster_of([manifest(body)]), DEFAULT_POLICY)
    assert len(problems) >= 5
    assert [p for p in problems if secret in f"{p.message} {p.hint} {p.field}"] == []


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 2000) | st.floats(allow_nan=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
KEYS = st.sampled_from(
    [
        *(
            "config",
            "storage",
            "files",
            "path",
            "mode",
            "contents",
            "source",
            "systemd",
            "units",
            "name",
            "dropins",
        ),
        *("passwd", "users", "sshAuthorizedKeys", "kernelArguments", "ignition", "version", "user", "append"),
        *(
            "machineConfigSelector",
            "nodeSelector",
            "matchLabels",
            "matchExpressions",
            "key",
            "operator",
            "values",
        ),
        *("nodeDisruptionPolicy", "defaultNodeDisruptionPolicySpecAction", "actions", "type", "restart"),
        *("maxUnavailable", "paused", "configuration", ROLE_LABEL, "serviceName"),
    ]
)
SHAPED = st.recursive(
    ANYTHING,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=25,
)


@given(st.sampled_from(Kind), SHAPED, ANYTHING)
@settings(max_examples=300, derandomize=True, deadline=None)
def test_no_body_whatever_its_shape_makes_a_rule_fail(kind: Kind, spec: Any, labels: Any) -> None:
    body = {"kind": kind.value, "metadata": {"name": "x", "labels": labels}, "spec": spec}
    written = Manifest(ResourceKey(CLUSTER, kind, "x"), body, Place("a.yaml"))
    cluster = cluster_of([written])
    facts = {"pools": {"x": body}, "catalog": {"ModuleConfig/x": body}}
    problems = [*check(cluster, DEFAULT_POLICY), *check_with_facts(cluster, DEFAULT_POLICY, live_of(facts))]
    assert all(isinstance(p, Problem) and p.severity in Severity for p in problems)


def test_a_slip_of_the_pen_is_told_with_the_name_that_was_meant() -> None:
    bodies = [
        pool({"name": "worker", "maxUnavailabel": 1}),
        machine_config({"config": {"storage": {"file": []}}}),
    ]
    found = {p.rule: p.hint for p in check(cluster_of([manifest(body) for body in bodies]), DEFAULT_POLICY)}
    assert found["field-unknown"] == "did you mean maxUnavailable?"
    assert found["ignition-field"] == "did you mean files?"
