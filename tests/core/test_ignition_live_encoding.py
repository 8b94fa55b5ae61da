from __future__ import annotations

import base64
import copy
import gzip
from urllib.parse import quote_from_bytes

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitops_mc.core.ignition import compare, effective_of, encode_source, keep_live_encoding
from gitops_mc.core.model import JsonObject
from tests.core.machine_configs import file, machine_config

DATA = b"server 10.0.0.1 iburst\n"
OURS = encode_source(DATA)
SPELLINGS = {
    "percent": {"source": "data:," + quote_from_bytes(DATA)},
    "media type": {"source": "data:text/plain;charset=utf-8;base64," + base64.b64encode(DATA).decode()},
    "url-safe": {"source": "data:;base64," + base64.urlsafe_b64encode(DATA).decode().rstrip("=")},
    "gzip": {"source": encode_source(gzip.compress(DATA, mtime=0)), "compression": "gzip"},
    "empty compression": {"source": OURS, "compression": ""},
}


def spec(body: JsonObject) -> JsonObject:
    found: JsonObject = body["spec"]
    return found


@pytest.mark.parametrize("contents", SPELLINGS.values(), ids=SPELLINGS.keys())
def test_contents_that_are_equal_decoded_keep_the_live_spelling(contents: JsonObject) -> None:
    live = machine_config(files=[{"path": "/x", "mode": 420, "contents": contents}, file("/y", "data:,y")])
    desired = machine_config(files=[file("/x", OURS, mode=420), file("/y", encode_source(b"y"))])
    assert spec(keep_live_encoding(desired, live)) == spec(live)


def test_what_the_operator_adds_and_null_fields_are_kept_as_they_are_live() -> None:
    live = machine_config(
        files=[file("/x", "data:,x", overwrite=True, user={"id": None})],
        units=[{"name": "u", "enabled": True, "contents": None, "dropins": []}],
    )
    desired = machine_config(files=[file("/x", encode_source(b"x"))], units=[{"name": "u", "enabled": True}])
    assert spec(keep_live_encoding(desired, live)) == spec(live)


def test_the_order_of_files_and_units_follows_the_live_one_and_new_ones_come_last() -> None:
    live = machine_config(files=[file("/b"), file("/a"), file("/gone")], units=[{"name": "v"}, {"name": "u"}])
    desired = machine_config(
        files=[file("/new"), file("/a"), file("/b")], units=[{"name": "u"}, {"name": "v"}]
    )
    kept = spec(keep_live_encoding(desired, live))["config"]
    assert [item["path"] for item in kept["storage"]["files"]] == ["/b", "/a", "/new"]
    assert [item["name"] for item in kept["systemd"]["units"]] == ["v", "u"]


def test_another_mode_takes_effect_and_the_contents_keep_their_spelling() -> None:
    live = machine_config(files=[file("/x", "data:,x", mode=0o600)])
    desired = machine_config(files=[file("/x", encode_source(b"x"), mode=0o644)])
    (kept,) = spec(keep_live_encoding(desired, live))["config"]["storage"]["files"]
    assert kept == file("/x", "data:,x", mode=0o644)


@pytest.mark.parametrize(
    ("live", "desired"),
    [
        (file("/x", "data:,a"), file("/x", encode_source(b"b"))),
        (file("/x", "data:,a", compression="gzip"), file("/x", encode_source(b"a"))),
        (file("/x", "data:;base64,!!"), file("/x", OURS)),
        (file("/x"), file("/x", "data:,")),
        (file("/x", "data:,"), file("/x", mode=1)),
        (file("/y", "data:,a"), file("/x", encode_source(b"a"))),
    ],
)
def test_what_differs_is_sent_as_desired(live: JsonObject, desired: JsonObject) -> None:
    kept = keep_live_encoding(machine_config(files=[desired]), machine_config(files=[live]))
    assert spec(kept)["config"]["storage"]["files"] == [desired]


def test_equal_contents_bring_no_compression_that_is_not_live() -> None:
    live = machine_config(files=[file("/x", "data:,x", mode=1)])
    desired = machine_config(files=[file("/x", encode_source(b"x"), compression="", mode=2)])
    assert spec(keep_live_encoding(desired, live))["config"]["storage"]["files"] == [
        file("/x", "data:,x", mode=2)
    ]


