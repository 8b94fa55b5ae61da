"""docs/rules.md, made from the table.

To write it anew: `python -c "from gitops_mc.core.rules import rules_page as p; print(p(), end='')" > docs/rules.md`.
"""

from __future__ import annotations

from gitops_mc.core.rules.row import LiveRule, Rule
from gitops_mc.core.rules.table import LIVE_RULES, RULES

_HEAD = """\
# Rules

What `gitops-mc validate` checks, made from the table in `gitops_mc/core/rules/table.py`. An error blocks its scope, a
warning blocks nothing. Scope `manifest` is where the manifest stands: its cluster, or every cluster that uses its
shared set. Scope `cluster` is the cluster whose configs, taken together, break the rule.

Problems of reading (YAML, unknown kinds, duplicates, `contents.local`, fleet.yaml) have ids of their own.

## Decided by the repository alone

| id | what must hold | severity | scope | source |
|---|---|---|---|---|
"""

_LIVE_HEAD = """
## Decided with facts about the live cluster

Without these facts the answer is "not checked", never "no problem".

| id | what must hold | severity | scope | needs | source |
|---|---|---|---|---|---|
"""


def rules_page() -> str:
    """The page as Markdown."""
    return (
        _HEAD
        + "".join(_row(rule) for rule in RULES)
        + _LIVE_HEAD
        + "".join(_live_row(rule) for rule in LIVE_RULES)
    )


def _row(rule: Rule) -> str:
    source = f"[{rule.source.title}]({rule.source.url})"
    return f"| `{rule.id}` | {rule.sentence} | {rule.severity} | {rule.scope} | {source} |\n"


def _live_row(rule: LiveRule) -> str:
    source = f"[{rule.source.title}]({rule.source.url})"
    needs = ", ".join(fact.value for fact in rule.needs)
    return f"| `{rule.id}` | {rule.sentence} | {rule.severity} | {rule.scope} | {needs} | {source} |\n"
