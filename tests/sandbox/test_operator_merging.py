from __future__ import annotations

import base64
import gzip
from typing import Any

import pytest

from gitops_mc.core.model import name_of
from gitops_mc.sandbox.operator.merging import MergeOrder, merge_specs, ordered
from gitops_mc.sandbox.operator.rendering import RenderError, render, selected
from gitops_mc.sandbox.payload import PayloadError, decode_contents
from tests.sandbox.platform_world import config, custom_pool

POOL = {"metadata": {"name": "worker", "uid": "u"}, "spec": {}}


def merged(*specs: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = merge_specs(specs)["config"]
    return found


def files_of(*files: dict[str, Any]) -> dict[str, Any]:
    return {"config": {"storage": {"files": list(files)}}}


def test_a_later_file_overrides_field_by_field_and_keeps_the_place_of_the_first() -> None:
    found = merged(
        files_of({"path": "/a", "mode": 420, "contents": {"source": "data:,1"}}, {"path": "/b", "mode": 384}),
        files_of({"path": "/c"}, {"path": "/a", "contents": {"source": "data:,2"}}),
    )["storage"]["files"]
    assert found == [
        {"path": "/a", "mode": 420, "contents": {"source": "data:,2"}, "overwrite": True},
        {"path": "/b", "mode": 384, "overwrite": True},
        {"path": "/c", "overwrite": True},
    ]


def test_a_later_source_without_compression_clears_the_earlier_compression() -> None:
    found = merged(
        files_of({"path": "/a", "contents": {"source": "data:,1", "compression": "gzip"}}),
        files_of({"path": "/a", "contents": {"source": "data:,2"}}),
    )
    assert found["storage"]["files"][0]["contents"] == {"source": "data:,2"}


def test_a_later_entry_without_contents_leaves_source_and_compression() -> None:
    first = {"path": "/a", "contents": {"source": "data:,1", "compression": "gzip"}}
    found = merged(files_of(first), files_of({"path": "/a", "mode": 256}))["storage"]["files"][0]
    assert found["contents"] == first["contents"]
    assert found["mode"] == 256


def test_overwrite_that_was_set_to_false_stays() -> None:
    assert merged(files_of({"path": "/a", "overwrite": False}))["storage"]["files"][0]["overwrite"] is False


def test_units_and_their_dropins_merge_by_name() -> None:
    found = merged(
        {
            "config": {
                "systemd": {
                    "units": [{"name": "u", "enabled": True, "dropins": [{"name": "d1", "contents": "1"}]}]
                }
            }
        },
        {
            "config": {
                "systemd": {
                    "units": [{"name": "u", "dropins": [{"name": "d2"}, {"name": "d1", "contents": "2"}]}]
                }
            }
        },
    )["systemd"]["units"]
    assert found == [
        {"name": "u", "enabled": True, "dropins": [{"name": "d1", "contents": "2"}, {"name": "d2"}]}
    ]


def test_ssh_keys_of_a_user_are_a_union_and_kernel_arguments_are_concatenated() -> None:
    found = merge_specs(
        [
            config("a", keys=("k1", "k2"), arguments=("x=1",))["spec"],
            config("b", keys=("k2", "k3"), arguments=("x=1", "y"))["spec"],
        ]
    )
    assert found["config"]["passwd"]["users"] == [{"name": "boot", "sshAuthorizedKeys": ["k1", "k2", "k3"]}]
    assert found["kernelArguments"] == ["x=1", "x=1", "y"]


@pytest.mark.parametrize(
    ("order", "names"),
    [
        (MergeOrder.ALPHABETICAL, ["00-worker", "10-infra-a", "50-worker-b"]),
        (MergeOrder.ROLE_FIRST, ["00-worker", "50-worker-b", "10-infra-a"]),
    ],
)
def test_the_two_orders_differ_where_a_custom_role_sorts_before_worker(
    order: MergeOrder, names: list[str]
) -> None:
    configs = [config("50-worker-b"), config("10-infra-a", "infra"), config("00-worker")]
    assert [name_of(c) for c in ordered(configs, order)] == names


def test_the_same_content_renders_to_the_same_name_and_another_encoding_to_another() -> None:
    def name(text: str) -> str:
        return name_of(render(POOL, [config("a", files={"/a": text})], MergeOrder.ALPHABETICAL))

    assert name("x") == name("x")
    assert name("x") != name("%78")
    assert name("x").startswith("rendered-worker-")


BAD_CONFIGS = {
    "another Ignition version": (config("bad", ignition={"version": "3.2.0"}), "unsupported version '3.2.0'"),
    "a version that is a number": (config("bad", ignition={"version": 3.4}), "version is a number"),
    "directories": (config("bad", storage={"directories": [{"path": "/d"}]}), "storage.directories"),
    "another user": (config("bad", passwd={"users": [{"name": "root"}]}), "passwd user root"),
    "a group": (config("bad", passwd={"groups": [{"name": "g"}]}), "passwd.groups"),
    "append": (config("bad", storage={"files": [{"path": "/a", "append": [{}]}]}), "append"),
    "a mode above 0777": (
        config("bad", storage={"files": [{"path": "/a", "mode": 0o1777}]}),
        "mode above 0777",
    ),
    "broken base64": (
        config("bad", storage={"files": [{"path": "/a", "contents": {"source": "data:;base64,@@"}}]}),
        "malformed base64",
    ),
    "a remote source": (
        config("bad", storage={"files": [{"path": "/a", "contents": {"source": "https://x"}}]}),
        "only data URLs",
    ),
    "more than 1.5 MiB": (config("bad", files={"/a": "x" * 1_572_864}), "the limit is 1572864"),
}


@pytest.mark.parametrize("reason", BAD_CONFIGS)
def test_one_bad_config_breaks_the_render_and_is_named(reason: str) -> None:
    bad, message = BAD_CONFIGS[reason]
    with pytest.raises(RenderError, match=message) as caught:
        render(POOL, [config("00-worker"), bad], MergeOrder.ALPHABETICAL)
    assert "bad" in str(caught.value) or "pool worker" in str(caught.value)


def test_a_rendered_config_is_never_selected_again() -> None:
    pool = custom_pool("infra")
    rendered = config("rendered-worker-1")
    assert [
        name_of(c) for c in selected(pool, [rendered, config("50-infra", "infra"), config("x", "other")])
    ] == ["50-infra"]


@pytest.mark.parametrize(
    ("contents", "expected"),
    [
        ({}, b""),
        ({"source": "data:,a%20b"}, b"a b"),
        ({"source": "data:text/plain;base64,YWI="}, b"ab"),
        ({"source": "data:;base64,-_8="}, b"\xfb\xff"),
        (
            {
                "source": "data:;base64," + base64.b64encode(gzip.compress(b"z")).decode(),
                "compression": "gzip",
            },
            b"z",
        ),
    ],
)
def test_contents_are_decoded(contents: dict[str, str], expected: bytes) -> None:
    assert decode_contents(contents) == expected


@pytest.mark.parametrize(
    "contents",
    [
        {"source": "data:no-comma"},
        {"source": "data:,x", "compression": "gzip"},
        {"source": "data:,x", "compression": "xz"},
    ],
)
def test_contents_that_cannot_be_decoded_are_refused(contents: dict[str, str]) -> None:
    with pytest.raises(PayloadError):
        decode_contents(contents)
