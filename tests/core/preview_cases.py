"""Pull requests as pairs of folders under tests/data/preview, after the examples of the platform's own pages, and what each does to the
nodes of each pool.
"""

from __future__ import annotations

import json
from pathlib import Path

from gitops_mc.core.desired import DesiredState
from gitops_mc.core.preview.changed import PullChanges
from gitops_mc.core.preview.changes import pull_changes
from gitops_mc.core.preview.digest import pull_json
from tests.core.desired_repositories import desired

DATA = Path(__file__).parents[1] / "data" / "preview"

NOTHING_RESTARTS = ("nothing restarts",)
CHRONYD = ("restart chronyd.service",)
SYSCTL = ("restart systemd-sysctl.service",)
REBOOT = ("reboot, drain",)
RELOAD = "daemon-reload"

EXPECTED: dict[str, dict[str, dict[str, tuple[str, ...]]]] = {
    "chrony-without-policy": {"edge-01": {"worker": NOTHING_RESTARTS}},
    "chrony-with-policy": {"edge-01": {"worker": CHRONYD}},
    "chrony-policy-comes-too": {"edge-01": {"worker": CHRONYD}},
    "chrony-policy-goes-too": {"edge-01": {"worker": CHRONYD}},
    "sysctl": {"edge-01": {"worker": SYSCTL}},
    "sysctl-without-policy": {"edge-01": {"worker": NOTHING_RESTARTS}},
    "firewall-unit": {"edge-01": {"worker": (RELOAD, "restart open-app-ports.service")}},
    "firewall-unit-without-policy": {"edge-01": {"worker": REBOOT}},
    "ssh-key": {"edge-01": {"worker": NOTHING_RESTARTS}},
    "disable-unit": {"edge-01": {"worker": REBOOT}},
    "kernel-argument": {"edge-01": {"worker": REBOOT}},
    "remove-config": {"edge-01": {"worker": SYSCTL}},
    "remove-config-kept": {"edge-01": {}},
    "files-reboot-by-default": {"edge-01": {"worker": REBOOT}},
    "script-with-policy": {"edge-01": {"worker": (RELOAD, "restart myapp.service")}},
    "unit-names-the-file": {"edge-01": {"worker": NOTHING_RESTARTS}},
    "custom-pool-overrides": {"edge-01": {"infra": (), "worker": CHRONYD}},
    "fleet": {
        "edge-01": {"worker": CHRONYD},
        "edge-02": {"worker": CHRONYD},
        "edge-03": {},
        "edge-04": {"worker": CHRONYD},
    },
    "broken-head": {"edge-01": {}, "edge-02": {"worker": NOTHING_RESTARTS}},
}
"""By case, cluster and pool, as people read the actions. No pool: nothing is written for its nodes."""

CASES = tuple(EXPECTED)


def texts(case: str, side: str) -> dict[str, str]:
    """The files of one side, by path."""
    folder = DATA / case / side
    return {p.relative_to(folder).as_posix(): p.read_text() for p in sorted(folder.rglob("*")) if p.is_file()}


def sides(case: str) -> tuple[DesiredState, DesiredState]:
    return desired(texts(case, "base")), desired(texts(case, "head"))


def changes_of(case: str) -> PullChanges:
    return pull_changes(*sides(case))


def shown(case: str) -> str:
    """Part (a) as its golden file has it."""
    return json.dumps(pull_json(changes_of(case)), indent=1, ensure_ascii=False) + "\n"


def everything() -> str:
    return "".join(shown(case) for case in CASES)
