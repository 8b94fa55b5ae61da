"""Validation rules: a table of what must hold, each row with its severity, its scope and its public source."""

from gitops_mc.core.rules.checking import NotChecked, check, check_with_facts, place_of
from gitops_mc.core.rules.page import rules_page
from gitops_mc.core.rules.row import LiveFact, LiveRule, Rule, ScopeKind, Source
from gitops_mc.core.rules.table import LIVE_RULES, RULES

__all__ = [
    "LIVE_RULES",
    "RULES",
    "LiveFact",
    "LiveRule",
    "NotChecked",
    "Rule",
    "ScopeKind",
    "Source",
    "check",
    "check_with_facts",
    "place_of",
    "rules_page",
]
