"""What a repository says about every cluster, and whom a problem blocks."""

from __future__ import annotations

import pytest

from gitops_mc.core.desired import SourceFile, load
from gitops_mc.core.desired.checking import Checked
from gitops_mc.core.manifests import ManifestFile
from gitops_mc.core.model import (
    CLUSTER_LABEL,
    DesiredCluster,
    Kind,
    Manifest,
    Place,
    ResourceKey,
    Severity,
    content_of,
    labels_of,
    metadata,
)
from gitops_mc.core.policy import DEFAULT_POLICY
from tests.core.desired_repositories import FLEET, config, desired, files, module, told


def names(cluster: DesiredCluster | None) -> list[str]:
    assert cluster is not None
    return [str(manifest.key) for manifest in cluster.manifests]


def test_a_folder_below_clusters_is_a_cluster_and_has_its_manifests() -> None:
    state = desired(
        {
            "clusters/edge-01/a.yaml": config("50-worker-a"),
            "clusters/edge-01/deep/er/b.yml": config("60-worker-b") + "---\n" + config("55-worker-c"),
            "clusters/global/x.yaml": config("50-worker-a"),
            "README.md": "hello",
            "docs/x.yaml": "not: {a manifest",
        }
    )
    assert told(state) == []
    assert [cluster.name for cluster in state.clusters] == ["edge-01", "global"]
    assert names(state.cluster("edge-01")) == [
        "edge-01/MachineConfig/50-worker-a",
        "edge-01/MachineConfig/55-worker-c",
        "edge-01/MachineConfig/60-worker-b",
    ]
    assert state.cluster("edge-02") is None
    assert state.policy is DEFAULT_POLICY


def test_manifests_are_in_the_order_of_their_keys_and_know_their_places() -> None:
    state = desired(
        {
            "clusters/a/x.yaml": config()
            + "---\n"
            + module(labels="cpaas.io/cluster-name: a", metadata="name: t,")
        }
    )
    (cluster,) = state.clusters
    assert [manifest.key.kind for manifest in cluster.manifests] == [Kind.MODULE_INFO, Kind.MACHINE_CONFIG]
    assert cluster.manifests[0].key == ResourceKey("a", Kind.MODULE_INFO, "machine-config")
    assert cluster.manifests[0].place == Place("clusters/a/x.yaml", 6, 1)
    assert cluster.manifests[0].places[("spec", "version")] == Place("clusters/a/x.yaml", 9, 8)


def test_the_content_of_a_cluster_does_not_depend_on_files_order_or_comments() -> None:
    one = desired({"clusters/a/x.yaml": config("50-worker-a"), "clusters/a/y.yaml": config("60-worker-b")})
    two = desired({"clusters/a/z.yaml": "# c\n" + config("60-worker-b") + "---\n" + config("50-worker-a")})
    assert one.clusters[0].content == two.clusters[0].content == content_of(one.clusters[0].manifests)
    assert (
        one.clusters[0].content != desired({"clusters/a/x.yaml": config("50-worker-a")}).clusters[0].content
    )


def test_a_problem_below_a_cluster_blocks_that_cluster_alone() -> None:
    state = desired({"clusters/a/x.yaml": "a: [1", "clusters/b/x.yaml": config()})
    assert told(state) == [("clusters/a/x.yaml:2:1", "yaml-syntax", "cluster a")]
    assert [(cluster.name, cluster.blocked) for cluster in state.clusters] == [("a", True), ("b", False)]
    assert not state.fleet_blocked


def test_a_problem_in_a_shared_set_blocks_exactly_the_clusters_that_use_it() -> None:
    state = desired(
        {
            "fleet.yaml": FLEET + "  shared: [{path: shared/base, clusters: {names: [a, b]}}]\n",
            "shared/base/x.yaml": config() + "bogus: 1\n",
            "clusters/a/y.yaml": config("60-worker-b"),
            "clusters/b/README": "",
            "clusters/c/y.yaml": config("60-worker-b"),
        }
    )
    assert told(state) == [("shared/base/x.yaml:5:1", "manifest-field", "shared/base")]
    assert [(cluster.name, cluster.blocked) for cluster in state.clusters] == [
        ("a", True),
        ("b", True),
        ("c", False),
    ]


def test_a_problem_in_fleet_yaml_blocks_the_fleet() -> None:
    state = desired({"fleet.yaml": FLEET + "  prun: {enabled: true}\n", "clusters/a/x.yaml": config()})
    assert told(state) == [("fleet.yaml:4:3", "fleet-unknown-field", "fleet")]
    assert state.fleet_blocked
    assert state.policy is DEFAULT_POLICY
    assert state.clusters[0].blocked


def test_an_ignore_of_a_flawed_fleet_yaml_still_keeps_noise_away() -> None:
    state = desired(
        {
            "fleet.yaml": FLEET + "  ignore: ['**/kustomization.yaml']\n  prun: {}\n",
            "clusters/a/kustomization.yaml": "kind: Kustomization\n",
            "clusters/a/x.yaml": config(),
        }
    )
    assert told(state) == [("fleet.yaml:5:3", "fleet-unknown-field", "fleet")]


