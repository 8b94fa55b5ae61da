"""Rules that need facts about the live cluster. Apart from the others: who only reads files does not load the gates."""

from gitops_mc.core.rules.live.checking import NotChecked, check_with_facts
from gitops_mc.core.rules.live.table import LIVE_RULES

__all__ = ["LIVE_RULES", "NotChecked", "check_with_facts"]
