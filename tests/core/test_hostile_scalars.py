"""Scalars that no schema foresees, in every place of fleet.yaml and of manifests: problems of their scope, and never an exception,
which would stop every cluster of the Fleet.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from gitops_mc.core.cron import CronError, parse_cron
from gitops_mc.core.desired import Cache, DesiredState
from gitops_mc.core.manifests.documents import read_documents
from gitops_mc.core.model import ClusterScope, JsonObject, Severity
from gitops_mc.core.pools import max_unavailable
from gitops_mc.core.redact.places import sensitive_parts
from gitops_mc.core.render.lines import text_of
from gitops_mc.core.render.problems import problems_github, problems_json, problems_text, summary_of
from gitops_mc.core.rollout.brackets import mark_in
from gitops_mc.core.versions import compare_versions
from tests.core.desired_repositories import config, desired
from tests.core.test_fleetfile import WHOLE, paths, replaced

LONG = "9" * 5_000
"""More digits than Python reads as a number."""

SCALARS = {
    "decimal": LONG,
    "negative": f"-{LONG}",
    "octal": "0" + "7" * 6_000,
    "octal with an o": "0o" + "7" * 6_000,
    "hexadecimal": "0x" + "f" * 5_000,
    "binary": "0b" + "1" * 6_000,
    "underlined": "1_0" * 2_000,
    "base 60": "1:" + "59:" * 500 + "1",
    "beyond 64 bits": "18446744073709551616",
    "float": f"{LONG}.{LONG}",
    "large exponent": "1e400000000",
    "largest float": "1.7976931348623157e308",
    "negative zero": "-0.0",
    "not a number": ".nan",
    "infinity": "-.inf",
    "date": "9999-12-31T23:59:59Z",
    "tagged whole number": f'!!int "{LONG}"',
    "tagged float": f'!!float "{LONG}"',
    "tagged bytes": '!!binary "////"',
    "tagged null": "!!null x",
    "quoted decimal": f'"{LONG}"',
    "quoted zeros": '"' + "0" * 5_000 + '"',
    "quoted octal": '"0' + "7" * 6_000 + '"',
    "quoted octal with an o": '"0O' + "7" * 6_000 + '"',
    "quoted percentage": f'"{LONG}%"',
    "quoted span": f'"{LONG}d"',
    "quoted seconds": '"999999999999999999s"',
    "version": f'"v{LONG}.0.0"',
    "pre-release": f'"v1.0.0-{LONG}"',
    "cron of numbers": f'"{LONG} * * * *"',
    "cron of zeros": '"' + "0" * 5_000 + '99 * * * *"',
    "cron of steps": f'"*/{LONG} * * * *"',
    "cron without a step": '"*/00 * * * *"',
    "pointer": f'"module:logcenter:/auth/{LONG}"',
    "resource": f'"data:;base64,{LONG}"',
    "Arabic digit": '"\u0663"',
    "Arabic percentage": '"\u0663%"',
    "superscript": '"\u00b2"',
    "superscript percentage": '"\u00b2%"',
    "half a character": '"\\ud800"',
    "end of a string": '"\\0"',
    "line breaks": '"a\\nb\\r\\nc\\u2028d"',
    "backwards": '"\\u202eabc"',
    "empty": '""',
    "boolean": "true",
    "null": "~",
}

API = "machineconfiguration.alauda.io/v1alpha1"
ROLE = {"machineconfiguration.alauda.io/role": "worker"}
NOTES = {
    "gitops-mc.io/prune": "confirmed",
    "gitops-mc.io/adopt-from": "kubectl",
    "gitops-mc.io/allow-downgrade": "v1.0.0",
}
MANIFESTS: dict[str, JsonObject] = {
    "config": {
        "apiVersion": API,
        "kind": "MachineConfig",
        "metadata": {"name": "50-worker-app", "labels": ROLE, "annotations": NOTES},
        "spec": {
            "config": {
                "ignition": {"version": "3.4.0"},
                "storage": {
                    "files": [
                        {
                            "path": "/etc/a.conf",
                            "mode": 420,
                            "overwrite": True,
                            "user": {"name": "root", "id": 0},
                            "contents": {
                                "inline": "x",
                                "compression": "",
                                "verification": {"hash": "sha512-00"},
                            },
                            "append": [{"source": "data:,x"}],
                        },
                        {"path": "/etc/b.conf", "mode": 420, "contents": {"local": "b.conf"}},
                        {"path": "/etc/c.conf", "mode": 420, "contents": {"source": "data:,x"}},
                    ],
                    "directories": [{"path": "/etc/d", "mode": 493}],
                },
                "systemd": {
                    "units": [
                        {
                            "name": "a.service",
                            "enabled": True,
                            "contents": "[Unit]\n[Install]\nWantedBy=multi-user.target\n",
                            "dropins": [{"name": "10-a.conf", "contents": "[Unit]\n"}],
                        }
                    ]
                },
                "passwd": {"users": [{"name": "boot", "sshAuthorizedKeys": ["ssh-ed25519 AAAA a@b"]}]},
            },
            "kernelArguments": ["a=1"],
            "kernelType": "default",
            "fips": False,
            "extensions": ["usbguard"],
            "osImageURL": "",
        },
    },
    "pool": {
        "apiVersion": API,
        "kind": "MachineConfigPool",
        "metadata": {"name": "infra"},
        "spec": {
            "machineConfigSelector": {
                "matchLabels": {"a": "b"},
                "matchExpressions": [
                    {"key": next(iter(ROLE)), "operator": "In", "values": ["worker", "infra"]}
                ],
            },
            "nodeSelector": {"matchLabels": {"node-role.kubernetes.io/infra": ""}},
            "maxUnavailable": "25%",
            "paused": False,
        },
    },
    "policy": {
        "apiVersion": API,
        "kind": "MachineConfiguration",
        "metadata": {"name": "cluster"},
        "spec": {
            "nodeDisruptionPolicy": {
                "files": [
                    {
                        "path": "/etc/a.conf",
                        "actions": [{"type": "Restart", "restart": {"serviceName": "a.service"}}],
                    }
                ],
                "units": [
                    {
                        "name": "a.service",
                        "actions": [{"type": "Reload", "reload": {"serviceName": "a.service"}}],
                    }
                ],
                "sshkey": {"actions": [{"type": "None"}]},
            }
        },
    },
    "module": {
        "apiVersion": "cluster.alauda.io/v1alpha1",
        "kind": "ModuleInfo",
        "metadata": {
            "name": "edge-01-x",
            "labels": {
                "cpaas.io/cluster-name": "edge-01",
                "cpaas.io/module-name": "logcenter",
                "cpaas.io/module-type": "plugin",
            },
        },
        "spec": {"version": "v4.3.0", "config": {"auth": ["a", {"b": 1}]}, "entrypoint": "x"},
    },
}
MARK = '"@here@"'
FLEET_YAML = read_documents(WHOLE.encode()).documents[0].value
REST = {
    "clusters/edge-02/a.yaml": config("50-worker-b"),
    "shared/base/a.yaml": config("50-worker-c"),
    "clusters/edge-01/b.conf": "x",
}


def _written(tree: Any, path: tuple[str | int, ...], scalar: str) -> str:
    return json.dumps(replaced(tree, path, "@here@")).replace(MARK, scalar)


def _used(state: DesiredState) -> None:
    """What is asked of a state next: what is sensitive, when steps may begin, and words for what is wrong."""
    for cluster in state.clusters:
        for manifest in cluster.manifests:
            list(sensitive_parts(state.sensitive, manifest.body))
            max_unavailable(manifest.body, 3)
    for problem in state.problems:
        assert problem.message
    for words in (problems_text(state.problems), problems_github(state.problems)):
        text_of(words).encode()
    json.dumps(problems_json(state.problems, summary_of(state)))


def _leaves(tree: Any) -> list[tuple[str | int, ...]]:
    return [path for path in paths(tree) if path]


EVERY = pytest.mark.parametrize("scalar", SCALARS.values(), ids=SCALARS)


def _third(leaves: list[tuple[str | int, ...]], scalar: str) -> list[tuple[str | int, ...]]:
    """Another third for each scalar, so that every place meets many."""
    return leaves[list(SCALARS.values()).index(scalar) % 3 :: 3]


@EVERY
@pytest.mark.parametrize("manifest", MANIFESTS)
def test_a_scalar_of_a_manifest_stops_no_more_than_its_cluster(manifest: str, scalar: str) -> None:
    _in_manifest(manifest, scalar, _third(_leaves(MANIFESTS[manifest]), scalar))


@pytest.mark.slow
@EVERY
@pytest.mark.parametrize("manifest", MANIFESTS)
def test_every_scalar_in_every_place_of_a_manifest_stops_no_more_than_its_cluster(
    manifest: str, scalar: str
) -> None:
    _in_manifest(manifest, scalar, _leaves(MANIFESTS[manifest]))


def _in_manifest(manifest: str, scalar: str, places: list[tuple[str | int, ...]]) -> None:
    others = {
        f"clusters/edge-01/{name}.yaml": json.dumps(body)
        for name, body in MANIFESTS.items()
        if name != manifest
    }
    texts = {"fleet.yaml": WHOLE, **REST, **others}
    tree = MANIFESTS[manifest]
    cache: Cache = {}
    whole = desired({**texts, "clusters/edge-01/x.yaml": json.dumps(tree)}, cache=cache)
    alone = [p for p in whole.problems if p.scope != ClusterScope("edge-01")]
    for path in places:
        state = desired({**texts, "clusters/edge-01/x.yaml": _written(tree, path, scalar)}, cache=cache)
        assert [p for p in state.problems if p.scope != ClusterScope("edge-01")] == alone, path
        _used(state)


@EVERY
def test_a_scalar_of_fleet_yaml_is_no_more_than_a_problem_of_the_fleet(scalar: str) -> None:
    _in_fleet_yaml(scalar, _third(_leaves(FLEET_YAML), scalar))


@pytest.mark.slow
@EVERY
def test_every_scalar_in_every_place_of_fleet_yaml_is_no_more_than_a_problem_of_the_fleet(
    scalar: str,
) -> None:
    _in_fleet_yaml(scalar, _leaves(FLEET_YAML))


def _in_fleet_yaml(scalar: str, places: list[tuple[str | int, ...]]) -> None:
    manifests = {f"clusters/edge-01/{name}.yaml": json.dumps(body) for name, body in MANIFESTS.items()}
    cache: Cache = {}
    for path in places:
        state = desired({**REST, **manifests, "fleet.yaml": _written(FLEET_YAML, path, scalar)}, cache=cache)
        _used(state)
        wrong = [p for p in state.problems if p.severity is Severity.ERROR and p.place.file == "fleet.yaml"]
        if not wrong:
            for window in state.policy.windows:
                parse_cron(window.cron)
        assert not any(isinstance(p.scope, ClusterScope) for p in wrong)


@pytest.mark.parametrize(
    "mode", ["0" + "7" * 6_000, '"0' + "7" * 6_000 + '"', f'"{LONG}"', LONG, "0x" + "f" * 5_000]
)
def test_a_mode_of_too_many_digits_is_a_problem_of_its_file(mode: str) -> None:
    text = _written(MANIFESTS["config"], ("spec", "config", "storage", "files", 0, "mode"), mode)
    state = desired({**REST, "clusters/edge-01/x.yaml": text})
    wrong = [p for p in state.problems if p.field == "spec.config.storage.files[0].mode"]
    assert wrong
    assert {(p.scope, p.severity) for p in wrong} == {(ClusterScope("edge-01"), Severity.ERROR)}
    assert all(len(p.hint) < 100 for p in wrong)


@pytest.mark.parametrize(
    "limit", [LONG, f"{LONG}%", "0" * 5_000, "\u0663", "\u00b2", None, [], {}, 1e308, -1, True]
)
def test_a_limit_of_a_live_pool_that_says_nothing_is_one(limit: Any) -> None:
    assert max_unavailable({"spec": {"maxUnavailable": limit}}, 5) == 1


@pytest.mark.parametrize(
    ("older", "later"),
    [
        (f"v1.0.0-rc.{LONG}", f"v1.0.0-rc.1{LONG}"),
        (f"v1.0.0-rc.{'0' * 5_000}1", "v1.0.0-rc.2"),
        (f"v1.0.0-{LONG}", "v1.0.0-a"),
    ],
)
def test_pre_releases_are_ordered_however_many_digits_they_have(older: str, later: str) -> None:
    assert compare_versions(older, later) == -1


@pytest.mark.parametrize("version", [f"v{LONG}.0.0", f"v1.{LONG}", "v\u0663.0.0"])
def test_a_version_whose_numbers_mean_nothing_cannot_be_compared(version: str) -> None:
    assert compare_versions(version, "v1.0.0") is None


@pytest.mark.parametrize(
    "field", ["0" * 5_000 + "99", "000099", f"*/{LONG}", "*/00", "*/0000", f"1-{LONG}", "\u0663"]
)
def test_a_cron_field_that_is_out_of_range_is_named(field: str) -> None:
    with pytest.raises(CronError, match="the field minute"):
        parse_cron(f"{field} * * * *")


@pytest.mark.parametrize("text", ["[" * 100_000, f"[{LONG}]", '{"a":' * 100_000, "\ud800"])
def test_a_mark_of_a_live_pool_that_cannot_be_read_is_one_all_the_same(text: str) -> None:
    assert (
        mark_in({"metadata": {"annotations": {"gitops-mc.io/bracket": text}}}, "gitops-mc.io/bracket") == {}
    )