@pytest.mark.parametrize(
    "texts",
    [
        {},
        {"README.md": "hello"},
        {"cluster/a/x.yaml": config()},
        {"clusters/a/README.md": "nothing yet"},
        {"clusters/a/x.yaml": "# nothing\n"},
        {"clusters/x.yaml": config()},
        {"clusters/a/files/x.yaml": config()},
        {"shared/base/x.yaml": config()},
    ],
)
def test_an_empty_repository_is_a_problem_of_the_fleet_and_never_an_empty_fleet(
    texts: dict[str, str | bytes],
) -> None:
    assert desired(texts).fleet_blocked


def test_a_shared_set_gives_its_manifests_to_the_clusters_it_selects() -> None:
    state = desired(
        {
            "fleet.yaml": FLEET
            + "  clusters: [{name: a, labels: {env: prod}}]\n"
            + "  shared: [{path: shared/base, clusters: {matchLabels: {env: prod}}}]\n",
            "shared/base/x.yaml": config(),
            "clusters/a/README": "",
            "clusters/b/y.yaml": config("60-worker-b"),
        }
    )
    assert told(state) == []
    (manifest,) = state.clusters[0].manifests
    assert (manifest.shared_set, manifest.key.cluster) == ("shared/base", "a")
    assert names(state.clusters[1]) == ["b/MachineConfig/60-worker-b"]
    assert state.clusters[0].labels == {"env": "prod"}


def shared_module(labels: str = "", meta: str = "") -> tuple[Manifest, ...]:
    state = desired(
        {
            "fleet.yaml": FLEET + "  shared: [{path: shared/base, clusters: {}}]\n",
            "shared/base/m.yaml": module(labels=labels, metadata=meta),
            "clusters/a/README": "",
            "clusters/b/README": "",
        }
    )
    return tuple(cluster.manifests[0] for cluster in state.clusters)


def test_a_module_in_a_shared_set_gets_the_cluster_and_a_name() -> None:
    one, two = shared_module()
    assert labels_of(one.body)[CLUSTER_LABEL] == "a"
    assert labels_of(two.body)[CLUSTER_LABEL] == "b"
    assert metadata(one.body)["name"] == "a-temporary-name"
    assert metadata(two.body)["name"] == "b-temporary-name"


def test_a_module_that_names_another_cluster_blocks_the_cluster_that_has_it() -> None:
    state = desired(
        {
            "clusters/a/m.yaml": module(labels="cpaas.io/cluster-name: b", metadata="name: t,"),
            "clusters/b/x.yaml": config(),
        }
    )
    assert [(cluster.name, cluster.blocked) for cluster in state.clusters] == [("a", True), ("b", False)]


def test_a_module_of_a_cluster_says_its_module_its_cluster_and_a_name() -> None:
    texts = {
        "clusters/a/m.yaml": (
            "apiVersion: cluster.alauda.io/v1alpha1\nkind: ModuleInfo\nmetadata:\n"
            "  labels: {cpaas.io/cluster-name: a}\nspec: {version: v1.0.0}\n"
        ),
        "clusters/b/m.yaml": module(),
    }
    state = desired(texts)
    rules = {(p.place.file, p.rule) for p in state.problems if p.severity is Severity.ERROR}
    assert ("clusters/a/m.yaml", "module-name-label") in rules
    assert ("clusters/a/m.yaml", "manifest-name") in rules
    assert ("clusters/b/m.yaml", "manifest-name") in rules
    assert all(cluster.blocked for cluster in state.clusters)


def test_two_manifests_of_one_object_name_both_places() -> None:
    state = desired({"clusters/a/x.yaml": config() + "---\n" + config(), "clusters/a/y.yaml": config()})
    first = "clusters/a/x.yaml:1:1"
    assert [(str(p.place), p.message) for p in state.problems if p.rule == "manifest-double"] == [
        (
            "clusters/a/x.yaml:6:1",
            f"MachineConfig 50-worker-a stands at clusters/a/x.yaml:6:1 and at {first}",
        ),
        (
            "clusters/a/y.yaml:1:1",
            f"MachineConfig 50-worker-a stands at clusters/a/y.yaml:1:1 and at {first}",
        ),
    ]


def test_a_double_inside_a_shared_set_is_the_sets_problem_once() -> None:
    state = desired(
        {
            "fleet.yaml": FLEET + "  shared: [{path: shared/base, clusters: {}}]\n",
            "shared/base/x.yaml": config(),
            "shared/base/y.yaml": config(),
            "clusters/a/README": "",
            "clusters/b/README": "",
        }
    )
    assert told(state) == [("shared/base/y.yaml:1:1", "manifest-double", "shared/base")]


