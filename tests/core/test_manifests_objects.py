"""From documents to objects of the managed kinds."""

from __future__ import annotations

from typing import Any

import pytest

from gitops_mc.core.manifests import ManifestFile, read_manifests
from gitops_mc.core.manifests.flaws import Flaw
from gitops_mc.core.model import Kind, Place, Severity

MACHINE = "machineconfiguration.alauda.io/v1alpha1"
CONFIG = f"apiVersion: {MACHINE}\nkind: MachineConfig\nmetadata:\n  name: 50-worker-a\n"


def read(text: str) -> ManifestFile:
    return read_manifests(text.encode())


def one_flaw(text: str) -> Flaw:
    (found,) = read(text).flaws
    return found


def body(text: str) -> dict[str, Any]:
    (found,) = read(text).objects
    return found.body


def test_an_object_is_read_with_its_kind_and_place() -> None:
    file = read("# a comment\n---\n" + CONFIG)
    (found,) = file.objects
    assert (file.flaws, found.kind, found.place("x.yaml")) == ((), Kind.MACHINE_CONFIG, Place("x.yaml", 3, 1))
    assert found.places("x.yaml")[("metadata", "name")] == Place("x.yaml", 6, 3)


@pytest.mark.parametrize(
    ("kind", "version"),
    [
        ("MachineConfig", MACHINE),
        ("MachineConfigPool", MACHINE),
        ("MachineConfiguration", MACHINE),
        ("ModuleInfo", "cluster.alauda.io/v1alpha1"),
    ],
)
def test_every_managed_kind_has_its_api_version(kind: str, version: str) -> None:
    assert read(f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: a}}\n").flaws == ()
    flaw = one_flaw(f"kind: {kind}\napiVersion: apps/v1\nmetadata: {{name: a}}\n")
    assert (flaw.line, flaw.rule, flaw.hint) == (2, "manifest-api-version", f"apiVersion: {version}")


