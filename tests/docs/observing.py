"""The tables of docs/observing.md and docs/webhook.md, made from the code. `python -m tests.docs.observing` writes them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import get_args

import yaml

from gitops_mc.adapters.telemetry_rows import ROWS as METRICS
from gitops_mc.app.log_events import HAPPENING_FIELDS, Fact, event_name
from gitops_mc.core.render.happening import Reason
from gitops_mc.web.signatures import ROWS as HEADERS
from gitops_mc.web.webhook import Answered
from tests.docs.readme import ROOT

OBSERVING = ROOT / "docs" / "observing.md"
WEBHOOK = ROOT / "docs" / "webhook.md"
_WHEN = {
    Answered.ACCEPTED: "the poll of the fleet is woken",
    Answered.BROKEN_OFF: "the body did not come whole, or not within 10 seconds",
    Answered.DENIED: "no header proves the secret, or there is no such fleet: one answer for both",
    Answered.TOO_LARGE: "the body is larger than 1 MiB",
    Answered.TOO_MANY: "too many requests, in all or for this fleet; `Retry-After` says when to come back",
}


def tables() -> Mapping[Path, Mapping[str, str]]:
    """By page and by the name of its place."""
    return {
        OBSERVING: {
            "metrics": _metrics(),
            "alerts": _alerts(),
            "happenings": _happenings(),
            "log": _log(),
        },
        WEBHOOK: {"headers": _headers(), "answers": _answers()},
    }


def with_tables(text: str, found: Mapping[str, str]) -> str:
    """The page with its tables as the code has them; each stands between two comments with its name."""
    for name, table in found.items():
        place = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        if not place.search(text):
            raise ValueError(f"the page has no place for {name}")
        text = place.sub(lambda match, table=table: f"{match[1]}\n{table}\n{match[2]}", text)  # type: ignore[misc]
    return text


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _metrics() -> str:
    rows = [
        (f"`{row.full}`", row.kind.value, ", ".join(row.labels), row.meaning)
        for row in sorted(METRICS, key=lambda row: row.full)
    ]
    return _table(("metric", "kind", "labels", "meaning"), rows)


def _alerts() -> str:
    rules = ROOT / "deploy" / "overlays" / "monitoring" / "rules.yaml"
    rows = [
        (
            f"[{rule['alert']}]({rule['annotations']['runbook_url'].removeprefix('docs/')})",
            rule["labels"]["severity"],
            rule.get("for", "at once"),
            _without_values(rule["annotations"]["summary"]),
        )
        for group in yaml.safe_load(rules.read_text(encoding="utf-8"))["spec"]["groups"]
        for rule in group["rules"]
    ]
    return _table(("alert", "severity", "after", "says"), rows)


def _without_values(summary: str) -> str:
    named = re.sub(r"\{\{ \$labels\.(\w+) \}\}", lambda match: match[1].upper(), summary)
    return re.sub(r"\{\{ \$value [^}]*\}\}", "N", named)


def _happenings() -> str:
    rows = [
        (f"`{reason.word}`", reason.weight.value, reason.about.value, f"`{reason.event}`", reason.when)
        for reason in Reason
    ]
    return _table(("reason", "type", "on", "in the log", "when"), rows)


def _log() -> str:
    rows = [
        (
            f"`{event_name(fact)}`",
            fact.level.value,
            ", ".join(field.name for field in fields(fact)),
            " ".join((fact.__doc__ or "").split()),
        )
        for fact in get_args(Fact)
    ]
    rows.append(
        (
            "those of the table above",
            "info, warning",
            ", ".join(HAPPENING_FIELDS),
            "Empty fields are left out.",
        )
    )
    return _table(("event", "level", "fields", "meaning"), rows)


def _headers() -> str:
    rows = []
    for row in HEADERS:
        name = "-".join(word.capitalize() for word in row.header.decode().split("-"))
        prefix = (
            f"`{row.prefix.decode().capitalize() if row.prefix == b'bearer ' else row.prefix.decode()}`, "
        )
        before = "" if not row.prefix else prefix + ("if you like, " if row.optional else "") + "then "
        rows.append((row.sender, f"`{name}`", before + row.proof.value))
    return _table(("sender", "header", "value"), rows)


def _answers() -> str:
    rows = [(str(int(a.status)), _WHEN[a]) for a in Answered]
    return _table(("answer", "when"), sorted([*rows, ("405", "anything but POST")]))


if __name__ == "__main__":
    for page, found in tables().items():
        page.write_text(with_tables(page.read_text(encoding="utf-8"), found), encoding="utf-8")
