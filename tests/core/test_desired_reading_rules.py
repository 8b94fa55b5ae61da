"""Every problem of reading has an id that is told on a page, and no id is there for nothing."""

from __future__ import annotations

import re
from pathlib import Path

from gitops_mc.core.desired.reading_rules import READING_RULES
from gitops_mc.core.rules import FLEET_RULES, RULES, AnyRule
from gitops_mc.core.rules.live import LIVE_RULES

ROOT = Path(__file__).parent.parent.parent
CORE = ROOT / "gitops_mc" / "core"
ID = re.compile(r'"((?:yaml|file|manifest|layout|fleet|source|module-name|ignition)-[a-z-]+)"')


def used() -> set[str]:
    sources = [
        path
        for package in ("manifests/*", "fleetfile/*", "desired/*", "ignition/contents")
        for path in CORE.glob(f"{package}.py")
        if path.name != "reading_rules.py"
    ]
    return {found for path in sources for found in ID.findall(path.read_text())}


def test_the_table_names_exactly_the_ids_that_are_used() -> None:
    assert sorted(READING_RULES) == sorted(used())
    assert list(READING_RULES) == sorted(READING_RULES)


def test_no_id_of_reading_is_one_of_a_rule_as_well() -> None:
    rows: tuple[AnyRule, ...] = (*RULES, *LIVE_RULES, *FLEET_RULES)
    rules = {rule.id for rule in rows}
    assert not READING_RULES.keys() & rules
