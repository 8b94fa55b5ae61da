"""What the doctor found: failures first, each with its command; for programs everything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gitops_mc.core.doctor import Finding, Health
from gitops_mc.core.model import JsonObject, count
from gitops_mc.core.render.lines import Line, Tone, one_line

_ORDER = (Health.FAILED, Health.NOT_CHECKED)
_TONES = {Health.FAILED: Tone.BAD, Health.NOT_CHECKED: Tone.WARN}
FLEET = ""
"""The name under which findings about the fleet as a whole stand."""

Findings = Mapping[str, Sequence[Finding]]
"""By cluster; FLEET: about all of them."""


def doctor_json(findings: Findings) -> JsonObject:
    return {
        "clusters": [
            {"cluster": name or None, "findings": [_finding(f) for f in found]}
            for name, found in findings.items()
        ],
        "summary": {health.value: _count(findings, health) for health in Health},
    }


def _finding(finding: Finding) -> JsonObject:
    return {
        "check": finding.check,
        "health": finding.health.value,
        "told": finding.told,
        "command": finding.command,
    }


def doctor_text(findings: Findings) -> Iterator[Line]:
    """A cluster after the other: what fails, what could not be asked, and in one line what is well."""
    for name, found in findings.items():
        sick = any(f.health is Health.FAILED for f in found)
        yield Line(f"{name or 'the fleet'}: {_totals(found)}", Tone.BAD if sick else Tone.HEAD)
        for health in _ORDER:
            for finding in (f for f in found if f.health is health):
                yield Line(one_line(f"  {health.value}: {finding.check}: {finding.told}"), _TONES[health])
                if finding.command:
                    yield Line(one_line(f"      {finding.command}"), Tone.DIM)
        well = dict.fromkeys(f.check for f in found if f.health is Health.OK)
        if well:
            yield Line(f"  ok: {', '.join(well)}", Tone.GOOD)
    failed, unasked = _count(findings, Health.FAILED), _count(findings, Health.NOT_CHECKED)
    told = f"{count(failed, 'check')} failed" if failed else "nothing fails"
    more = f"; {count(unasked, 'check')} could not be made" if unasked else ""
    yield Line(told + more, Tone.BAD if failed else Tone.GOOD)


def any_failed(findings: Findings) -> bool:
    return _count(findings, Health.FAILED) > 0


def _totals(found: Sequence[Finding]) -> str:
    numbers = ((health, sum(1 for f in found if f.health is health)) for health in Health)
    return ", ".join(f"{number} {health.value}" for health, number in numbers if number)


def _count(findings: Findings, health: Health) -> int:
    return sum(1 for found in findings.values() for f in found if f.health is health)
