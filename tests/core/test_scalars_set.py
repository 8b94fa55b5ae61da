"""One value is changed, one line of the file with it, and nothing else; or nothing at all."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

from gitops_mc.core.authoring.scalars import with_scalar
from gitops_mc.core.errors import RefusedError
from gitops_mc.core.manifests.documents import Document, read_documents
from gitops_mc.core.model import BodyPath, canonical_json
from tests.core.yaml_texts import drawn_text

VALUE = "v9.8.7"
SEEDS = 1500


def scalars(value: Any, path: BodyPath = ()) -> list[BodyPath]:
    if isinstance(value, dict):
        return [found for key, inner in value.items() for found in scalars(inner, (*path, key))]
    if isinstance(value, list):
        return [found for number, inner in enumerate(value) for found in scalars(inner, (*path, number))]
    return [path]


def at(value: Any, path: BodyPath) -> Any:
    for step in path:
        value = value[step]
    return value


def everything_but(
    documents: tuple[Document, ...], number: int, path: BodyPath
) -> list[tuple[int, BodyPath, bytes]]:
    return [
        (n, found, canonical_json(at(document.value, found)))
        for n, document in enumerate(documents)
        for found in scalars(document.value)
        if (n, found) != (number, path)
    ]


def test_in_files_of_every_kind_one_line_changes_or_it_is_refused() -> None:
    ended: Counter[str] = Counter()
    for seed in range(SEEDS):
        data = drawn_text(seed).encode()
        read = read_documents(data)
        if not read.documents:
            continue
        random = Random(seed)
        number = random.randrange(len(read.documents))
        document = read.documents[number]
        paths = scalars(document.value)
        if not paths:
            continue
        path = random.choice(paths)
        try:
            after = with_scalar(data, document.chunk.line, path, VALUE)
        except RefusedError:
            ended["refused"] += 1
            continue
        ended["changed"] += 1
        again = read_documents(after).documents
        assert at(again[number].value, path) == VALUE, seed
        assert everything_but(again, number, path) == everything_but(read.documents, number, path), seed
        lines = zip(data.split(b"\n"), after.split(b"\n"), strict=True)
        assert sum(1 for earlier, later in lines if earlier != later) == 1, seed
    assert ended["changed"] > SEEDS / 2, ended
    assert ended["refused"] > 20, ended


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("version: v1 # why\n", "version: v2 # why\n"),
        ("version:   'v1'\r\nb: 2\r\n", "version:   'v2'\r\nb: 2\r\n"),
        ('{"version":"v1","b":[1,  2]}', '{"version":"v2","b":[1,  2]}'),
        ('\ufeff{"version":"v1"}', '\ufeff{"version":"v2"}'),
        ("é: ü\nversion: v1", "é: ü\nversion: v2"),
        ("version: 4.3\t# a number\n", "version: v2\t# a number\n"),
        ("a: |\n  version: v0\nversion: v1\n\n\n", "a: |\n  version: v0\nversion: v2\n\n\n"),
    ],
)
def test_all_but_the_value_stays_byte_for_byte(before: str, after: str) -> None:
    assert with_scalar(before.encode(), 0, ("version",), "v2").decode() == after


def test_a_version_that_would_be_a_number_is_quoted() -> None:
    assert with_scalar(b"version: v1\n", 0, ("version",), "4.3") == b'version: "4.3"\n'


@pytest.mark.parametrize(
    "text",
    [
        "a: &v v1\nversion: *v\n",
        "version: &v v1\nb: *v\n",
        "base: &b {version: v1}\n<<: *b\n",
        "version: |-\n  v1\n",
        "version: v1\n  continued\n",
        "version: {a: 1}\n",
        "b: 1\n",
        "version: v1\nversion: v2\nx: [\n",
    ],
)
def test_a_value_that_does_not_stand_there_alone_is_refused(text: str) -> None:
    with pytest.raises(RefusedError) as refused:
        with_scalar(text.encode(), 0, ("version",), "v2")
    assert refused.value.hint


def test_a_file_in_another_encoding_is_refused() -> None:
    with pytest.raises(RefusedError, match="not UTF-8"):
        with_scalar("version: v1\n".encode("utf-16"), 0, ("version",), "v2")


@pytest.mark.parametrize("end", ["\r", "\x85", "\u2028", "\u2029"])
def test_a_file_with_line_ends_that_editors_do_not_show_is_left_alone(end: str) -> None:
    with pytest.raises(RefusedError, match="line ends that editors do not show"):
        with_scalar(f"a: 1{end}{end}b: x{end}# y".encode(), 0, ("b",), VALUE)


@pytest.mark.parametrize("value", ['!!str "v4.3.0"', "&v v4.3.0", "!x v4.3.0"])
def test_a_tag_or_an_anchor_in_the_way_is_not_dropped(value: str) -> None:
    data = f"spec:\n  version: {value} # keep\n".encode()
    with pytest.raises(RefusedError, match="in the way"):
        with_scalar(data, 0, ("spec", "version"), "v4.4.0")