def test_another_kind_is_a_flaw_with_its_line_and_never_ignored() -> None:
    flaw = one_flaw("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
    assert (flaw.line, flaw.rule, flaw.path) == (2, "manifest-kind", ("kind",))


def test_a_misspelt_kind_is_told_with_the_right_one() -> None:
    flaw = one_flaw(f"apiVersion: {MACHINE}\nkind: MachineConfigs\nmetadata: {{name: a}}\n")
    assert flaw.hint == "did you mean MachineConfig?"


def test_a_list_is_its_items_each_with_its_own_lines() -> None:
    text = (
        "apiVersion: v1\nkind: List\nitems:\n"
        f"- apiVersion: {MACHINE}\n  kind: MachineConfig\n  metadata: {{name: a}}\n"
        f"- apiVersion: {MACHINE}\n  kind: MachineConfig\n  metadata:\n    nam: b\n"
    )
    file = read(text)
    assert [found.place("x").line for found in file.objects] == [4, 7]
    assert file.objects[0].places("x")[("metadata", "name")] == Place("x", 6, 14)
    (flaw,) = file.flaws
    assert (flaw.line, flaw.path, flaw.message) == (9, ("items", 1, "metadata"), "metadata.name is missing")


def test_the_items_of_a_typed_list_may_leave_out_apiversion_and_kind() -> None:
    text = f"apiVersion: {MACHINE}\nkind: MachineConfigList\nitems:\n- metadata: {{name: a}}\n- metadata: {{name: b}}\n"
    assert [(one.kind, one.body["metadata"]["name"]) for one in read(text).objects] == [
        (Kind.MACHINE_CONFIG, "a"),
        (Kind.MACHINE_CONFIG, "b"),
    ]


def test_a_list_in_a_list_and_an_empty_one_are_read_too() -> None:
    assert read("apiVersion: v1\nkind: List\nitems:\n").objects == ()
    inner = f"{{apiVersion: {MACHINE}, kind: MachineConfigList, items: [{{metadata: {{name: a}}}}]}}"
    assert len(read(f"apiVersion: v1\nkind: List\nitems: [{inner}]\n").objects) == 1


@pytest.mark.parametrize("text", ["- a\n", "text\n", "5\n", "apiVersion: v1\nkind: List\nitems: {a: 1}\n"])
def test_what_is_no_object_is_a_flaw(text: str) -> None:
    assert one_flaw(text).rule == "manifest-object"


def test_a_file_without_a_document_is_a_warning() -> None:
    for text in ("", "# nothing\n", "---\n---\n"):
        flaw = one_flaw(text)
        assert (flaw.line, flaw.rule, flaw.severity) == (0, "file-empty", Severity.WARNING)


def test_a_pointer_of_git_lfs_is_told_as_one() -> None:
    text = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
    flaw = one_flaw(text)
    assert flaw.rule == "file-lfs-pointer"
    assert "git lfs pull" in flaw.hint


@pytest.mark.parametrize("name", ["Upper", "a_b", "-a", "a..b", "a" * 254, "ä"])
def test_a_name_that_the_server_would_refuse_is_a_flaw(name: str) -> None:
    flaw = one_flaw(f"apiVersion: {MACHINE}\nkind: MachineConfig\nmetadata:\n  name: {name}\n")
    assert (flaw.line, flaw.rule, flaw.path) == (4, "manifest-name", ("metadata", "name"))


@pytest.mark.parametrize("name", ["50", "true", "1.5"])
def test_a_name_that_yaml_takes_for_something_else_asks_for_quotes(name: str) -> None:
    flaw = one_flaw(f"apiVersion: {MACHINE}\nkind: MachineConfig\nmetadata:\n  name: {name}\n")
    assert flaw.hint == "put the name in quotes"


def test_label_values_that_are_no_strings_are_told_each() -> None:
    file = read(CONFIG + "  labels: {a: yes, b: 1.0, c: ok}\n  annotations: {d: null}\n")
    assert [(f.line, f.path) for f in file.flaws] == [
        (5, ("metadata", "labels", "a")),
        (5, ("metadata", "labels", "b")),
        (6, ("metadata", "annotations", "d")),
    ]
    assert file.objects[0].body["metadata"]["labels"] == {"c": "ok"}


def test_what_the_server_makes_is_not_sent_and_told() -> None:
    text = CONFIG + "  uid: x\n  resourceVersion: '5'\n  creationTimestamp: null\nstatus: {a: 1}\n"
    file = read(text)
    assert [(f.line, f.rule, f.severity) for f in file.flaws] == [
        (7 + 1, "manifest-server-field", Severity.WARNING),
        (6, "manifest-server-field", Severity.WARNING),
        (5, "manifest-server-field", Severity.WARNING),
    ]
    assert file.objects[0].body == {
        "apiVersion": MACHINE,
        "kind": "MachineConfig",
        "metadata": {"name": "50-worker-a"},
    }


def test_our_annotations_for_humans_stay_and_our_own_marks_are_refused() -> None:
    text = CONFIG + "  annotations: {gitops-mc.io/prune: disabled}\n"
    assert body(text)["metadata"]["annotations"] == {"gitops-mc.io/prune": "disabled"}
    for line in ("labels: {gitops-mc.io/fleet: x}", "annotations: {gitops-mc.io/applied: x}"):
        assert one_flaw(CONFIG + f"  {line}\n").rule == "manifest-reserved"


def test_a_namespace_and_an_unknown_field_are_errors() -> None:
    assert one_flaw(CONFIG + "  namespace: default\n").rule == "manifest-namespace"
    flaw = one_flaw(CONFIG + "spce: {}\n")
    assert (flaw.rule, flaw.hint) == ("manifest-field", "did you mean spec?")


def test_inline_contents_are_resolved_and_local_ones_wait_for_their_file() -> None:
    files = "spec: {config: {storage: {files: [{path: /etc/a, contents: {%s}}]}}}\n"
    (inline,) = read(CONFIG + files % "inline: hello").objects
    assert "source" in inline.body["spec"]["config"]["storage"]["files"][0]["contents"]
    assert not inline.local
    (local,) = read(CONFIG + files % "local: files/a").objects
    assert local.local
    assert local.body["spec"]["config"]["storage"]["files"][0]["contents"] == {"local": "files/a"}


def test_a_flawed_document_is_still_checked_for_everything_else() -> None:
    rules = [flaw.rule for flaw in read(CONFIG + "  uid: a\n  name: 50-worker-b\nspec: 5\n").flaws]
    assert rules == ["yaml-duplicate-key", "manifest-server-field", "manifest-field"]
