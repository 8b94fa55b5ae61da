"""Problems that a pull request brings, leaves and solves."""

from __future__ import annotations

from dataclasses import replace

from gitops_mc.core.model import ClusterScope, Place, Problem, Severity
from gitops_mc.core.preview.problems import compare_problems

ONE = Problem(
    Place("clusters/a/x.yaml", 10, 3),
    "file-inert",
    "spec.config.storage.files[2].path",
    "a change of /etc/a is written and nothing restarts",
    "add an entry",
    ClusterScope("a"),
    Severity.WARNING,
)


def test_lines_and_positions_in_lists_make_no_other_problem() -> None:
    moved = replace(ONE, place=Place("clusters/a/x.yaml", 40, 3), field="spec.config.storage.files[5].path")
    found = compare_problems([ONE], [moved])
    assert (found.new, found.old, found.solved) == ((), (moved,), ())


def test_a_message_that_names_lines_of_files_is_the_same_when_they_shift() -> None:
    double = replace(
        ONE, message="MachineConfig a stands at clusters/a/x.yaml:3:1 and at shared/b/y.yaml:8:1"
    )
    shifted = replace(
        double, message="MachineConfig a stands at clusters/a/x.yaml:9:1 and at shared/b/y.yaml:2:1"
    )
    assert compare_problems([double], [shifted]).old == (shifted,)


def test_another_message_file_severity_or_cluster_is_another_problem() -> None:
    for other in (
        replace(ONE, message="a change of /etc/b is written and nothing restarts"),
        replace(ONE, place=Place("clusters/a/y.yaml", 10, 3)),
        replace(ONE, severity=Severity.ERROR),
        replace(ONE, scope=ClusterScope("b")),
    ):
        found = compare_problems([ONE], [other])
        assert (found.new, found.old, found.solved) == ((other,), (), (ONE,))


def test_of_three_that_look_alike_where_there_were_two_one_is_new() -> None:
    before = [replace(ONE, place=Place("clusters/a/x.yaml", line), field=f"files[{line}]") for line in (1, 2)]
    after = [
        replace(ONE, place=Place("clusters/a/x.yaml", line), field=f"files[{line}]") for line in (1, 2, 3)
    ]
    found = compare_problems(before, after)
    assert found.new == (after[2],)
    assert found.old == (*after[:2],)
    assert compare_problems(after, before).solved == (after[2],)
