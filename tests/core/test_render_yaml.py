"""YAML that every reader understands alike."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gitops_mc.core.manifests.documents import read_documents
from gitops_mc.core.render.yaml_text import Block, Octal, fits_block, yaml_documents

SCALARS = json.loads(Path("tests/data/yaml-scalars.json").read_text(encoding="utf-8"))

texts = st.one_of(
    st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=12),
    st.text(alphabet="yYnNoOfFeE01234567890.:-+_xob~<=[]{}#&*!|>'\"%@` \n\t", max_size=8),
    st.sampled_from(
        ["", "yes", "Off", "null", "~", "0644", "0o644", "1e3", "12:30:45", "2024-01-01", ".inf", "<<"]
    ),
)
numbers = st.one_of(
    st.integers(min_value=-(2**53), max_value=2**53), st.floats(allow_nan=False, allow_infinity=False)
)
values: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, texts),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(texts.filter(lambda t: t != "<<"), inner, max_size=4)
    ),
    max_leaves=8,
)
objects = st.dictionaries(st.sampled_from(["kind", "metadata", "spec", "status"]), values, min_size=1)


def told(value: Any) -> Any:
    """JSON knows no difference between 1 and 1.0, but one between 1 and true."""
    match value:
        case dict():
            return {key: told(inner) for key, inner in value.items()}
        case list():
            return [told(inner) for inner in value]
        case bool():
            return str(value)
        case int():
            return float(value)
        case _:
            return value


@given(st.lists(objects, min_size=1, max_size=3))
@example([{"spec": [[], {}, [[1]], {"a": [{"b": [[2, {"c": "x"}]]}]}]}])
@example([{"spec": {"a": "\x85\u2028\ufeff\x7f\x00", "b": 1e22, "c": -1e-7, "d": "a: b # c"}}])
@settings(max_examples=100, derandomize=True, deadline=None)
def test_what_is_written_is_read_back_equal_by_our_own_reader(wanted: list[dict[str, Any]]) -> None:
    read = read_documents(yaml_documents(wanted).encode())
    assert [str(flaw.message) for flaw in read.flaws] == []
    assert told([d.value for d in read.documents]) == told(wanted)


@given(st.lists(objects, min_size=1, max_size=3))
@settings(max_examples=100, derandomize=True, deadline=None)
def test_what_is_written_is_read_back_equal_by_a_reader_of_yaml_1_1(wanted: list[dict[str, Any]]) -> None:
    assert list(yaml.safe_load_all(yaml_documents(wanted))) == wanted


@pytest.mark.parametrize("vector", SCALARS, ids=lambda vector: str(vector["yaml"]))
def test_a_string_that_kubectl_would_take_for_something_else_is_quoted(vector: dict[str, Any]) -> None:
    text = yaml_documents([{"a": vector["yaml"]}])
    assert read_documents(text.encode()).documents[0].value == {"a": vector["yaml"]}
    assert isinstance(vector["json"], str) or text.startswith('---\na: "')


blocks = st.text(
    alphabet=st.sampled_from("a#:-|'\"%&*\\\u00e9\u2028\x07\ufeff\t \n\n\r"), min_size=1, max_size=20
)


@settings(max_examples=400, deadline=None)
@given(text=blocks, deeper=st.booleans())
@example(text="two\nlines", deeper=True)
@example(text="---\n...\n", deeper=False)
@example(text="a\n \n\tb \n", deeper=True)
@example(text="bell\x07", deeper=False)
def test_a_block_that_fits_says_exactly_its_text(text: str, *, deeper: bool) -> None:
    if not fits_block(text):
        return
    value: Any = {"text": Block(text), "after": "x"}
    written = yaml_documents([{"list": [value]} if deeper else value])
    (document,) = read_documents(written.encode()).documents
    inner = document.value["list"][0] if deeper else document.value
    assert inner == {"text": text, "after": "x"}
    (by_library,) = yaml.safe_load_all(written)
    assert (by_library["list"][0] if deeper else by_library) == {"text": text, "after": "x"}


@pytest.mark.parametrize("text", ["a\n", "a", "a\n\n b\n", "\u00e9: #\n"])
def test_usual_texts_fit_a_block(text: str) -> None:
    assert fits_block(text)


def test_a_mode_is_written_in_octal_and_read_as_the_same_number() -> None:
    assert yaml_documents([{"mode": Octal(0o644)}]) == "---\nmode: 0644\n"
    assert read_documents(b"mode: 0644\n").documents[0].value == {"mode": 0o644}
