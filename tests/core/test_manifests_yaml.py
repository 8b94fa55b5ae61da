"""YAML means here what it means to kubectl.

yaml-scalars.json was measured with kubectl 1.37, yaml-numbers.json and yaml-documents.json with kubectl 1.32
(`kubectl annotate --local -o json`); `objects: null` is a file that kubectl refused.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from gitops_mc.core.manifests.documents import read_documents
from gitops_mc.core.manifests.flaws import Flaw
from gitops_mc.core.manifests.positions import positions_of
from gitops_mc.core.model import Severity

DATA = Path(__file__).parent.parent / "data"
SCALARS: list[dict[str, Any]] = json.loads((DATA / "yaml-scalars.json").read_text())
NUMBERS: list[list[Any]] = json.loads((DATA / "yaml-numbers.json").read_text())
DOCUMENTS: list[dict[str, Any]] = json.loads((DATA / "yaml-documents.json").read_text())

STRICTER = {"document end and a second document": "kubectl drops the second document without a word"}
"""What kubectl accepts and we refuse."""


def values(text: str | bytes) -> list[Any]:
    data = text.encode() if isinstance(text, str) else text
    return [document.value for document in read_documents(data).documents]


def flaws(text: str | bytes) -> tuple[Flaw, ...]:
    return read_documents(text.encode() if isinstance(text, str) else text).flaws


def one_flaw(text: str | bytes) -> Flaw:
    (found,) = flaws(text)
    return found


def same(ours: Any, theirs: Any) -> bool:
    """Equal, and of one JSON type. Floats beyond 64 bit integers come out of kubectl in Go's spelling."""
    if isinstance(ours, float) and isinstance(theirs, int | float):
        return float(theirs) == ours
    return type(ours) is type(theirs) and bool(ours == theirs)


@pytest.mark.parametrize("case", SCALARS, ids=lambda case: case["yaml"])
def test_a_scalar_becomes_the_json_that_kubectl_sends(case: dict[str, Any]) -> None:
    (document,) = values(f"a: {case['yaml']}\n")
    assert same(document["a"], case["json"])


def test_everything_that_looks_like_a_number_is_read_as_kubectl_reads_it() -> None:
    (document,) = values("".join(f"- {text}\n" for text, _ in NUMBERS))
    different = [
        (text, ours, theirs)
        for ours, (text, theirs) in zip(document, NUMBERS, strict=True)
        if not same(ours, theirs)
    ]
    assert different == []


@pytest.mark.parametrize("case", DOCUMENTS, ids=lambda case: case["case"])
def test_a_file_is_read_as_kubectl_reads_it_or_refused_as_kubectl_refuses_it(case: dict[str, Any]) -> None:
    read = read_documents(case["yaml"].encode())
    refused = [flaw for flaw in read.flaws if flaw.severity is Severity.ERROR]
    if case["objects"] is None:
        assert refused or not all(isinstance(document.value, dict) for document in read.documents)
    elif case["case"] in STRICTER:
        assert refused
    else:
        assert not refused
        assert [document.value for document in read.documents] == case["objects"]


@pytest.mark.parametrize("text", ["é", "a", "gA==", "a GVsbG8"])
def test_binary_that_is_no_text_is_a_flaw(text: str) -> None:
    assert one_flaw(f"a: !!binary {text}\n").rule == "yaml-scalar"


def test_utf_16_with_a_byte_order_mark_is_read() -> None:
    text = "a: 1\n---\nb: é\n"
    assert values(text.encode("utf-16")) == [{"a": 1}, {"b": "é"}]
    assert values(b"\xfe\xff" + text.encode("utf-16-be")) == [{"a": 1}, {"b": "é"}]


def test_a_duplicate_key_names_both_places() -> None:
    flaw = one_flaw("spec:\n  a: 1\n  b: 2\n  a: 3\n")
    assert (flaw.line, flaw.column, flaw.rule, flaw.path) == (4, 3, "yaml-duplicate-key", ("spec", "a"))
    assert "line 4" in flaw.message
    assert "line 2, column 3" in flaw.message


