from __future__ import annotations

import copy
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitops_mc.core.ignition import decode_source, read, resolve_contents
from gitops_mc.core.model import JsonObject
from tests.core.machine_configs import machine_config

GOLDEN = json.loads((Path(__file__).parents[1] / "data/ignition/contents.json").read_text())
FILES = {
    "files/chrony.conf": b"server 10.0.0.1 iburst\n",
    "empty": b"",
    "binary": bytes(range(256)),
    "unit.service": "[Unit]\nDescription=größe\n".encode(),
    "x.gz": gzip.compress(b"packed", mtime=0),
}


def of_file(**contents: Any) -> JsonObject:
    return machine_config(files=[{"path": "/etc/x", "mode": 0o644, "contents": contents}])


def of_unit(**fields: Any) -> JsonObject:
    return machine_config(units=[{"name": "a.service", **fields}])


@pytest.mark.parametrize("case", GOLDEN, ids=[case["what"] for case in GOLDEN])
def test_what_is_sent_for_a_manifest_is_frozen(case: JsonObject) -> None:
    resolved, findings = resolve_contents(
        case["written"], {k: v.encode() for k, v in case["files"].items()}.get
    )
    assert findings == ()
    assert resolved == case["sent"]


@pytest.mark.parametrize("body", [{}, {"spec": None}, {"spec": {"config": None}}, {"spec": {"config": {"storage": [1]}}},
                                  {"spec": {"config": {"storage": {"files": ["x", {"path": "/x", "contents": 3}]}}}}])  # fmt: skip
def test_a_body_without_our_words_is_left_as_it_is(body: JsonObject) -> None:
    assert resolve_contents(body, FILES.get) == (body, ())


def test_the_body_given_is_not_changed() -> None:
    body = machine_config(
        files=[{"path": "/etc/x", "contents": {"inline": "x"}}],
        units=[
            {
                "name": "u",
                "contents_local": "unit.service",
                "dropins": [{"name": "d", "contents_local": "empty"}],
            }
        ],
    )
    before = copy.deepcopy(body)
    resolved, findings = resolve_contents(body, FILES.get)
    assert findings == ()
    assert body == before
    assert resolved != before
    assert resolve_contents(resolved, FILES.get) == (resolved, ())


@settings(max_examples=200, derandomize=True, deadline=None)
@given(st.text(max_size=200))
def test_inline_text_arrives_on_the_node_as_utf8(text: str) -> None:
    resolved, findings = resolve_contents(of_file(inline=text), FILES.get)
    assert findings == ()
    (found,) = read(resolved).files
    assert decode_source(found.source, found.compression) == text.encode("utf-8", "surrogatepass")
    assert found.raw["contents"].keys() == {"source"}


@pytest.mark.parametrize("name", FILES)
def test_a_local_file_arrives_byte_for_byte(name: str) -> None:
    resolved, findings = resolve_contents(of_file(local=name), FILES.get)
    assert findings == ()
    assert decode_source(read(resolved).files[0].source) == FILES[name]


def test_gzip_says_that_the_local_file_is_compressed_already() -> None:
    resolved, findings = resolve_contents(of_file(local="x.gz", compression="gzip"), FILES.get)
    assert findings == ()
    (found,) = read(resolved).files
    assert found.compression == "gzip"
    assert decode_source(found.source, found.compression) == b"packed"


STORAGE = ("spec", "config", "storage", "files", 0)
UNITS = ("spec", "config", "systemd", "units", 0)