def test_one_unit_that_differs_does_not_keep_another_from_its_live_spelling() -> None:
    live = machine_config(
        units=[{"name": "u", "enabled": True}, {"name": "v", "enabled": True, "mask": None}]
    )
    desired = machine_config(units=[{"name": "u", "enabled": False}, {"name": "v", "enabled": True}])
    assert spec(keep_live_encoding(desired, live))["config"]["systemd"]["units"] == [
        {"name": "u", "enabled": False},
        {"name": "v", "enabled": True, "mask": None},
    ]


@pytest.mark.parametrize(
    "desired",
    [{}, {"spec": None}, {"spec": {}}, {"spec": {"config": {"storage": {"links": []}, "systemd": None}}}],
)
def test_a_desired_object_that_says_nothing_is_left_alone(desired: JsonObject) -> None:
    live = machine_config(files=[file("/x", OURS)], units=[{"name": "u"}])
    assert keep_live_encoding(desired, live) == desired


def test_a_unit_with_another_drop_in_is_sent_as_desired() -> None:
    live = machine_config(
        units=[{"name": "u", "enabled": True, "mask": None, "dropins": [{"name": "d", "contents": "1"}]}]
    )
    desired = machine_config(
        units=[{"name": "u", "enabled": True, "dropins": [{"name": "e", "contents": "1"}]}]
    )
    assert keep_live_encoding(desired, live) == desired


def test_kernel_arguments_keys_and_metadata_are_always_the_desired_ones() -> None:
    live = machine_config("50", kernel_arguments=["b", "a"], ssh_keys={"boot": ["k2", "k1"]})
    desired = machine_config("50", "infra", kernel_arguments=["a", "b"], ssh_keys={"boot": ["k1", "k2"]})
    assert keep_live_encoding(desired, live) == desired


@pytest.mark.parametrize("live", [{}, {"spec": None}, {"spec": {"config": {"storage": {"files": ["x"]}}}}])
def test_a_live_object_that_says_nothing_changes_nothing(live: JsonObject) -> None:
    desired = machine_config(files=[file("/x", OURS)], units=[{"name": "u"}])
    assert keep_live_encoding(desired, live) == desired


@pytest.mark.parametrize("files", ["x", [1], [{"mode": 1}], [file("/x"), file("/x", mode=1)]])
def test_a_desired_list_that_is_no_list_of_distinct_files_is_left_alone(files: object) -> None:
    desired = machine_config()
    desired["spec"]["config"]["storage"] = {"files": files}
    assert keep_live_encoding(desired, machine_config(files=[file("/x", overwrite=True)])) == desired


def test_neither_body_is_changed() -> None:
    live = machine_config(files=[file("/b", "data:,b"), file("/a", "data:,a", mode=1)])
    desired = machine_config(files=[file("/a", encode_source(b"a")), file("/b", encode_source(b"b"))])
    before = copy.deepcopy((desired, live))
    keep_live_encoding(desired, live)
    assert (desired, live) == before


texts = st.sampled_from([b"1", b"2", b""])
spelled = st.builds(
    lambda path, data, form, mode: {
        "path": path,
        "mode": mode,
        "contents": [
            {"source": encode_source(data)},
            {"source": "data:," + data.decode()},
            {"source": encode_source(gzip.compress(data, mtime=0)), "compression": "gzip"},
        ][form],
    },
    st.sampled_from(["/a", "/b", "/c"]),
    texts,
    st.integers(0, 2),
    st.sampled_from([1, 2]),
)
configs = st.builds(
    machine_config,
    files=st.lists(spelled, max_size=3, unique_by=lambda f: str(f["path"])),
    units=st.lists(
        st.fixed_dictionaries({"name": st.sampled_from(["u", "v"])}, optional={"enabled": st.sampled_from([True, False, None])}),
        max_size=2,
        unique_by=lambda u: str(u["name"]),
    ),
)  # fmt: skip


@settings(max_examples=300, derandomize=True, deadline=None)
@given(configs, configs)
def test_it_always_means_what_is_desired_and_equals_the_live_config_where_both_mean_the_same(
    desired: JsonObject, live: JsonObject
) -> None:
    kept = keep_live_encoding(desired, live)
    assert compare(effective_of(desired), effective_of(kept)) == ()
    assert keep_live_encoding(kept, live) == kept
    if compare(effective_of(desired), effective_of(live)) == ():
        ours, theirs = spec(kept)["config"], spec(live)["config"]
        for section in ours.keys() & theirs.keys():
            assert ours[section] == theirs[section]
