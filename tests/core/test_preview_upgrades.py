"""The way of a module from one version to another: catalogs and versions in, steps and reasons out."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitops_mc.core.gates import Outcome, preflight
from gitops_mc.core.model import DOWNGRADE_ANNOTATION, Commit, JsonObject, Unknown
from gitops_mc.core.plan import machine_modules, module_order
from gitops_mc.core.preview.changed import ChangeOf, ClusterChange, ModuleChange, PullChanges
from gitops_mc.core.preview.upgrades import upgrade_paths, upgrades_of
from gitops_mc.core.rollout.moves import Standing
from gitops_mc.core.rollout.preview import ClusterPreview, FleetPreview
from tests.core.gate_worlds import NOW, with_fact
from tests.core.upgrade_worlds import EDGE, platform, published, running, wanting, way

UNREAD = Unknown("HTTP 503", NOW)

# ------------------------------------------------------------------------------------------------------- the shortest


@pytest.mark.parametrize(
    ("configs", "steps"),
    [
        ([published("v4.3.0")], ("v4.3.0",)),
        ([published("v4.3.0", ">=v4.0.0")], ("v4.3.0",)),
        ([published("v4.3.0", ">=v4.1.0"), published("v4.1.3", ">=v4.0.0")], ("v4.1.3", "v4.3.0")),
        (
            [
                published("v4.3.0", ">=v4.1.0"),
                published("v4.1.3", ">=v4.0.0"),
                published("v4.2.0", ">=v4.0.0"),
            ],
            ("v4.2.0", "v4.3.0"),
        ),
        (
            [
                published("v4.3.0", ">=v4.2.0"),
                published("v4.2.0", ">=v4.1.0"),
                published("v4.1.0", ">=v4.0.0"),
            ],
            ("v4.1.0", "v4.2.0", "v4.3.0"),
        ),
        (
            [
                published("v4.3.0", ">=v4.1.0"),
                published("v4.1.3", ">=v4.0.0", ready=False),
                published("v4.1.2", ">=v4.0.0"),
            ],
            ("v4.1.2", "v4.3.0"),
        ),
        (
            [
                published("v4.3.0", ">=v4.1.0"),
                published(
                    "v4.1.3", ">=v4.0.0", affinity={"clusterAffinity": {"matchLabels": {"gpu": "true"}}}
                ),
                published("v4.1.2", ">=v4.0.0"),
            ],
            ("v4.1.2", "v4.3.0"),
        ),
        ([published("v4.3.0", ">=v4.1.0"), published("v4.1.3", "in other words")], ("v4.1.3", "v4.3.0")),
        (
            [
                published("v4.3.0", ">=v4.1.0"),
                published("v4.1.3", "in other words"),
                published("v4.1.2", ">=v4.0.0"),
            ],
            ("v4.1.2", "v4.3.0"),
        ),
        ([published("v4.3.0", "in other words")], ("v4.3.0",)),
    ],
)
def test_the_way_of_the_fewest_steps_is_found_and_in_each_the_newest_version(
    configs: list[JsonObject], steps: tuple[str, ...]
) -> None:
    found = way("v4.0.0", "v4.3.0", *configs)
    assert found.steps == steps
    assert found.blocked is (len(steps) > 1)
    assert not found.unknown


def test_a_way_of_more_than_one_step_says_what_to_do_first() -> None:
    found = way("v4.0.0", "v4.3.0", published("v4.3.0", ">=v4.1.0"), published("v4.1.3", ">=v4.0.0"))
    (told,) = found.told
    assert told.startswith("not in one step: v4.3.0 can be reached from >=v4.1.0, live is v4.0.0; ")
    assert told.endswith("go to v4.1.3 first, each in a commit of its own")


def test_what_nobody_has_documented_is_left_to_the_platform_and_that_is_said() -> None:
    found = way("v4.0.0", "v4.3.0", published("v4.3.0", "in other words"))
    assert found.told == (
        'whether v4.3.0 can be reached from v4.0.0 is left to the platform: its catalog says "in other words"',
    )


# ------------------------------------------------------------------------------------------------------- why not

NO_WAY: dict[str, tuple[list[JsonObject], str]] = {
    "nothing between": (
        [published("v4.3.0", ">=v4.1.0")],
        "nothing between the two is published: upload a version that v4.3.0 can be reached from",
    ),
    "the ones between lead nowhere": (
        [
            published("v4.3.0", ">=v4.2.0"),
            published("v4.1.3", ">=v4.0.0"),
            published("v4.2.0", ">=v4.2.0-rc1"),
        ],
        "no way leads through v4.2.0 (from >=v4.2.0-rc1), v4.1.3 (from >=v4.0.0): upload a version that closes the gap",
    ),
    "the one between is not ready": (
        [published("v4.3.0", ">=v4.1.0"), published("v4.1.3", ">=v4.0.0", ready=False)],
        "v4.1.3 (ModuleConfig logs-v4.1.3 is not readyForDeploy yet)",
    ),
    "it is not published": (
        [published("v4.1.0")],
        "v4.3.0: not published yet (an upload takes the platform 10 to 15",
    ),
    "it is not ready": (
        [published("v4.3.0", ready=False)],
        "v4.3.0: ModuleConfig logs-v4.3.0 is not readyForDeploy yet",
    ),
    "the module is not known": (
        [published("v4.3.0", module="other")],
        "v4.3.0: there is no ModulePlugin logs",
    ),
    "not for this cluster": (
        [published("v4.3.0", affinity={"clusterAffinity": {"matchLabels": {"gpu": "true"}}})],
        f"v4.3.0: the labels of {EDGE} do not fit",
    ),
}


@pytest.mark.parametrize("world", NO_WAY)
def test_where_there_is_no_way_it_says_why_and_what_to_do(world: str) -> None:
    configs, told = NO_WAY[world]
    found = way("v4.0.0", "v4.3.0", *configs)
    assert (found.steps, found.blocked) == ((), True)
    assert told in " ".join(found.told)


def test_a_version_beyond_the_wanted_one_is_no_way_back_to_it() -> None:
    found = way("v4.0.0", "v4.3.0", published("v4.3.0", ">=v4.1.0"), published("v4.4.0", ">=v4.0.0"))
    assert found.steps == ()


def test_a_rival_that_is_installed_closes_the_way() -> None:
    infos = [running("v4.0.0"), running("v1.0.0", module="tuner")]
    config = published("v4.3.0", affinity={"pluginAntiAffinity": ["tuner"]})
    (found,) = upgrade_paths(wanting(logs="v4.3.0"), platform(infos, [config]))
    assert found.blocked
    assert found.told == ("v4.3.0: module tuner is installed, and excludes it",)


def test_a_module_of_life_cycle_core_goes_with_the_cluster() -> None:
    found = way("v4.0.0", "v4.3.0", published("v4.3.0"), info={"labels": {"cpaas.io/lifecycle-type": "Core"}})
    assert found.blocked
    assert "life cycle Core" in found.told[0]


# ------------------------------------------------------------------------------------------------- other than upwards


def test_what_is_not_installed_needs_no_way() -> None:
    found = way("", "v4.3.0", published("v4.3.0", ">=v9.0.0"))
    assert (found.live, found.steps, found.blocked, found.told) == ("", ("v4.3.0",), False, ())
    assert way("", "v4.3.0", published("v4.1.0")).blocked


def test_what_runs_already_is_not_told() -> None:
    assert upgrade_paths(wanting(logs="v1.0.0"), platform([running("v1.0.0")], [])) == ()


def test_an_older_version_is_not_gone_back_to_unless_it_is_asked_for_by_name() -> None:
    found = way("v4.3.0", "v4.0.0", published("v4.0.0"))
    assert (found.steps, found.blocked) == ((), False)
    assert f'the manifest says {DOWNGRADE_ANNOTATION}: "v4.0.0"' in found.told[0]
    (allowed,) = upgrade_paths(
        wanting({DOWNGRADE_ANNOTATION: "v4.0.0"}, logs="v4.0.0"),
        platform([running("v4.3.0")], [published("v4.0.0")]),
    )
    assert (allowed.steps, allowed.blocked) == (("v4.0.0",), False)
    assert "whether the platform goes back is not known" in allowed.told[0]


def test_versions_that_cannot_be_ordered_are_not_guessed_at() -> None:
    found = way("latest", "v4.0.0", published("v4.0.0"))
    assert (found.steps, found.blocked) == ((), True)


@pytest.mark.parametrize("fact", ["modules", "catalog"])
def test_what_was_not_read_is_unknown_and_neither_a_way_nor_none(fact: str) -> None:
    live = with_fact(platform([running("v4.0.0")], [published("v4.3.0")]), fact, UNREAD)
    (found,) = upgrade_paths(wanting(logs="v4.3.0"), live)
    assert "HTTP 503" in found.unknown
    assert (found.steps, found.blocked) == ((), False)


def test_labels_of_the_cluster_that_were_not_read_leave_its_affinity_closed() -> None:
    config = published("v4.3.0", affinity={"clusterAffinity": {"matchLabels": {"gpu": "true"}}})
    live = replace(platform([running("v4.0.0")], [config]), inventory=UNREAD)
    (found,) = upgrade_paths(wanting(logs="v4.3.0"), live)
    assert "labels of edge-01 not known" in found.told[0]


def test_only_the_modules_that_are_asked_for_are_told() -> None:
    live = platform([running("v1.0.0"), running("v1.0.0", module="base")], [published("v2.0.0")])
    desired = wanting(logs="v2.0.0", base="v2.0.0")
    assert [p.module for p in upgrade_paths(desired, live, ["logs"])] == ["logs"]
    assert [p.module for p in upgrade_paths(desired, live)] == ["base", "logs"]


def test_of_a_pull_request_those_are_told_whose_version_it_changes_cluster_by_cluster() -> None:
    live = platform([running("v1.0.0"), running("v1.0.0", module="base")], [published("v2.0.0")])
    desired = wanting(logs="v2.0.0", base="v2.0.0", auth="v1.0.0")
    shown = ClusterPreview(desired, live, "", Standing.READY, "", None)
    outcome = FleetPreview(Commit("c0ffee"), (), (shown,))
    modules = (
        ModuleChange("logs", ChangeOf.CHANGED, "v1.0.0", "v2.0.0", config=False),
        ModuleChange("base", ChangeOf.CHANGED, "v2.0.0", "v2.0.0", config=True),
        ModuleChange("gone", ChangeOf.REMOVED, "v1.0.0", "", config=False),
    )
    elsewhere = ClusterChange("edge-02", "", ChangeOf.CHANGED, modules=modules)
    here = replace(elsewhere, name=EDGE)
    found = upgrades_of(outcome, PullChanges((elsewhere, here), untouched=0))
    assert {name: [p.module for p in paths] for name, paths in found.items()} == {EDGE: ["logs"]}
    quiet = replace(here, modules=modules[1:])
    assert upgrades_of(outcome, PullChanges((quiet,), untouched=0)) == {}


# -------------------------------------------------------------------------------------------------------- dependencies

NEEDS = published("v2.0.0", dependencies=[{"moduleName": "zbase", "versionsMatch": [">=v4.0.0"]}])


def base(version: str) -> JsonObject:
    return published(version, module="zbase")


def test_a_dependency_that_comes_with_the_same_commit_is_written_first() -> None:
    live = platform([running("v1.0.0"), running("v3.0.0", module="zbase")], [NEEDS, base("v4.1.0")])
    first, then = upgrade_paths(wanting(logs="v2.0.0", zbase="v4.1.0"), live)
    assert (first.module, then.module) == ("zbase", "logs")
    assert not then.blocked
    assert then.told == (
        "v2.0.0: module zbase is at v3.0.0, wanted is any of >=v4.0.0; Git brings zbase v4.1.0, written before it",
    )


@pytest.mark.parametrize(
    ("infos", "wanted", "told"),
    [
        ([running("v1.0.0")], {}, "v2.0.0: it needs module zbase, which is not installed; bring that first"),
        (
            [running("v1.0.0"), running("v3.0.0", module="zbase")],
            {},
            "module zbase is at v3.0.0, wanted is any of",
        ),
        ([running("v1.0.0"), running("v3.0.0", module="zbase")], {"zbase": "v3.5.0"}, "bring that first"),
    ],
)
def test_a_dependency_that_nothing_brings_holds_it_up(
    infos: list[JsonObject], wanted: dict[str, str], told: str
) -> None:
    live = platform(infos, [NEEDS, base("v3.5.0")])
    found = next(p for p in upgrade_paths(wanting(None, logs="v2.0.0", **wanted), live) if p.module == "logs")
    assert found.blocked
    assert told in " ".join(found.told)


def test_modules_that_need_each_other_are_said_to_wait_in_vain() -> None:
    circle = published(
        "v4.1.0", module="zbase", dependencies=[{"moduleName": "logs", "versionsMatch": [">=v2.0.0"]}]
    )
    live = platform([running("v1.0.0"), running("v3.0.0", module="zbase")], [NEEDS, circle])
    found = upgrade_paths(wanting(logs="v2.0.0", zbase="v4.1.0"), live)
    assert [p.blocked for p in found] == [True, False]
    assert "written after it, so that it waits in vain" in found[0].told[0]


def test_a_dependency_in_words_that_nobody_has_documented_is_left_to_the_platform() -> None:
    config = published("v2.0.0", dependencies=[{"moduleName": "zbase", "versionsMatch": ["in other words"]}])
    live = platform([running("v1.0.0"), running("v3.0.0", module="zbase")], [config])
    (found,) = upgrade_paths(wanting(logs="v2.0.0"), live)
    assert not found.blocked
    assert "left to the platform" in found.told[0]


# ------------------------------------------------------------------------------------------- what else is to be known


def test_risk_order_and_what_the_platform_says_are_told_and_decide_nothing() -> None:
    offer = {
        "version": "v2.0.0",
        "description": "",
        "descriptionEn": "collectors\nrestart " + "x" * 400,
        "riskLevel": "high",
        "upgradeBefore": [{"moduleName": "zbase"}],
    }
    info = {
        "labels": {"cpaas.io/lifecycle-type": "Aligned"},
        "availableVersions": [offer],
        "blockReasons": ["a backup runs"],
        "phase": "Processing",
    }
    found = way("v1.0.0", "v2.0.0", published("v2.0.0"), info=info)
    assert (found.steps, found.blocked) == (("v2.0.0",), False)
    assert found.told[:3] == (
        "its phase is Processing",
        "the platform blocks upgrades of it: a backup runs",
        "an upgrade of the cluster moves it, too (life cycle Aligned)",
    )
    assert found.told[3].startswith(
        "v2.0.0: the platform rates the upgrade as a risk: high (collectors restart xxx"
    )
    assert len(found.told[3]) < 300
    assert found.told[4] == "v2.0.0: to be upgraded before module zbase"


def test_the_module_config_says_the_risk_where_the_platform_offers_nothing() -> None:
    config = published("v2.0.0", upgradeRiskLevel="middle", upgradeRiskDescriptionEn="one restart")
    found = way("v1.0.0", "v2.0.0", config)
    assert found.told == ("v2.0.0: the platform rates the upgrade as a risk: middle (one restart)",)
    quiet = way("v1.0.0", "v2.0.0", published("v2.0.0", upgradeRiskLevel="Low"))
    assert quiet.told == ()


def test_an_upgrade_that_is_under_way_is_told() -> None:
    found = way("v1.0.0", "v2.0.0", published("v2.0.0"), info={"asked": "v1.5.0"})
    assert "it is on its way from v1.0.0 to v1.5.0" in found.told


def test_one_that_is_to_be_upgraded_before_another_of_the_same_commit_is_written_first() -> None:
    earlier = published("v2.0.0", module="zbase", upgradeBefore=[{"moduleName": "logs"}])
    live = platform([running("v1.0.0"), running("v1.0.0", module="zbase")], [earlier, published("v2.0.0")])
    found = upgrade_paths(wanting(logs="v2.0.0", zbase="v2.0.0"), live)
    assert [p.module for p in found] == ["zbase", "logs"]
    assert (
        found[0]
        .told[0]
        .endswith("before module logs, which Git upgrades as well, and which is written after it")
    )


# ----------------------------------------------------------------------------------------------------------- the order


def depends(version: str, module: str, *others: str, before: tuple[str, ...] = ()) -> JsonObject:
    return published(
        version,
        module=module,
        dependencies=[{"moduleName": other} for other in others],
        upgradeBefore=[{"moduleName": other} for other in before],
    )


@pytest.mark.parametrize(
    ("configs", "order"),
    [
        ([], ("machine-config", "a", "b", "c")),
        ([depends("v1", "a", "c")], ("machine-config", "c", "a", "b")),
        ([depends("v1", "a", "b"), depends("v1", "b", "c")], ("machine-config", "c", "b", "a")),
        ([depends("v1", "machine-config", "c")], ("c", "machine-config", "a", "b")),
        ([depends("v1", "c", before=("a",))], ("machine-config", "c", "a", "b")),
        ([depends("v1", "a", "b"), depends("v1", "b", "a")], ("machine-config", "b", "a", "c")),
        ([depends("v1", "a", "elsewhere")], ("machine-config", "a", "b", "c")),
        ([depends("v1", "c", before=("machine-config",))], ("machine-config", "a", "b", "c")),
    ],
)
def test_modules_are_written_after_what_they_depend_on_and_what_asks_to_come_first(
    configs: list[JsonObject], order: tuple[str, ...]
) -> None:
    desired = wanting(a="v1", b="v1", c="v1", machine_config="v1")
    live = platform([], configs)
    assert module_order(desired, live) == order
    assert module_order(desired, live)[: len(machine_modules(desired, live))] == machine_modules(
        desired, live
    )


# --------------------------------------------------------------------------------------------------------- properties

VERSIONS = [f"v1.{minor}.0" for minor in range(6)]
BOUNDS = st.sampled_from(["", *(f">={v}" for v in VERSIONS), *(f">={v}, <v1.4.0" for v in VERSIONS), "words"])
CATALOGS = st.lists(
    st.builds(
        lambda v, bound, ready: published(v, bound, ready=ready),
        st.sampled_from(VERSIONS[1:]),
        BOUNDS,
        st.booleans(),
    ),
    min_size=1,
    unique_by=lambda c: str(c["spec"]["version"]),
)


def admitted(live: str, version: str, configs: list[JsonObject]) -> bool:
    """What the gate before the step says, on a cluster that stands where the step begins."""
    found = preflight(platform([running(live)], configs), "logs", version)
    return all(check.outcome in (Outcome.MET, Outcome.UNCHECKED) for check in found)


@given(CATALOGS)
def test_every_step_of_a_way_is_one_that_the_gate_admits(configs: list[JsonObject]) -> None:
    found = way("v1.0.0", "v1.5.0", *configs)
    for live, version in zip(("v1.0.0", *found.steps), found.steps, strict=False):
        assert admitted(live, version, configs), (live, version)
    if not found.blocked:
        assert found.steps == ("v1.5.0",)


@given(CATALOGS)
def test_where_it_says_that_there_is_no_way_none_of_any_length_is_admitted(configs: list[JsonObject]) -> None:
    found = way("v1.0.0", "v1.5.0", *configs)
    reached, ways = {"v1.0.0"}, {"v1.0.0": 0}
    for version in VERSIONS[1:]:
        lengths = [ways[live] for live in reached if admitted(live, version, configs)]
        if lengths:
            reached.add(version)
            ways[version] = min(lengths) + 1
    assert bool(found.steps) is ("v1.5.0" in reached)
    if found.steps and "words" not in str(configs):
        assert len(found.steps) == ways["v1.5.0"]
