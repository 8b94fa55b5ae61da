"""fmt changes how a file looks, and never what it says."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from gitops_mc.core.authoring.comments import comments_of
from gitops_mc.core.authoring.formatting import Even, Uneven, formatted
from gitops_mc.core.manifests.documents import read_documents
from gitops_mc.core.model import canonical_json
from tests.core.import_world import Site, as_read, grown
from tests.core.yaml_texts import drawn_text

A_RUN = 100
RUNS = [0, *(pytest.param(begin, marks=pytest.mark.slow) for begin in range(A_RUN, 1500, A_RUN))]
EXAMPLES = sorted((Path(__file__).parents[2] / "examples").rglob("*.yaml"))


def even(text: str) -> str:
    found = formatted(text.encode())
    assert isinstance(found, Even), found
    return found.data.decode()


def values(data: bytes) -> bytes:
    return canonical_json([document.value for document in read_documents(data).documents])


def words(text: str) -> list[str]:
    return [comment.rstrip() for comment in re.findall(r"#[# ]*(?:note|end) \d+.*", text)]


@pytest.mark.parametrize("begin", RUNS)
def test_values_and_comments_stay_and_a_second_time_changes_nothing(begin: int) -> None:
    ended: Counter[str] = Counter()
    for seed in range(begin, begin + A_RUN):
        data = drawn_text(seed).encode()
        found = formatted(data)
        if isinstance(found, Uneven):
            ended[found.reason] += 1
            continue
        ended["even"] += 1
        assert values(found.data) == values(data), seed
        assert words(found.data.decode()) == words(data.decode()), seed
        assert formatted(found.data) == found, seed
        assert b"\r\n" not in found.data, seed
    assert ended["even"] > 0.9 * A_RUN, ended


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: "/".join(file.parts[-3:]))
def test_the_examples_look_as_they_should(file: Path) -> None:
    assert even(file.read_text(encoding="utf-8")) == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("seed", range(20))
def test_what_import_writes_looks_as_it_should(seed: int) -> None:
    for file in Site().bring(as_read(grown(seed)))[1].files:
        if file.path.endswith(".yaml"):
            assert formatted(file.data) == Even(file.data), file.path


def test_what_is_made_even() -> None:
    before = """\
spec:
    # about the version
    version:   v1     # why

    list:
    # first
    - a
    -   b: 1
        # in b
        c: 0644
    # after the list
    on-off: yes
    text: |
        kept
          as it is
    # the end of spec
# top
z: {a:  1}


"""
    assert (
        even(before)
        == """\
spec:
  # about the version
  version: v1     # why

  list:
    # first
    - a
    - b: 1
      # in b
      c: 0644
  # after the list
  on-off: yes
  text: |
    kept
      as it is
  # the end of spec
# top
z: {a: 1}
"""
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a: 1\na: 2\n", "it has errors; see validate"),
        ("a:\n\tb: 1\n", "it has errors; see validate"),
        ("a: ! 0644\n", "its values would change"),
        ("a: \xe9\n", "it is not UTF-8"),
    ],
)
def test_what_cannot_be_proven_to_stay_the_same_is_left_alone(text: str, reason: str) -> None:
    assert formatted(text.encode("latin-1")) == Uneven(reason)


def test_a_comment_is_found_with_its_neighbours_wherever_it_stands() -> None:
    text = "# top\na: |  # head\n  # text\nb: 'x # y' # behind\n# last\n"
    assert [(c.before, c.text, c.behind) for c in comments_of(text)] == [
        ("", "# top", "a"),
        ("# text\n", "# head", "b"),
        ("x # y", "# behind", ""),
        ("x # y", "# last", ""),
    ]
