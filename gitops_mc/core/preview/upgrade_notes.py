"""What is to be known of a step from one version of a module to another, besides whether it can be taken."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from gitops_mc.core.gates import Outcome, dependency_checks
from gitops_mc.core.model import JsonObject, labels_of
from gitops_mc.core.modules import LIFECYCLE_LABEL
from gitops_mc.core.raw import items, section, text

_QUIET: Final = ("", "low")
"""upgradeRiskLevel is low, middle or high (alauda/cluster-plugin)."""
_RUNNING: Final = "Running"
_LONGEST: Final = 200
"""Of a description that somebody else has written."""


@dataclass(frozen=True, slots=True)
class Together:
    """All modules of one cluster: what Git wants, what runs, and the order in which Git's are written."""

    wanted: Mapping[str, str]
    installed: Mapping[str, str]
    order: Sequence[str]

    @property
    def upgraded(self) -> frozenset[str]:
        """Modules that run in another version than Git wants."""
        return frozenset(m for m, version in self.wanted.items() if self.installed.get(m, version) != version)

    def first(self, one: str, other: str) -> bool:
        """Whether the one is written before the other."""
        return self.order.index(one) < self.order.index(other)


def dependencies_told(
    module: str, step: str, config: JsonObject | None, together: Together
) -> tuple[tuple[str, ...], bool]:
    """What a version depends on and does not find as things stand; and whether that holds it up, or comes with the same commit."""
    told, lacking = [], False
    now = list(dependency_checks(config, together.installed))
    then = list(dependency_checks(config, {**together.installed, **together.wanted}))
    names = [text(item, "moduleName") for item in items(config, "spec", "dependencies")]
    for name, before, after in zip(names, now, then, strict=True):
        if before.outcome is Outcome.MET:
            continue
        if before.outcome is Outcome.UNCHECKED:
            told.append(
                f"{step}: {before.reason}; its catalog says it in other words, and it is left to the platform"
            )
        elif after.outcome is not Outcome.PENDING and name in together.wanted:
            lacking = lacking or not together.first(name, module)
            when = "before it" if together.first(name, module) else "after it, so that it waits in vain"
            told.append(f"{step}: {before.reason}; Git brings {name} {together.wanted[name]}, written {when}")
        else:
            lacking = True
            told.append(f"{step}: {before.reason}; bring that first")
    return tuple(told), lacking


def step_told(
    infos: Sequence[JsonObject], module: str, step: str, config: JsonObject | None, together: Together
) -> Iterator[str]:
    """Risk and order, as the platform's offer or the ModuleConfig says them."""
    offers = [offer for info in infos for offer in items(info, "status", "availableVersions")]
    offer = next((o for o in offers if text(o, "version") == step), {})
    spec = section(config, "spec")
    risk = text(offer, "riskLevel") or text(spec, "upgradeRiskLevel")
    if infos and risk.lower() not in _QUIET:
        why = _short(text(offer, "descriptionEn") or text(spec, "upgradeRiskDescriptionEn"))
        yield f"{step}: the platform rates the upgrade as a risk: {risk}" + (f" ({why})" if why else "")
    before = [text(m, "moduleName") for m in (*items(offer, "upgradeBefore"), *items(spec, "upgradeBefore"))]
    for name in dict.fromkeys(name for name in before if name):
        yield f"{step}: to be upgraded before module {name}{_which(module, name, together)}"


def _which(module: str, other: str, together: Together) -> str:
    if other not in together.upgraded:
        return ""
    if together.first(module, other):
        return ", which Git upgrades as well, and which is written after it"
    return ", which Git upgrades as well, and which is written before it: leave that one to a later commit"


def platform_told(infos: Sequence[JsonObject]) -> Iterator[str]:
    """What the live ModuleInfo says of itself. None of it is a reason of its own: the platform decides."""
    for info in infos:
        spec, status = section(info, "spec"), section(info, "status")
        asked, runs = text(spec, "version"), text(status, "version")
        if runs and asked and asked != runs:
            yield f"it is on its way from {runs} to {asked}"
        elif text(status, "phase") not in ("", _RUNNING):
            yield f"its phase is {text(status, 'phase')}"
        blocked = status.get("blockReasons")
        for reason in blocked if isinstance(blocked, list) else ():
            yield f"the platform blocks upgrades of it: {_short(str(reason))}"
        if labels_of(info).get(LIFECYCLE_LABEL, "").lower() == "aligned":
            yield "an upgrade of the cluster moves it, too (life cycle Aligned)"


def _short(told: str) -> str:
    line = " ".join(told.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