def test_a_conflict_of_a_shared_set_with_a_cluster_blocks_that_cluster_only() -> None:
    state = desired(
        {
            "fleet.yaml": FLEET
            + "  shared: [{path: shared/base, clusters: {}}, {path: shared/more, clusters: {names: [b]}}]\n",
            "shared/base/x.yaml": config(),
            "shared/more/x.yaml": config(),
            "clusters/a/x.yaml": config(),
            "clusters/b/README": "",
            "clusters/c/README": "",
        }
    )
    assert told(state) == [
        ("shared/base/x.yaml:1:1", "manifest-double", "cluster a"),
        ("shared/more/x.yaml:1:1", "manifest-double", "cluster b"),
    ]
    assert [cluster.blocked for cluster in state.clusters] == [True, True, False]


def test_the_same_config_on_two_clusters_is_no_conflict() -> None:
    assert told(desired({"clusters/a/x.yaml": config(), "clusters/b/x.yaml": config()})) == []


def test_a_missing_shared_folder_blocks_the_fleet_and_never_empties_clusters() -> None:
    state = desired(
        {
            "fleet.yaml": FLEET + "  shared:\n  - {path: shared/bse, clusters: {}}\n",
            "shared/base/x.yaml": config(),
            "clusters/a/x.yaml": config("60-worker-b"),
        }
    )
    assert told(state) == [
        ("fleet.yaml:5:6", "fleet-shared-missing", "fleet"),
        ("shared/base", "fleet-shared-unused", "fleet"),
    ]
    assert state.fleet_blocked


def test_a_cluster_in_no_wave_blocks_itself() -> None:
    state = desired(
        {
            "fleet.yaml": FLEET + "  rollout:\n    waves: [{name: one, clusters: {names: [a]}}]\n",
            "clusters/a/x.yaml": config(),
            "clusters/b/x.yaml": config(),
        }
    )
    assert told(state) == [("fleet.yaml:5:5", "fleet-no-wave", "cluster b")]


def test_a_cluster_without_a_folder_is_no_member_and_told() -> None:
    state = desired(
        {
            "fleet.yaml": FLEET
            + "  clusters: [{name: a}, {name: gone}]\n  shared: [{path: shared/base, clusters: {}}]\n",
            "shared/base/x.yaml": config(),
            "clusters/a/README": "",
        }
    )
    assert told(state) == [("fleet.yaml:4:25", "fleet-cluster-missing", "fleet")]
    assert [cluster.name for cluster in state.clusters] == ["a"]
    assert not state.fleet_blocked


def test_a_parsed_file_is_taken_from_the_cache_and_needs_no_data() -> None:
    cache: dict[str, ManifestFile] = {}
    texts = {"clusters/a/x.yaml": config(), "clusters/b/x.yaml": config()}
    first = desired(texts, cache=cache)
    assert len(cache) == 1
    bare = [SourceFile(file.path, file.blob, file.mode, None) for file in files(texts)]
    assert load(bare, cache=cache) == first


def test_files_that_were_not_handed_in_are_asked_for_and_block_until_they_are() -> None:
    texts = {
        "fleet.yaml": FLEET,
        "clusters/a/x.yaml": config(local="files/a.conf"),
        "clusters/a/files/a.conf": "x",
        "README.md": "not wanted",
    }
    whole = {file.path: file for file in files(texts)}
    given: set[str] = set()
    rounds = []
    while True:
        state = load(
            [
                SourceFile(path, file.blob, file.mode, file.data if path in given else None)
                for path, file in whole.items()
            ],
            cache={},
        )
        if not state.unread:
            break
        assert state.fleet_blocked
        assert state.clusters == ()
        rounds.append(state.unread)
        given.update(state.unread)
    assert rounds == [("clusters/a/x.yaml", "fleet.yaml"), ("clusters/a/files/a.conf",)]
    assert state == desired(texts)


def test_a_cluster_is_checked_again_exactly_when_something_of_it_has_changed() -> None:
    fleet = FLEET + "  shared: [{path: shared/base, clusters: {names: [a]}}]\n"
    texts: dict[str, str | bytes] = {
        "fleet.yaml": fleet,
        "shared/base/x.yaml": config(local="files/x"),
        "shared/base/files/x": "one",
        "clusters/a/y.yaml": config("60-worker-b"),
        "clusters/b/y.yaml": config("60-worker-b"),
    }
    cache: dict[str, ManifestFile] = {}
    checked: dict[str, Checked] = {}

    def changed(**edits: str) -> list[str]:
        texts.update(
            {path.replace("__", "/").replace("_yaml", ".yaml"): text for path, text in edits.items()}
        )
        before = dict(checked)
        state = load(files(texts), cache=cache, checked_cache=checked)
        assert state == desired(texts)
        return [name for name, one in checked.items() if one is not before.get(name)]

    assert changed() == ["a", "b"]
    assert changed() == []
    assert changed(shared__base__files__x="two") == ["a"]
    assert changed(clusters__b__y_yaml="# lines move\n" + config("60-worker-b")) == ["b"]
    assert changed(README="x") == []
    assert changed(fleet_yaml=fleet + "  prune: {enabled: true}\n") == ["a", "b"]
    del texts["clusters/b/y.yaml"]
    assert changed() == []
    assert list(checked) == ["a"]
