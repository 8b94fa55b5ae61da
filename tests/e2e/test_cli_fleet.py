"""Everybody at the command line of one fleet: real processes, a real gateway, a controller that is on its way."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.request import urlopen

import pytest

from tests.adapters.test_git import commit, git
from tests.apiserver.processes import free_port
from tests.e2e.fleet_site import GROUP, Site, controller, site
from tests.scenarios.rollout_world import UNIT, machine_config

pytestmark = pytest.mark.slow

MERGE = "application/merge-patch+json"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with site(tmp_path_factory.mktemp("site")) as found:
        yield found


def waits_for_somebody(fleet: Any) -> bool:
    return (fleet.get("status") or {}).get("outlook") == "hold"


def test_while_no_controller_runs_a_request_says_so_and_stays(place: Site) -> None:
    told = place.run("sync", "--fleet", "prod", "--wait", "2s")
    assert told.code == 1
    assert told.err.startswith("error: nobody leads: no process holds the lease gitops-mc/gitops-mc")
    assert "gitops-mc.io/sync" in place.fleet()["metadata"]["annotations"]
    shown = place.run("status", "--fleet", "prod")
    assert (shown.code, "no controller has looked at it yet" in shown.out) == (0, True)
    assert place.run("history", "--fleet", "prod").out == "nothing has been asked for yet\n"


def test_people_approve_hold_suspend_take_over_and_look_while_it_runs(place: Site) -> None:
    port = free_port()
    with controller(place, "--probes", f"127.0.0.1:{port}"):
        place.wait(waits_for_somebody)
        _saves_count_for_their_fleet(port)
        _approve(place)
        _hold_at_once(place)
        _preview(place)
        _by_hand(place)
        _take_over(place)
        acts = json.loads(place.run("history", "--fleet", "prod", "-o", "json").out)["history"]
    verbs = [act["what"].split()[0] for act in acts if not act["what"].startswith("not carried")]
    assert verbs == ["hold", "hold", "approve", "release", "suspend", "resume", "takeover", "resume"]


def _saves_count_for_their_fleet(port: int) -> None:
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        found = [
            line for line in answer.read().decode().splitlines() if line.startswith("gitops_mc_memory_saves")
        ]
    assert {line.partition('fleet="')[2].partition('"')[0] for line in found} == {"gitops-mc/prod"}, found


def _approve(place: Site) -> None:
    waits = place.run("why", "edge-2", "--fleet", "prod")
    assert waits.out.endswith("what to do:\n    gitops-mc approve rest --fleet prod\n")
    assert "  pool      worker is settled: pool worker of edge-2: 2 machines on rendered-worker-" in waits.out
    one = place.run("why", "edge-2/master", "--fleet", "prod").out
    assert ("pool      master is settled" in one, "worker is settled" in one) == (True, False)
    refused = place.run("release", "edge-2", "--fleet", "prod")
    assert (refused.code, refused.out.startswith("refused: release edge-2: nothing of cluster edge-2")) == (
        6,
        True,
    )
    unknown = place.run("approve", "nobody", "--fleet", "prod")
    assert (unknown.code, "waves: canary, rest; clusters: edge-1, edge-2, edge-3" in unknown.err) == (2, True)


def _hold_at_once(place: Site) -> None:
    """Two people ask for two things at the same moment, and a third one opens the wave."""
    both = [place.start("hold", f"edge-{n}", "--fleet", "prod", "--reason", f"disk {n}") for n in (2, 3)]
    assert [process.communicate(timeout=60)[0] for process in both] == [
        "carried out: hold edge-2\n",
        "carried out: hold edge-3\n",
    ]
    shown = next(w["contents"] for w in place.fleet()["status"]["waves"] if w["name"] == "rest")
    assert f"contents {shown}" in place.run("status", "--fleet", "prod").out
    other = place.run("approve", "rest", "--fleet", "prod", "--seen", "0123456789ab")
    assert (other.code, f"was looked at with 0123456789ab, and has {shown} now" in other.out) == (6, True)
    approved = place.run("approve", "rest", "--fleet", "prod", "--reason", "looked")
    assert approved.out == (
        f"wave rest, as it was seen: contents {shown}\ncarried out: approve rest --seen {shown}\n"
    )
    assert place.run("release", "edge-2", "--fleet", "prod").out == "carried out: release edge-2\n"
    place.wait(lambda body: body["status"]["progress"] == "2/3")
    held = place.run("status", "--fleet", "prod").out
    assert "  edge-2: passed" in held
    assert "disk 3" in held


def _preview(place: Site) -> None:
    """What the controller remembers is known to a preview: clusters that have passed are met for no first time, and one is held."""
    work = place.folder / "work"
    git(work, "checkout", "-q", "-b", "topic")
    for name in ("edge-1", "edge-3"):
        (work / "clusters" / name / "unit.yaml").write_text(
            machine_config("60-worker-unit", app_service=UNIT)
        )
    commit(work)
    git(work, "checkout", "-q", "main")
    asked = (
        "preview",
        "--base",
        "main",
        "--head",
        "topic",
        "--repo",
        str(work),
        "--fleet",
        "prod",
        "-o",
        "json",
    )
    ended = place.run(*asked)
    assert (ended.code, ended.err) == (0, "")
    found = json.loads(ended.out)
    assert found["fleet"] == "prod"
    assert [a["clusters"] for a in found["live"]["advice"] if "disk 3" in a["text"]] == [["edge-3"]]
    assert not [a for a in found["live"]["advice"] if "first contact" in a["text"]]
    wrong = place.run("preview", "--base", "main", "--fleet", "prod", "--state", "x")
    assert (wrong.code, "--state does not go with --fleet" in wrong.err) == (2, True)


def _by_hand(place: Site) -> None:
    """Only while the Fleet is suspended, and a plan remarks it."""
    work = str(place.folder / "work")
    refused = place.run("apply", work, "--yes", "--cluster", "edge-3")
    assert refused.code == 6
    assert "not applied by hand: cluster edge-3 is governed by Fleet gitops-mc/prod\n" in refused.err
    assert "or suspend that first: gitops-mc suspend --fleet prod --reason TEXT\n" in refused.err
    planned = place.run("plan", work, "--cluster", "edge-3")
    assert (planned.code, "gitops-mc apply would be refused" in planned.err) == (0, True)
    for looked in (place.run("status", work), place.run("why", "edge-3", work)):
        assert "governed by Fleet gitops-mc/prod" in looked.err
        assert "knows nothing of what the controller remembers" in looked.err
        assert "nothing moves until somebody runs" not in looked.out
    suspended = place.run("suspend", "--fleet", "prod", "--reason", "by hand today")
    assert suspended.code == 0
    assert "nothing is written until: gitops-mc resume --fleet prod" in suspended.err
    assert place.run("apply", work, "--yes", "--cluster", "edge-1").code == 0
    assert place.run("resume", "--fleet", "prod").code == 0


def _take_over(place: Site) -> None:
    place.call("PATCH", f"{GROUP}/fleets/prod", {"spec": {"activeOn": "the-other-site"}}, MERGE)
    refused = place.run("release", "edge-3", "--fleet", "prod")
    assert (refused.code, "gitops-mc takeover --fleet prod" in refused.err) == (6, True)
    asked = place.run("takeover", "--fleet", "prod", "--reason", "it is gone")
    assert (asked.code, "hint: --yes, if it is" in asked.err) == (2, True)
    assert place.fleet()["spec"]["activeOn"] == "the-other-site"
    taken = place.run("takeover", "--fleet", "prod", "--reason", "it is gone", "--yes")
    assert (taken.code, "    active on   the-other-site\n" in taken.out) == (0, True)
    assert place.fleet()["spec"]["suspend"] is True
    assert place.run("resume", "--fleet", "prod").code == 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("suspend", "--fleet", "prod"), "suspend needs a reason"),
        (("hold", "edge-1", "--fleet", "prod"), "hold needs a reason"),
        (("skip", "edge-1", "--fleet", "prod"), "skip needs a reason"),
        (("sync", "edge-1", "--fleet", "prod"), "Git is asked for the whole fleet"),
        (("sync", "--now", "--fleet", "prod"), "--now is for one cluster"),
        (("retry", "edge-1", "--override-window", "--fleet", "prod"), "--override-window needs a reason"),
        (("retry", "edge-1", "--now"), "--now belongs to --fleet"),
        (("release", "edge-1", "--state", "x.json", "--fleet", "prod"), "--state does not go with --fleet"),
        (("status", "--revision", "x", "--fleet", "prod"), "--revision does not go with --fleet"),
        (("why", "edge-9/worker", "--fleet", "prod"), "has no cluster edge-9"),
        (("why", "edge-1/nonsense", "--fleet", "prod"), "cluster edge-1 has no pool nonsense"),
        (
            ("hold", "edge-1", "--reason", "x", "--fleet", "lab"),
            "there is no Fleet lab in namespace gitops-mc",
        ),
        (("approve", "rest"), "Missing option '--fleet'"),
    ],
)
def test_what_makes_no_sense_is_wrong_usage(place: Site, arguments: tuple[str, ...], told: str) -> None:
    ended = place.run(*arguments)
    assert (ended.code, told in ended.err) == (2, True), ended.err
