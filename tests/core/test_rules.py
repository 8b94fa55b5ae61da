"""The table of rules: every row is violated by one fixture and kept by another, and never says more than it was asked."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitops_mc.core.live import unread
from gitops_mc.core.model import (
    ROLE_LABEL,
    ClusterScope,
    FleetScope,
    Kind,
    Manifest,
    Place,
    Problem,
    ResourceKey,
    Severity,
    SharedScope,
)
from gitops_mc.core.policy import DEFAULT_POLICY
from gitops_mc.core.rules import FLEET_RULES, RULES, AnyRule, check, check_fleet
from gitops_mc.core.rules.live import LIVE_RULES, NotChecked, check_with_facts
from tests.core.rule_cases import (
    CLUSTER,
    NOW,
    Case,
    cases,
    cluster_of,
    live_of,
    machine_config,
    manifest,
    module,
    policy,
    pool,
)

ROWS: tuple[AnyRule, ...] = (*RULES, *LIVE_RULES, *FLEET_RULES)


def parameters(group: str) -> list[Any]:
    return [pytest.param(case, id=name) for name, case in cases(group)]


@pytest.mark.parametrize("case", parameters("violating"))
def test_a_violation_is_told_with_its_field_and_what_is_wrong_and_by_no_other_rule(case: Case) -> None:
    problems = case.problems()
    assert {problem.rule for problem in problems} == {case.rule, *case.also}
    found = {problem.field: problem for problem in problems if problem.rule == case.rule}
    assert case.at in found
    assert case.says in found[case.at].message
    assert found[case.at].hint


@pytest.mark.parametrize("case", parameters("clean"))
def test_what_keeps_a_rule_is_no_problem(case: Case) -> None:
    assert [p for p in case.problems() if p.rule == case.rule] == []


@pytest.mark.parametrize("group", ["violating", "clean"])
def test_every_rule_has_fixtures_and_every_fixture_a_rule(group: str) -> None:
    seen = {case.rule for _, case in cases(group)}
    assert seen == {rule.id for rule in ROWS}


def test_ids_are_unique_and_sentences_are_sentences() -> None:
    assert len({rule.id for rule in ROWS}) == len(ROWS)
    assert [rule.id for rule in ROWS if not rule.sentence.endswith(".")] == []
    assert [rule.id for rule in ROWS if not rule.source.url.startswith("https://")] == []


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


def test_a_cluster_that_overrides_a_file_or_unit_of_its_shared_set_means_it() -> None:
    def config(name: str) -> Manifest:
        files = [{"path": "/etc/a", "contents": {"source": f"data:,{name}"}}]
        units = [{"name": "a.service", "contents": f"[Unit]\nDescription={name}\n"}]
        return manifest(machine_config({"name": name, "files": files, "units": units, "spec": EXTRA}))

    shared = replace(config("50-worker-x"), shared_set="shared/base")
    found = {p.rule for p in check(cluster_of([shared, config("60-worker-y")]), DEFAULT_POLICY)}
    assert found == {"file-inert"}
    alone = {
        p.rule for p in check(cluster_of([config("50-worker-x"), config("60-worker-y")]), DEFAULT_POLICY)
    }
    assert alone == {"file-inert", "file-two-owners", "unit-two-owners"}


EXTRA = {"kernelArguments": ["console=tty0"]}
"""So that something is left of each config, and none is wholly overridden."""


def test_an_entry_of_a_shared_policy_that_one_cluster_uses_is_used() -> None:
    entry = {"path": "/etc/a", "actions": [{"type": "None"}]}
    shared = replace(manifest(policy({"nodeDisruptionPolicy": {"files": [entry]}})), shared_set="shared/base")
    one = cluster_of([shared, manifest(machine_config({"files": [{"path": "/etc/a/b"}]}))], "edge-01")
    other = cluster_of([shared], "edge-02")
    assert check_fleet((one, other)) == ()
    (unused,) = check_fleet((other,))
    assert (unused.rule, unused.scope) == ("policy-entry-unused", SharedScope("shared/base"))


def test_versions_that_differ_are_the_fleets_warning_and_nobody_is_blocked() -> None:
    clusters = [
        cluster_of([manifest(module({"version": version}), name)], name)
        for name, version in (("edge-01", "v4.1.0"), ("edge-02", "v4.2.0"), ("edge-03", "v4.2.0"))
    ]
    (found,) = check_fleet(clusters)
    assert (found.rule, found.scope, found.severity) == (
        "fleet-module-version",
        FleetScope(),
        Severity.WARNING,
    )


def test_a_module_that_runs_in_the_wanted_version_needs_no_catalog() -> None:
    wanted = cluster_of([manifest(module({"version": "v4.1.0"}))])
    info = {
        "metadata": {"labels": {"cpaas.io/module-name": "machine-config"}},
        "status": {"version": "v4.1.0"},
    }
    facts: dict[str, Any] = {"catalog": {}, "modules": {"x": info}, "pools": {}}
    assert [
        p for p in check_with_facts(wanted, DEFAULT_POLICY, live_of(facts)) if isinstance(p, Problem)
    ] == []


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
    read = {"metadata": {"name": "x"}, "spec": spec}
    facts = {
        "pools": {"x": body},
        "catalog": {"ModuleConfig/x": read},
        "modules": {"x": read},
        "inventory": {},
    }
    facts |= {"configs": {"x": read}, "nodes": {"x": {"metadata": {"labels": labels}}}}
    live = check_with_facts(cluster, DEFAULT_POLICY, live_of(facts))
    assert not [answer for answer in live if isinstance(answer, NotChecked)]
    problems = [*check(cluster, DEFAULT_POLICY), *live, *check_fleet((cluster,))]
    assert all(isinstance(p, Problem) and p.severity in Severity for p in problems)


def test_a_slip_of_the_pen_is_told_with_the_name_that_was_meant() -> None:
    bodies = [
        pool({"name": "worker", "maxUnavailabel": 1}),
        machine_config({"config": {"storage": {"file": []}}}),
    ]
    found = {p.rule: p.hint for p in check(cluster_of([manifest(body) for body in bodies]), DEFAULT_POLICY)}
    assert found["field-unknown"] == "did you mean maxUnavailable?"
    assert found["ignition-field"] == "did you mean files?"
