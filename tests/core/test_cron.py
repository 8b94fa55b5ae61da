"""Cron expressions of five fields."""

from __future__ import annotations

import pytest

from gitops_mc.core.cron import CronError, parse_cron


def test_stars_ranges_steps_lists_and_names_are_read() -> None:
    cron = parse_cron("*/20 0,12-14 1 jan-mar MON,7")
    assert sorted(cron.minutes) == [0, 20, 40]
    assert sorted(cron.hours) == [0, 12, 13, 14]
    assert sorted(cron.months) == [1, 2, 3]
    assert sorted(cron.weekdays) == [0, 1]


def test_a_step_after_a_single_value_goes_to_the_end() -> None:
    assert sorted(parse_cron("50/5 * * * *").minutes) == [50, 55]


def test_either_day_matches_only_when_both_day_fields_are_restricted() -> None:
    assert parse_cron("0 0 1 * 1").either_day
    assert not parse_cron("0 0 1 * *").either_day
    assert not parse_cron("0 0 * * 1").either_day
    assert not parse_cron("0 0 */2 * 1").either_day


@pytest.mark.parametrize(
    "text",
    [
        "",
        "* * * *",
        "* * * * * *",
        "60 * * * *",
        "* 24 * * *",
        "* * 0 * *",
        "* * * 13 *",
        "* * * * 8",
        "5-1 * * * *",
        "*/0 * * * *",
        "a * * * *",
        "1- * * * *",
        "1,, * * * *",
        "-1 * * * *",
        "* * * foo *",
        "@daily",
        "1.5 * * * *",
        "0 0 30 2 *",
        "0 0 31 4,6,9,11 *",
        "٣ * * * *",
    ],
)
def test_what_is_no_cron_expression_or_never_comes_is_refused(text: str) -> None:
    with pytest.raises(CronError):
        parse_cron(text)


def test_the_29th_of_february_comes() -> None:
    assert parse_cron("0 0 29 2 *").days == frozenset([29])