def test_a_duplicate_key_in_a_later_document_counts_lines_from_the_top_of_the_file() -> None:
    flaw = one_flaw("# one\na: 1\n---\nb:\n- {c: 1, c: 2}\n")
    assert (flaw.line, flaw.column, flaw.path) == (5, 10, ("b", 0, "c"))
    assert "line 5, column 4" in flaw.message


def test_a_key_that_a_merge_brought_is_no_duplicate() -> None:
    assert flaws("b: &b {x: 1}\nv:\n  <<: *b\n  x: 2\n") == ()


def test_a_merge_that_replaces_an_earlier_key_is_told() -> None:
    flaw = one_flaw("b: &b {x: 1}\nv:\n  x: 2\n  <<: *b\n")
    assert (flaw.line, flaw.rule, flaw.severity) == (4, "yaml-merge", Severity.WARNING)


@pytest.mark.parametrize("key", ["yes", "1", "1.5", "~", "null", "on", "0644", "[1]", "{a: 1}", "!!int 1"])
def test_a_key_that_is_no_string_is_a_flaw_with_its_place(key: str) -> None:
    flaw = one_flaw(f"a: 1\nb: {{? {key} : 2}}\n")
    assert (flaw.line, flaw.rule) == (2, "yaml-key")


def test_all_flaws_of_a_document_are_told_at_once() -> None:
    found = flaws("a: .inf\nyes: 1\nc: !thing x\nd: *none\ne: 1\ne: 2\n")
    assert [(flaw.line, flaw.rule) for flaw in found] == [
        (1, "yaml-scalar"),
        (2, "yaml-key"),
        (3, "yaml-scalar"),
        (4, "yaml-alias"),
        (6, "yaml-duplicate-key"),
    ]


def test_a_document_with_a_syntax_error_hides_no_other_document() -> None:
    read = read_documents(b"a: 1\n---\nb: [1\n---\nc: 1\nc: 2\n---\nd: 4\n")
    assert [document.value for document in read.documents] == [{"a": 1}, {"c": 2}, {"d": 4}]
    assert [(flaw.line, flaw.rule) for flaw in read.flaws] == [(4, "yaml-syntax"), (6, "yaml-duplicate-key")]


def test_a_tab_in_the_indentation_is_called_a_tab() -> None:
    flaw = one_flaw("a:\n\tb: 1\n")
    assert (flaw.line, flaw.column, flaw.rule) == (2, 1, "yaml-tab")
    flaw = one_flaw("---\na:\n  - b: 1\n  \tc: 1\n")
    assert (flaw.line, flaw.column, flaw.rule) == (4, 3, "yaml-tab")


def test_bytes_that_are_not_utf_8_are_told_with_their_place_and_the_rest_is_read() -> None:
    read = read_documents(b"a: 1\nb: caf\xe9\n---\nc: 1\nc: 1\n")
    assert [(f.line, f.column, f.rule) for f in read.flaws] == [
        (2, 7, "yaml-encoding"),
        (5, 1, "yaml-duplicate-key"),
    ]


def test_a_control_character_is_told_with_its_place() -> None:
    flaw = one_flaw('a: 1\nb: "\x07"\n')
    assert (flaw.line, flaw.column, flaw.rule) == (2, 5, "yaml-encoding")


def bomb(levels: int) -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, levels)]
    return "\n".join(lines) + "\n"


def test_an_alias_bomb_is_refused_by_what_it_stands_for() -> None:
    assert flaws(bomb(3)) == ()
    flaw = one_flaw(bomb(9))
    assert flaw.rule == "yaml-limit"
    assert "aliases" in flaw.message


def test_an_alias_bomb_of_merge_keys_is_refused() -> None:
    lines = ["a0: &a0 {" + ", ".join(f"k{n}: 1" for n in range(100)) + "}"]
    lines += [f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 50)}]}}" for n in range(1, 40)]
    assert any(flaw.rule == "yaml-limit" for flaw in flaws("\n".join(lines)))


