"""First contact changes nothing: whatever a cluster has grown into, what is imported and read again leaves it as it is."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

import pytest

from gitops_mc.core.authoring.choosing import choose
from gitops_mc.core.authoring.faithful import Checked, sends_live_bytes
from gitops_mc.core.authoring.importing import Secrets, bring
from gitops_mc.core.authoring.writing import Style
from gitops_mc.core.diff import Adopt, ClusterDiff, diff_cluster
from gitops_mc.core.model import Kind, Known, ResourceKey, canonical_json
from gitops_mc.core.policy import Sensitive
from tests.core.import_world import CLUSTER, Site, as_read, grown

A_RUN = 50
RUNS = [*range(0, 100, A_RUN), *(pytest.param(n, marks=pytest.mark.slow) for n in range(100, 1000, A_RUN))]


@pytest.mark.parametrize("begin", RUNS)
def test_what_was_imported_is_adopted_and_nothing_else_happens(begin: int) -> None:
    seen: Counter[str] = Counter()
    for seed in range(begin, begin + A_RUN):
        world = grown(seed)
        live = as_read(world)
        site = Site()
        choice, found = site.bring(live)
        site.keep(found)
        if not found.brought:
            continue
        state = site.state()
        cluster = state.cluster(CLUSTER)
        assert cluster is not None
        assert not cluster.blocked, (seed, cluster.problems)
        diff = diff_cluster(cluster, live, {}, fleet=state.policy.name)
        assert (diff.refusals, diff.drifts, diff.newer) == ((), (), ()), seed
        assert {orphan.key for orphan in diff.orphans} <= {left.key for left in found.left_out}, seed
        picked = {one.key: one for one in choice.picked}
        for change in diff.changes:
            assert isinstance(change, Adopt), (seed, change)
            assert sends_live_bytes(picked[change.key], change.body), (seed, change.key)
        assert {c.key for c in diff.changes} | set(diff.unchanged) == found.keys
        assert found.keys | {left.key for left in found.left_out} >= picked.keys()
        seen.update(key.kind.value for key in found.keys)
        seen["left out"] += len(found.left_out)
    assert {kind.value for kind in Kind} | {"left out"} <= seen.keys(), (
        "the drawn clusters have some of everything"
    )


@pytest.mark.parametrize("seed", range(0, 40, 4))
def test_sent_to_the_server_an_import_moves_nothing_but_our_marks(seed: int) -> None:
    world = grown(seed)
    site = Site()
    _, found = site.bring(as_read(world))
    site.keep(found)
    cluster = site.state().cluster(CLUSTER)
    assert cluster is not None
    before = {
        key: canonical_json(_live(world.live(), key))
        for key in found.keys
        if key.kind is not Kind.MODULE_INFO
    }
    world.roll(*(manifest.body for manifest in cluster.manifests))
    after = {key: canonical_json(_live(world.live(), key)) for key in before}
    assert after == before
    settled = world.diff(*(manifest.body for manifest in cluster.manifests))
    assert settled.changes == ()


def _live(live: object, key: ResourceKey) -> object:
    facts = {
        Kind.MACHINE_CONFIG: "configs",
        Kind.MACHINE_CONFIG_POOL: "pools",
        Kind.MACHINE_CONFIGURATION: "policies",
    }
    fact = getattr(live, facts[key.kind])
    assert isinstance(fact, Known)
    return fact.value[key.name]["spec"]


@pytest.mark.parametrize("seed", range(0, 60, 6))
def test_a_second_import_has_nothing_to_add_and_says_why(seed: int) -> None:
    live = as_read(grown(seed))
    site = Site()
    _, first = site.bring(live)
    site.keep(first)
    standing = dict(site.files)
    _, again = site.bring(live)
    assert again.files == ()
    assert site.files == standing
    told = {left.key: left.reason for left in again.left_out}
    assert {told[key] for key in first.keys} <= {"the repository has it already"}


@pytest.mark.parametrize("seed", range(0, 60, 6))
def test_an_import_is_the_same_bytes_every_time(seed: int) -> None:
    live = as_read(grown(seed))
    first, second = (Site().bring(live)[1].files for _ in range(2))
    assert first == second


def test_what_reads_otherwise_when_readable_is_written_as_it_stands_and_else_left_out() -> None:
    live = as_read(grown(5))
    choice = choose(live, frozenset(), "default")
    assert len(choice.picked) > 1
    stubborn, refused = (one.key for one in choice.picked[:2])
    tried: list[dict[ResourceKey, bytes]] = []

    def trial(drafts: object, picked: object) -> Checked:
        assert isinstance(drafts, tuple)
        tried.append({draft.key: draft.manifest.data for draft in drafts})
        there = tried[-1].keys()
        wrong = {key: "it differs" for key in (stubborn, refused) if key in there and len(tried) == 1}
        if len(tried) > 1 and refused in there:
            wrong[refused] = "it still differs"
        return Checked(wrong, (), ClusterDiff(CLUSTER))

    found = bring(
        CLUSTER,
        choice,
        taken=(),
        sensitive=Sensitive(),
        secrets=Secrets.WRITE,
        contents=Style.READABLE,
        trial=trial,
    )
    styles = {one.picked.key: one.style for one in found.brought}
    assert styles.pop(stubborn) is Style.VERBATIM
    assert set(styles.values()) == {Style.READABLE}
    assert refused not in styles
    assert tuple(left.reason for left in found.left_out if left.key == refused) == ("it still differs",)


def test_files_that_are_there_are_never_taken_as_a_place() -> None:
    live = as_read(grown(3))
    taken = dict.fromkeys((f.path for f in Site().bring(live)[1].files), b"# not a manifest\n")
    site = Site({path: data for path, data in taken.items() if path.endswith(".yaml")})
    _, found = site.bring(live)
    assert found.files
    assert not {file.path for file in found.files} & site.files.keys()
    assert any(re.search(r"-imported\.yaml$", file.path) for file in found.files)


def test_objects_of_another_fleet_and_of_another_controller_stay_out() -> None:
    live = as_read(grown(5))
    assert isinstance(live.configs, Known)
    bodies = dict(live.configs.value)
    first, second = [name for name in bodies if not name.startswith("00-")][:2]
    bodies[first] = _with_meta(bodies[first], labels={"gitops-mc.io/fleet": "other"})
    bodies[second] = _with_meta(
        bodies[second], ownerReferences=[{"kind": "KubeletConfig", "name": "large", "controller": True}]
    )
    _, found = Site().bring(replace(live, configs=Known(bodies, live.configs.at)))
    told = {left.key.name: left.reason for left in found.left_out}
    assert "another fleet governs it" in told[first]
    assert told[second] == "KubeletConfig large makes and keeps it"


def _with_meta(body: dict[str, object], **more: object) -> dict[str, object]:
    meta = body["metadata"]
    assert isinstance(meta, dict)
    return {**body, "metadata": {**meta, **more}}


def test_what_fleet_yaml_ignores_is_not_written_where_it_would_not_be_read() -> None:
    fleet = b'apiVersion: gitops-mc.io/v1alpha1\nkind: FleetConfig\nspec:\n  ignore: ["**/pool-*"]\n'
    imports = (Site({"fleet.yaml": fleet}).bring(as_read(grown(seed)))[1] for seed in range(40))
    pools = next(one for one in imports if any("ignore" in left.reason for left in one.left_out))
    told = {left.reason for left in pools.left_out if left.key.kind is Kind.MACHINE_CONFIG_POOL}
    assert any("would not be read (does `ignore` of fleet.yaml cover it?)" in reason for reason in told)
    assert not [file.path for file in pools.files if "/pool-" in file.path]


def test_what_a_shared_set_brings_is_told_beside_the_import() -> None:
    fleet = b"apiVersion: gitops-mc.io/v1alpha1\nkind: FleetConfig\nspec:\n  shared: [{path: shared/base, clusters: {}}]\n"
    config = (
        b"apiVersion: machineconfiguration.alauda.io/v1alpha1\nkind: MachineConfig\nmetadata:\n  name: 70-worker-new\n"
        b"  labels: {machineconfiguration.alauda.io/role: worker}\nspec: {config: {ignition: {version: 3.4.0}}}\n"
    )
    site = Site({"fleet.yaml": fleet, "shared/base/new.yaml": config})
    _, found = site.bring(as_read(grown(3)))
    assert found.brought
    (beside,) = found.beside
    assert (type(beside).__name__, beside.key.name) == ("Create", "70-worker-new")


@pytest.mark.parametrize("seed", range(0, 90, 3))
def test_asked_for_exactly_what_the_repository_renders_is_byte_for_byte_what_stands_there(seed: int) -> None:
    live = as_read(grown(seed))
    site = Site()
    choice, found = site.bring(live, contents=Style.EXACT)
    site.keep(found)
    cluster = site.state().cluster(CLUSTER)
    standing = {one.key: one.live["spec"] for one in choice.picked}
    for key in (key for key in found.keys if key.kind is Kind.MACHINE_CONFIG):
        manifest = cluster.get(key) if cluster is not None else None
        assert manifest is not None
        assert canonical_json(manifest.body["spec"]) == canonical_json(standing[key])
