"""Every alert, every reason of a condition, every cause of a failure and every refusal has a runbook."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.docs.observing import with_tables
from tests.docs.readme import ROOT
from tests.docs.runbooks import ALERTS, FOLDER, INDEX, PARTS, SECTIONS, alerts_table, headings, title

_RULES = [
    path for path in (ROOT / "deploy").rglob("*.yaml") if "- alert:" in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("page", ALERTS, ids=lambda page: page.stem)
def test_a_page_of_an_alert_says_what_it_means_what_to_look_at_and_what_to_do(page: Path) -> None:
    assert headings(page)[: len(PARTS)] == PARTS
    assert "```console\n$ " in page.read_text(encoding="utf-8").split("## What to do")[0]


@pytest.mark.parametrize("page", ALERTS, ids=lambda page: page.stem)
def test_a_page_is_called_like_its_alert(page: Path) -> None:
    assert re.sub(r"(?<!^)(?=[A-Z])", "-", title(page)).lower() == page.stem


@pytest.mark.skipif(not _RULES, reason="deploy/ has no alert rules")
def test_every_alert_has_a_page_and_every_page_an_alert() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in _RULES)
    assert set(re.findall(r"- alert: (\w+)", text)) == {title(page) for page in ALERTS}


@pytest.mark.parametrize("page", SECTIONS)
def test_every_word_of_the_code_has_a_section(page: str) -> None:
    assert [word for word in SECTIONS[page] if word not in headings(FOLDER / page)] == []


def test_no_refusal_has_a_rule_that_stands_in_no_closed_set() -> None:
    found = {
        f"{path.name}:{call.lineno}": call.args[0]
        for path in sorted((ROOT / "gitops_mc" / "core").rglob("*.py"))
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "Refusal"
    }
    assert len(found) >= 6
    assert [place for place, rule in found.items() if isinstance(rule, ast.Constant | ast.JoinedStr)] == []


def test_the_list_of_alerts_is_that_of_the_pages() -> None:
    text = INDEX.read_text(encoding="utf-8")
    assert text == with_tables(text, {"alerts": alerts_table()}), "make reference writes it anew"
