"""Validation rules: a table of what must hold, each row with its severity, its scope and its public source.

Those that need facts about the live cluster stand in `gitops_mc.core.rules.live`.
"""

from gitops_mc.core.rules.checking import check, check_fleet, place_of
from gitops_mc.core.rules.row import AnyRule, FleetRule, LiveFact, LiveRule, Rule, ScopeKind, Source
from gitops_mc.core.rules.table import FLEET_RULES, RULES

__all__ = [
    "FLEET_RULES",
    "RULES",
    "AnyRule",
    "FleetRule",
    "LiveFact",
    "LiveRule",
    "Rule",
    "ScopeKind",
    "Source",
    "check",
    "check_fleet",
    "place_of",
]
