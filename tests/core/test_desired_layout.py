"""Links, submodules, strange names, and files that are in nobody's place."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitops_mc.core.desired import DesiredState
from gitops_mc.core.desired.repository import MAX_PAYLOAD_BYTES
from gitops_mc.core.ignition import decode_source
from gitops_mc.core.model import Severity
from tests.core.desired_repositories import FLEET, config, desired, module, told

LFS = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"


def contents(state: DesiredState, cluster: str = "a") -> bytes:
    """What the only file of the only MachineConfig holds."""
    found = state.cluster(cluster)
    assert found is not None
    assert told(state) == []
    source = found.manifests[0].body["spec"]["config"]["storage"]["files"][0]["contents"]["source"]
    return decode_source(source, "")


def fault(state: DesiredState) -> str:
    (found,) = [p for p in state.problems if p.rule == "ignition-local-file"]
    assert found.field == "spec.config.storage.files[0].contents.local"
    assert found.place.line == 11
    return found.message


def test_a_local_file_is_found_beside_its_manifest() -> None:
    state = desired({"clusters/a/sub/x.yaml": config(local="files/a"), "clusters/a/sub/files/a": "hello"})
    assert contents(state) == b"hello"


def test_a_local_file_may_stand_anywhere_in_the_repository() -> None:
    state = desired({"clusters/a/x.yaml": config(local="../../common/./a"), "common/a": "hello"})
    assert contents(state) == b"hello"


def test_a_unit_takes_its_text_from_a_file_under_the_same_rules() -> None:
    unit = (
        "apiVersion: machineconfiguration.alauda.io/v1alpha1\nkind: MachineConfig\n"
        "metadata: {name: 50-worker-u}\nspec:\n  config:\n    systemd:\n      units:\n"
        "        - name: u.service\n          contents_local: files/u.service\n"
    )
    state = desired({"clusters/a/x.yaml": unit, "clusters/a/files/u.service": "[Unit]\n"})
    (manifest,) = state.clusters[0].manifests
    assert manifest.body["spec"]["config"]["systemd"]["units"] == [
        {"name": "u.service", "contents": "[Unit]\n"}
    ]
    state = desired({"clusters/a/x.yaml": unit}, links={"clusters/a/files/u.service": "/etc/shadow"})
    (found,) = [p for p in state.problems if p.rule == "ignition-local-file"]
    assert found.place.line == 9
    assert found.message == "files/u.service leads outside the repository"


@pytest.mark.parametrize(
    "path", ["../../../a", "/etc/passwd", "../../../../../../etc/passwd", "files/../../../../a", "../../.."]
)
def test_a_local_file_is_never_outside_the_repository(path: str) -> None:
    state = desired({"clusters/a/x.yaml": config(local=path), "a": "x", "clusters/a/files/b": "x"})
    assert "outside the repository" in fault(state)
    assert state.clusters[0].blocked


@pytest.mark.parametrize("target", ["/etc/passwd", "../../../../x", "../../../.."])
def test_a_link_never_leads_outside_the_repository(target: str) -> None:
    texts = {"clusters/a/x.yaml": config(local="files/a"), "x": "x"}
    assert "outside the repository" in fault(desired(texts, links={"clusters/a/files/a": target}))


def test_links_of_files_and_folders_are_followed_inside_the_repository() -> None:
    state = desired(
        {"clusters/a/x.yaml": config(local="files/one/a"), "common/real/a": "hello"},
        links={"clusters/a/files": "../../common", "common/one": "two", "common/two": "./real/"},
    )
    assert contents(state) == b"hello"


def test_links_in_a_circle_and_links_to_nothing_are_told() -> None:
    texts = {"clusters/a/x.yaml": config(local="files/a")}
    assert "circle" in fault(desired(texts, links={"clusters/a/files/a": "b", "clusters/a/files/b": "a"}))
    assert "there is no file" in fault(desired(texts, links={"clusters/a/files/a": "b"}))


def test_a_local_path_that_is_a_folder_or_goes_through_a_file_is_told() -> None:
    texts = {"clusters/a/x.yaml": config(local="files"), "clusters/a/files/b": "x"}
    assert "is a folder" in fault(desired(texts))
    assert "not a folder" in fault(desired({**texts, "clusters/a/x.yaml": config(local="files/b/../b")}))


def test_a_local_file_in_a_submodule_in_lfs_or_too_large_is_told() -> None:
    texts: dict[str, str | bytes] = {"clusters/a/x.yaml": config(local="files/a")}
    assert "submodule" in fault(
        desired({"clusters/a/x.yaml": config(local="../../sub/a")}, submodules=("sub",))
    )
    assert "Git LFS" in fault(desired({**texts, "clusters/a/files/a": LFS}))
    assert "bytes" in fault(desired({**texts, "clusters/a/files/a": b"x" * (MAX_PAYLOAD_BYTES + 1)}))


def test_a_manifest_may_be_a_link_and_keeps_its_own_path() -> None:
    state = desired(
        {
            "common/x.yaml": config(local="files/a"),
            "clusters/a/files/a": "of a",
            "clusters/b/files/a": "of b",
        },
        links={"clusters/a/x.yaml": "../../common/x.yaml", "clusters/b/x.yaml": "../../common/x.yaml"},
    )
    assert contents(state, "a") == b"of a"
    assert contents(state, "b") == b"of b"
    assert state.clusters[0].manifests[0].place.file == "clusters/a/x.yaml"


@pytest.mark.parametrize("target", ["../../../x.yaml", "nothing.yaml", "../b", "x.yaml"])
def test_a_manifest_link_that_leads_to_no_file_blocks_its_cluster(target: str) -> None:
    state = desired({"clusters/b/y.yaml": config()}, links={"clusters/a/x.yaml": target})
    assert told(state) == [("clusters/a/x.yaml", "file-unreadable", "cluster a")]


def test_a_link_in_place_of_a_cluster_folder_is_told() -> None:
    state = desired({"clusters/b/y.yaml": config()}, links={"clusters/a": "b"})
    assert told(state) == [("clusters/a", "layout-link", "cluster a")]
    assert [(cluster.name, cluster.blocked) for cluster in state.clusters] == [("a", True), ("b", False)]


def test_a_submodule_blocks_whose_folder_it_is_in_and_elsewhere_concerns_nobody() -> None:
    state = desired(
        {
            "clusters/b/y.yaml": config(),
            "fleet.yaml": FLEET + "  shared: [{path: shared/s, clusters: {names: [b]}}]\n",
        },
        submodules=("clusters/a", "clusters/c/deep/x", "shared/s", "vendor/thing"),
    )
    assert told(state) == [
        ("clusters/a", "layout-submodule", "cluster a"),
        ("clusters/c/deep/x", "layout-submodule", "cluster c"),
        ("shared/s", "layout-submodule", "shared/s"),
    ]
    assert desired({"fleet.yaml": FLEET}, submodules=("clusters",)).fleet_blocked


def test_a_manifest_in_lfs_blocks_its_cluster_and_fleet_yaml_in_lfs_the_fleet() -> None:
    state = desired({"clusters/a/x.yaml": LFS, "clusters/b/x.yaml": config()})
    assert told(state) == [("clusters/a/x.yaml", "file-lfs-pointer", "cluster a")]
    assert desired({"clusters/b/x.yaml": config(), "fleet.yaml": LFS}).fleet_blocked


def test_payload_folders_are_never_read_as_manifests() -> None:
    texts = {
        "clusters/a/files/x.yaml": "a: [",
        "clusters/a/b/files/c/d.yml": "a: [",
        "clusters/a/x.yaml": config(),
    }
    assert told(desired(texts)) == []


def test_ignored_files_are_not_read_but_keep_their_cluster_a_member() -> None:
    state = desired(
        {
            "fleet.yaml": FLEET + '  ignore: ["**/kustomization.yaml", "clusters/a/old/**"]\n',
            "clusters/a/kustomization.yaml": "a: [",
            "clusters/a/old/deep/x.yaml": "a: [",
            "clusters/b/x.yaml": config(),
        }
    )
    assert told(state) == []
    assert [cluster.name for cluster in state.clusters] == ["a", "b"]


@pytest.mark.parametrize("name", ["Edge", "edge_01", "edge.01", "-edge", "e" * 64, "edge 01"])
def test_a_folder_that_is_no_cluster_name_is_told_and_left_alone(name: str) -> None:
    state = desired({f"clusters/{name}/x.yaml": config(), "clusters/b/x.yaml": config()})
    assert told(state) == [(f"clusters/{name}", "layout-cluster-name", f"cluster {name}")]
    assert [cluster.name for cluster in state.clusters] == ["b"]


def test_a_path_that_cannot_be_printed_is_told_in_escapes() -> None:
    strange = b"clusters/a/caf\xe9.yaml".decode("utf-8", "surrogateescape")
    state = desired({strange: config(), "clusters/a/new\nline.yaml": config(), "clusters/b/x.yaml": config()})
    assert told(state) == [
        (r"clusters/a/caf\xe9.yaml", "layout-path", "cluster a"),
        (r"clusters/a/new\nline.yaml", "layout-path", "cluster a"),
    ]


def test_a_strange_name_of_a_payload_file_hurts_nobody() -> None:
    strange = b"clusters/a/files/caf\xe9".decode("utf-8", "surrogateescape")
    assert told(desired({strange: "x", "clusters/a/x.yaml": config()})) == []


def test_paths_that_one_file_system_would_confuse_are_a_warning() -> None:
    state = desired({"clusters/a/X.yaml": config("50-worker-a"), "clusters/a/x.yaml": config("60-worker-b")})
    assert told(state) == [("clusters/a/x.yaml", "layout-path", "cluster a")]
    assert not state.clusters[0].blocked
    assert len(state.clusters[0].manifests) == 2


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        ("clusters/x.yaml", "layout-place"),
        ("shared/x.yml", "layout-place"),
        ("cluster/a/x.yaml", "layout-place"),
        ("Clusters/a/x.yaml", "layout-place"),
        ("clusters/a/x.json", "layout-suffix"),
        ("clusters/a/x.YAML", "layout-suffix"),
    ],
)
def test_a_file_that_looks_like_a_manifest_in_a_place_where_none_is_read_is_a_warning(
    path: str, rule: str
) -> None:
    state = desired({path: config("60-worker-b"), "clusters/a/y.yaml": config()})
    assert [(p.place.file, p.rule, p.severity) for p in state.problems if p.rule == rule] == [
        (path, rule, Severity.WARNING)
    ]
    assert not state.fleet_blocked


@pytest.mark.parametrize("path", ["fleet.yml", "Fleet.yaml", "fleet.yaml/x"])
def test_a_fleet_file_under_another_name_blocks_the_fleet_and_never_means_the_defaults(path: str) -> None:
    assert desired({path: FLEET, "clusters/a/y.yaml": config()}).fleet_blocked


def test_fleet_yaml_may_be_a_link() -> None:
    texts = {"policy/fleet.yaml": FLEET + "  prune: {enabled: true}\n", "clusters/a/y.yaml": config()}
    assert desired(texts, links={"fleet.yaml": "policy/fleet.yaml"}).policy.prune.enabled
    assert desired(texts, links={"fleet.yaml": "nowhere"}).fleet_blocked


def test_a_file_where_a_folder_should_be_blocks_the_fleet() -> None:
    assert desired({"clusters": "x"}).fleet_blocked


def test_plain_files_beside_the_clusters_are_no_clusters() -> None:
    state = desired({"clusters/README": "x", "clusters/a/y.yaml": config(), "shared/README": "x"})
    assert told(state) == []
    assert [cluster.name for cluster in state.clusters] == ["a"]


def test_an_empty_manifest_is_a_warning() -> None:
    state = desired(
        {
            "clusters/a/x.yaml": "# later\n",
            "clusters/a/m.yaml": module("x", "cpaas.io/cluster-name: a", "name: t,"),
        }
    )
    assert told(state) == [("clusters/a/x.yaml", "file-empty", "cluster a")]
    assert not state.clusters[0].blocked


PARTS = st.sampled_from(
    ["clusters", "shared", "a", "b", "files", "x.yaml", "fleet.yaml", "X.yaml", "é", "\udce9", "\n"]
)
PATHS = st.lists(PARTS, min_size=1, max_size=4).map("/".join)
TARGETS = st.lists(
    st.sampled_from(["..", ".", "", "a", "b", "files", "x.yaml", "clusters", "\x00"]), max_size=5
).map("/".join)
TEXTS = st.sampled_from(
    ["", FLEET, config(), config(local="files/a"), config(local="../b/x.yaml"), module(), "a: [", LFS]
)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    st.dictionaries(PATHS, TEXTS, max_size=6),
    st.dictionaries(PATHS, TARGETS, max_size=4),
    st.lists(PATHS, max_size=2),
)
def test_any_repository_is_read_and_whatever_is_told_can_be_printed(
    texts: dict[str, str | bytes], links: dict[str, str], submodules: list[str]
) -> None:
    state = desired(texts, links=links, submodules=tuple(submodules))
    assert state.unread == ()
    for problem in state.problems:
        for text in (str(problem.place), problem.field, problem.message, problem.hint, str(problem.scope)):
            assert text.isprintable()
    for cluster in state.clusters:
        assert all(manifest.key.cluster == cluster.name for manifest in cluster.manifests)
    assert state.fleet_blocked or any(cluster.manifests or cluster.blocked for cluster in state.clusters)