def test_nesting_is_limited_and_never_overruns_the_stack() -> None:
    assert flaws("a: " + "[" * 90 + "]" * 90) == ()
    for text in ("[" * 101 + "]" * 101, "[" * 50_000, "{a: " * 900, "- " * 5_000 + "x", "? " * 5_000 + "x"):
        assert one_flaw(text).rule in {"yaml-limit", "yaml-syntax"}


def test_the_size_of_a_file_and_the_number_of_documents_are_limited() -> None:
    assert one_flaw(b"#" * (16 * 1024 * 1024 + 1)).rule == "yaml-limit"
    assert flaws("a: 1\n---\n" * 9_000) == ()
    assert flaws("---\n" * 10_001)[-1].rule == "yaml-limit"


def test_an_alias_stands_for_the_same_value() -> None:
    (document,) = values("a: &x {b: [1, 2]}\nc: *x\n")
    assert document["a"] is document["c"]


def test_every_field_has_the_place_of_its_key_and_every_item_its_own() -> None:
    (document,) = read_documents(b"---\na:\n  - b: 1\n    c: {d: 2}\n  - x\n").documents
    assert dict(positions_of(document.chunk)) == {
        (): (2, 1),
        ("a",): (2, 1),
        ("a", 0): (3, 5),
        ("a", 0, "b"): (3, 5),
        ("a", 0, "c"): (4, 5),
        ("a", 0, "c", "d"): (4, 9),
        ("a", 1): (5, 5),
    }


JSON_TREES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.text(max_size=12).filter(lambda text: text.isprintable()),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.text(st.characters(codec="ascii", exclude_categories=["C"]), max_size=6), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(JSON_TREES)
def test_json_is_yaml_and_comes_out_as_it_went_in(tree: Any) -> None:
    expected = [] if tree is None else [tree]
    read = read_documents(json.dumps(tree, ensure_ascii=False).encode())
    assert read.flaws == ()
    assert [document.value for document in read.documents] == expected


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.text(st.sampled_from("ab:-[]{},&*!|>#'\"%@`?<~ \n\t01é\x00\ud7ff."), max_size=40))
def test_any_text_gives_documents_or_flaws_with_places_inside_the_file(text: str) -> None:
    read = read_documents(text.encode())
    lines = text.count("\n") + 1
    for flaw in read.flaws:
        assert 1 <= flaw.line <= lines + 1
        assert flaw.column >= 1
    for document in read.documents:
        json.dumps(document.value, allow_nan=False)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.binary(max_size=60))
def test_any_bytes_are_read_without_an_exception(data: bytes) -> None:
    read_documents(data)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(JSON_TREES)
def test_every_position_is_that_of_a_node_of_the_document(tree: Any) -> None:
    text = yaml.safe_dump({"root": tree}, allow_unicode=True).encode()
    (document,) = read_documents(text).documents
    positions = positions_of(document.chunk)
    assert set(positions) == {(), *paths(document.value, ())}


def paths(value: Any, path: tuple[str | int, ...]) -> list[tuple[str | int, ...]]:
    match value:
        case dict():
            children = [((*path, key), item) for key, item in value.items()]
        case list():
            children = [((*path, number), item) for number, item in enumerate(value)]
        case _:
            return []
    return [found for child, item in children for found in (child, *paths(item, child))]


@pytest.mark.parametrize("end", ["\r", "\x85", "\u2028", "\u2029"])
def test_a_line_end_that_editors_do_not_show_is_one(end: str) -> None:
    text = f"a: 1{end}{end}{end}b: ! 0644{end}c: one{end}  two"
    read = read_documents(text.encode())
    assert read.flaws == ()
    assert read.documents[0].value["b"] == "0644"
    assert read.documents[0].value["c"].split() == ["one", "two"]
