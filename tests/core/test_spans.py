"""Spans of time as people write them, and every place that takes one."""

from __future__ import annotations

from datetime import timedelta

import pytest

from gitops_mc.cli.spans import span_of as typed_span
from gitops_mc.core.custom.fleet_spec import FleetSpecError, fleet_spec
from gitops_mc.core.errors import UsageError
from gitops_mc.core.fleetfile.fields import Field
from gitops_mc.core.spans import LONGEST, span_of

NO_SPANS = ("", " ", "5", "m", "5 m", "1m1h", "1h1h", "-1h", "1.5h", "1h\n", "٣h", f"{'9' * 19}s")
FAR_TOO_LONG = ("999999999d24h", "99999999999999999h", "99999999999999d", "999999999999999999s")
"""More than Python's own spans hold, and less than a reader may be given."""


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("30s", timedelta(seconds=30)),
        ("90m", timedelta(minutes=90)),
        ("1h30m", timedelta(hours=1, minutes=30)),
        ("1d12h5m7s", timedelta(days=1, hours=12, minutes=5, seconds=7)),
        ("0s", timedelta(0)),
        ("0000000001d", timedelta(days=1)),
    ],
)
def test_days_hours_minutes_and_seconds_are_added_up(text: str, span: timedelta) -> None:
    assert span_of(text) == span


@pytest.mark.parametrize("text", NO_SPANS)
def test_any_other_text_is_no_span(text: str) -> None:
    assert span_of(text) is None


@pytest.mark.parametrize("text", FAR_TOO_LONG)
def test_a_span_beyond_all_measure_is_refused_like_any_other_that_is_too_long(text: str) -> None:
    found = span_of(text)
    assert found is not None
    assert found > LONGEST
    with pytest.raises(UsageError, match="no span of time"):
        typed_span(text)
    with pytest.raises(FleetSpecError, match=r"spec\.source\.interval"):
        fleet_spec({"metadata": {"name": "prod"}, "spec": {"source": {"url": "file:///x", "interval": text}}})
    field = Field(text)
    assert field.duration(timedelta(minutes=5)) == timedelta(minutes=5)
    assert [finding.message for finding in field.findings] == [f"{text} is not between 0:00:01 and 366 days"]
