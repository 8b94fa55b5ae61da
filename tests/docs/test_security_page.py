"""Every test that the page on security names as a proof is there."""

from __future__ import annotations

import re

from tests.docs.readme import ROOT

PAGE = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")


def test_every_test_that_proves_something_is_there() -> None:
    named = set(re.findall(r"`(test_\w+)`", PAGE))
    there = {
        name
        for path in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"^def (test_\w+)\(", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    }
    assert len(named) > 20
    assert named - there == set()