@pytest.mark.parametrize(
    ("body", "rule", "path", "says"),
    [
        (of_file(inline="a", local="empty"), "ignition-contents", (*STORAGE, "contents", "local"), "inline and local stand side by side"),
        (of_file(inline="a", source="data:,a"), "ignition-contents", (*STORAGE, "contents", "source"), "inline and source"),
        (of_file(local="empty", source=None), "ignition-contents", (*STORAGE, "contents", "source"), "local and source"),
        (of_file(inline=None), "ignition-contents", (*STORAGE, "contents", "inline"), "inline is empty, not a string"),
        (of_file(inline=5), "ignition-contents", (*STORAGE, "contents", "inline"), "inline is a number"),
        (of_file(inline=True), "ignition-contents", (*STORAGE, "contents", "inline"), "inline is a boolean"),
        (of_file(inline={"a": 1}), "ignition-contents", (*STORAGE, "contents", "inline"), "inline is an object"),
        (of_file(local="absent"), "ignition-local-file", (*STORAGE, "contents", "local"), "there is no file absent that may be read"),
        (of_file(local=""), "ignition-local-file", (*STORAGE, "contents", "local"), "local is no file name"),
        (of_file(local=["empty"]), "ignition-local-file", (*STORAGE, "contents", "local"), "local is no file name"),
        (of_file(inline="a", compression="gzip"), "ignition-compression", (*STORAGE, "contents", "compression"), "not valid gzip"),
        (of_file(local="binary", compression="gzip"), "ignition-compression", (*STORAGE, "contents", "compression"), "not valid gzip"),
        (of_file(local="empty", compression="gzip"), "ignition-compression", (*STORAGE, "contents", "compression"), "not valid gzip"),
        (of_file(inline="a", compression="xz"), "ignition-compression", (*STORAGE, "contents", "compression"), "neither gzip nor empty"),
        (of_unit(contents="a", contents_local="empty"), "ignition-contents", (*UNITS, "contents_local"), "contents and contents_local"),
        (of_unit(contents_local="absent"), "ignition-local-file", (*UNITS, "contents_local"), "no file absent"),
        (of_unit(contents_local="binary"), "ignition-local-file", (*UNITS, "contents_local"), "not UTF-8 text"),
        (of_unit(dropins=[{}, {"contents_local": "absent"}]), "ignition-local-file", (*UNITS, "dropins", 1, "contents_local"), "no file absent"),
    ],
)  # fmt: skip
def test_what_cannot_be_resolved_is_a_finding_with_its_place_and_stays_as_written(
    body: JsonObject, rule: str, path: tuple[str | int, ...], says: str
) -> None:
    resolved, findings = resolve_contents(body, FILES.get)
    assert resolved == body
    (finding,) = findings
    assert (finding.rule, finding.path) == (rule, path)
    assert says in finding.message
    assert finding.hint


def test_all_findings_come_at_once_and_the_rest_is_resolved() -> None:
    body = machine_config(
        files=[
            {"path": "/a", "contents": {"local": "absent"}},
            {"path": "/b", "contents": {"inline": "b"}},
            {"path": "/c", "contents": {"inline": 3}},
        ]
    )
    resolved, findings = resolve_contents(body, FILES.get)
    assert [finding.path[4] for finding in findings] == [0, 2]
    assert [file.source is None for file in read(resolved).files] == [True, False, True]


@pytest.mark.parametrize(
    ("written", "hint"),
    [
        ("0644", "write `mode: 0644` without quotes (420)"),
        ("644", "write `mode: 0644` without quotes (420)"),
        ("0o755", "write `mode: 0755` without quotes (493)"),
        (" 600 ", "write `mode: 0600` without quotes (384)"),
        ("0", "write `mode: 00` without quotes (0)"),
        ("rw-r--r--", "write `mode: 0644`"),
        ("0888", "write `mode: 0644`"),
        ("", "write `mode: 0644`"),
    ],
)
def test_a_mode_in_quotes_is_a_finding_that_names_the_number(written: str, hint: str) -> None:
    body = machine_config(files=[{"path": "/a"}, {"path": "/b", "mode": written}])
    resolved, (finding,) = resolve_contents(body, FILES.get)
    assert resolved == body
    assert (finding.rule, finding.path) == (
        "ignition-mode",
        ("spec", "config", "storage", "files", 1, "mode"),
    )
    assert finding.hint == hint


def test_a_mode_that_is_a_number_is_none_of_our_business_here() -> None:
    assert resolve_contents(machine_config(files=[{"path": "/a", "mode": 420}]), FILES.get)[1] == ()


def test_a_finding_never_quotes_content() -> None:
    secret = {"s": b"hunter2\xff", "z": b"hunter2"}
    for body in (
        of_unit(contents_local="s"),
        of_file(local="z", compression="gzip"),
        of_file(inline=["hunter2"]),
    ):
        assert "hunter2" not in str(resolve_contents(body, secret.get)[1])
