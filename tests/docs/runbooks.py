"""The runbooks: which there are, what each has to have, and the list of alerts that leads to them."""

from __future__ import annotations

import re
from pathlib import Path

from gitops_mc.core.custom.conditions import Reason
from gitops_mc.core.diff import RefusalCause
from gitops_mc.core.model import Severity
from gitops_mc.core.plan import PlanRule
from gitops_mc.core.rollout.memory import FailureCause
from gitops_mc.core.rules.live import LIVE_RULES
from tests.docs.readme import ROOT
from tests.docs.reference.tables import table

FOLDER = ROOT / "docs" / "runbooks"
INDEX = FOLDER / "README.md"
ALERTS = sorted(FOLDER.glob("gitops-mc-*.md"))
PARTS = ["What it means", "What to look at", "What to do", "What not to do"]
SECTIONS = {
    "conditions.md": [reason.value for reason in Reason],
    "failures.md": [cause.value for cause in FailureCause],
    "refusals.md": [
        *(cause.value.replace(" ", "-") for cause in RefusalCause),
        *(rule.value for rule in PlanRule),
        *(rule.id for rule in LIVE_RULES if rule.severity is Severity.ERROR),
    ],
}
"""By page: the words of the code that have a section there."""


def title(page: Path) -> str:
    return page.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")


def headings(page: Path) -> list[str]:
    """Of every rank but the first."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    return re.findall(r"^##+ (.+)$", text, flags=re.MULTILINE)


def alerts_table() -> str:
    """Every alert with the first sentence of what it means."""
    rows = [(f"[{title(page)}]({page.name})", _first_sentence(page)) for page in ALERTS]
    return table(("alert", "what it means"), rows)


def _first_sentence(page: Path) -> str:
    text = page.read_text(encoding="utf-8").split("## What it means\n\n")[1]
    return re.split(r"(?<=\.)\s", " ".join(text.split("\n\n")[0].split()))[0]
