"""Problems in the words of people, of programs and of CI systems."""

from __future__ import annotations

from gitops_mc.core.model import ClusterScope, FleetScope, Place, Problem, Severity, SharedScope
from gitops_mc.core.render.lines import text_of, visible
from gitops_mc.core.render.problems import (
    Summary,
    problems_github,
    problems_gitlab,
    problems_json,
    problems_text,
)

ODD = Problem(
    Place("clusters/a,b:c/x\ny.yaml", 3, 7),
    "some-rule",
    "spec.a",
    "100% wrong:\r\nreally \x1b[31m",
    "mend, it",
    ClusterScope("a"),
    Severity.WARNING,
)
WHOLE = Problem(Place(""), "source-empty", "", "nothing here", "", FleetScope())
SHARED = Problem(Place("shared/s/x.yaml", 1, 1), "r", "", "m", "h", SharedScope("shared/s"))


def test_text_keeps_to_its_lines_and_commands_no_terminal() -> None:
    assert text_of(problems_text([ODD, WHOLE])) == (
        "clusters/a,b:c/x\\ny.yaml:3:7: warning: spec.a: 100% wrong:\\x0d\\nreally \\x1b[31m [some-rule] (cluster a)\n"
        "    mend, it\n"
        "error: nothing here [source-empty] (fleet)\n"
    )


def test_workflow_commands_are_escaped_as_github_says() -> None:
    first, second = problems_github([ODD, WHOLE], "config")
    assert first.text == (
        "::warning file=config/clusters/a%2Cb%3Ac/x%0Ay.yaml,line=3,col=7,title=some-rule::"
        "spec.a: 100%25 wrong:%0D%0Areally \x1b[31m; mend, it (cluster a)"
    )
    assert second.text == "::error title=source-empty::nothing here (fleet)"


def test_a_fingerprint_stays_when_the_line_moves_and_tells_equal_problems_apart() -> None:
    moved = Problem(Place(ODD.place.file, 9, 1), *_rest(ODD))
    one, same, other = problems_gitlab([ODD, moved, WHOLE])
    (again,) = problems_gitlab([moved])
    assert one["fingerprint"] == again["fingerprint"] != same["fingerprint"]
    assert other["location"] == {"path": "fleet.yaml", "lines": {"begin": 1}}


def test_json_tells_the_scope() -> None:
    told = problems_json([ODD, WHOLE, SHARED], Summary(2, 3, 2, 1))
    assert [p["scope"] for p in told["problems"]] == [
        {"kind": "cluster", "cluster": "a"},
        {"kind": "fleet"},
        {"kind": "shared", "path": "shared/s"},
    ]
    assert told["summary"] == {"clusters": 2, "objects": 3, "errors": 2, "warnings": 1}


def test_the_summary_counts_in_words() -> None:
    assert str(Summary(1, 2, 0, 1)) == "1 cluster, 2 objects: 0 errors, 1 warning"


def test_marks_that_turn_the_direction_of_writing_are_visible() -> None:
    assert visible("a\u202eb\tc\n") == "a\\u202eb\tc\n"


def _rest(problem: Problem) -> tuple[str, str, str, str, ClusterScope, Severity]:
    assert isinstance(problem.scope, ClusterScope)
    return (problem.rule, problem.field, problem.message, problem.hint, problem.scope, problem.severity)
