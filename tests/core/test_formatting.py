"""fmt changes how a file looks, and never what it says."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from gitops_mc.core.authoring.comments import comments_of
from gitops_mc.core.authoring.formatting import Even, Uneven, formatted
from gitops_mc.core.manifests.documents import read_documents
from gitops_mc.core.model import canonical_json
from tests.core.import_world import Site, as_read, grown
from tests.core.yaml_texts import drawn_text

A_RUN = 100
RUNS = [0, *(pytest.param(begin, marks=pytest.mark.slow) for begin in range(A_RUN, 1500, A_RUN))]
_EXAMPLES = Path(__file__).parents[2] / "examples"
EXAMPLES = sorted(file for file in _EXAMPLES.rglob("*.yaml") if "ci" not in file.relative_to(_EXAMPLES).parts)
"""Of repositories; templates of pipelines are nothing that `fmt` reads."""


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


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("\x85\n- - a", "U+0085"),
        ("a: 1\u2028\u2028# x\nb:   2\n", "U+2028"),
        ("a: 'one\u2029two'\n", "U+2029"),
        ("a: 1\r\r# x\nb:   2\n", "U+000D"),
    ],
)
def test_a_text_with_line_ends_that_editors_do_not_show_is_left_alone(text: str, end: str) -> None:
    assert formatted(text.encode()) == Uneven(f"it has line ends that editors do not show ({end})")


def test_such_characters_as_escapes_are_no_line_ends() -> None:
    assert even('a:   "\\N\\L\\P\\u2028\\r"\r\n') == 'a: "\\N\\L\\P\\L\\r"\n'


ODD = (
    *"\r\n\t\x00\x0b\x0c\x1b\x1c\x1e\x7f\x85\xa0\xad\u2028\u2029\u200b\ufeff\ufffe\U0001f600",
    "\r\n",
    "\n\n",
)
PIECES = (
    *(
        "- ",
        "? ",
        ": ",
        "a",
        "b: ",
        "c: 1",
        "# x",
        "|",
        "|2-\n",
        ">+",
        "'",
        '"',
        "{",
        "}",
        "[",
        "]",
        ",",
        " ",
        "\n",
    ),
    *(
        "---",
        "...",
        "--- ",
        "&a ",
        "*a",
        "!t ",
        "!!str ",
        "!!set",
        "!!timestamp ",
        "<<: ",
        "%YAML 1.1\n",
        "\\",
        "~",
    ),
)


@pytest.mark.parametrize("begin", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 11))])
def test_whatever_characters_stand_in_a_file_there_is_an_answer(begin: int) -> None:
    for seed in range(begin * 1_000, (begin + 1) * 1_000):
        draw = Random(seed)
        written = drawn_text(seed)
        at = draw.randrange(len(written) + 1)
        scraps = "".join(draw.choice(draw.choice((ODD, PIECES))) for _ in range(draw.randint(1, 12)))
        for text in (scraps, "a: 1\n" + scraps, written[:at] + draw.choice(ODD) + written[at:]):
            data = text.encode()
            found = formatted(data)
            assert isinstance(found, Uneven) or values(found.data) == values(data), seed


def test_a_comment_is_found_with_its_neighbours_wherever_it_stands() -> None:
    text = "# top\na: |  # head\n  # text\nb: 'x # y' # behind\n# last\n"
    assert [(c.before, c.text, c.behind) for c in comments_of(text)] == [
        ("", "# top", "a"),
        ("# text\n", "# head", "b"),
        ("x # y", "# behind", ""),
        ("x # y", "# last", ""),
    ]
