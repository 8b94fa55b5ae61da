"""What a pull request changes, by Git alone."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitops_mc.core.desired import DesiredState, load
from gitops_mc.core.preview.changed import ChangeOf, ClusterChange, PullChanges
from gitops_mc.core.preview.changes import pull_changes
from gitops_mc.core.preview.digest import pull_digest
from gitops_mc.core.preview.model import NoLive, State
from gitops_mc.core.preview.verdict import verdict_of
from tests.core.desired_repositories import FLEET, desired, files, module
from tests.core.preview_cases import CASES, changes_of, texts

HEAD = "apiVersion: machineconfiguration.alauda.io/v1alpha1\n"


def config(name: str, path: str = "/etc/a", text: str = "1", role: str = "worker", line: str = "") -> str:
    return (
        f"{line}{HEAD}kind: MachineConfig\n"
        f"metadata: {{name: {name}, labels: {{machineconfiguration.alauda.io/role: {role}}}}}\n"
        "spec:\n  config:\n    ignition: {version: 3.4.0}\n    storage:\n      files:\n"
        f"        - {{path: {path}, mode: 0644, contents: {{inline: {text!r}}}}}\n"
    )


def policy(**restarts: str) -> str:
    entries = ", ".join(
        f"{{path: /etc/{path}, actions: [{{type: Restart, restart: {{serviceName: {unit}}}}}]}}"
        for path, unit in restarts.items()
    )
    return f"{HEAD}kind: MachineConfiguration\nmetadata: {{name: cluster}}\nspec: {{nodeDisruptionPolicy: {{files: [{entries}]}}}}\n"


def changes(before: dict[str, str], after: dict[str, str]) -> PullChanges:
    return pull_changes(desired(before), desired(after))


def only(found: PullChanges) -> ClusterChange:
    (cluster,) = found.clusters
    return cluster


def told(found: ClusterChange) -> dict[str, list[str]]:
    return {p.pool: [str(a) for a in p.disruption.actions] for p in found.pools}


A = "clusters/edge-01/a.yaml"
PRUNE = {"fleet.yaml": FLEET + "  prune: {enabled: true}\n"}


def test_the_same_twice_changes_nothing() -> None:
    state: DesiredState = desired({A: config("50-worker-a")})
    found = pull_changes(state, state)
    assert found.clusters == ()
    assert found.untouched == 1
    assert not found.settings
    assert not found.new_problems
    assert not found.solved
    assert pull_digest(found) == pull_digest(changes({A: config("50-worker-a")}, {A: config("50-worker-a")}))


def test_a_file_that_no_policy_covers_is_written_and_inert() -> None:
    cluster = only(changes({A: config("50-worker-a")}, {A: config("50-worker-a", text="2")}))
    assert [(str(o.key), o.change) for o in cluster.objects] == [
        ("edge-01/MachineConfig/50-worker-a", ChangeOf.CHANGED)
    ]
    assert told(cluster) == {"worker": ["nothing restarts"]}
    (pool,) = cluster.pools
    assert [str(i.entry) for i in pool.inert] == ["file /etc/a"]
    assert str(pool.entries[0].decides.place) == "clusters/edge-01/a.yaml:9:11"


def test_a_change_of_nothing_but_lines_and_comments_touches_nobody() -> None:
    found = changes({A: config("50-worker-a")}, {A: config("50-worker-a", line="# why\n\n")})
    assert found.clusters == ()
    assert found.new_problems == found.solved == ()
    assert [p.place.line for p in found.old_problems] == [11]


def test_the_same_bytes_in_another_encoding_change_no_node() -> None:
    other = config("50-worker-a").replace("inline: '1'", "source: 'data:,1'")
    cluster = only(changes({A: config("50-worker-a")}, {A: other}))
    (pool,) = cluster.pools
    assert pool.entries == ()
    assert not pool.disruption.causes
    assert [w.reason for w in pool.without_effect] == [
        "its files, units, keys and kernel arguments are as they were"
    ]


def test_a_file_that_moves_in_the_repository_changes_nothing() -> None:
    found = changes({A: config("50-worker-a")}, {"clusters/edge-01/b/a.yaml": config("50-worker-a")})
    assert found.clusters == ()


# ---------------------------------------------------------------------------------------------------- who is touched


def fleet(*waves: str, more: str = "") -> dict[str, str]:
    listed = ", ".join(waves)
    return {"fleet.yaml": FLEET + f"  rollout: {{waves: [{listed}]}}\n{more}"}


def cluster_files(*names: str, text: str = "1") -> dict[str, str]:
    return {f"clusters/{name}/a.yaml": config("50-worker-a", text=text) for name in names}


CANARY, REST = "{name: canary, clusters: {names: [edge-02]}}", "{name: rest, clusters: {}}"


def test_clusters_stand_in_the_order_of_head_s_waves() -> None:
    names = ("edge-01", "edge-02", "global")
    found = changes(
        {**fleet(CANARY, REST), **cluster_files(*names)},
        {**fleet(CANARY, REST), **cluster_files(*names, text="2")},
    )
    assert [(c.name, c.wave) for c in found.clusters] == [
        ("edge-02", "canary"),
        ("edge-01", "rest"),
        ("global", "rest"),
    ]


def test_a_folder_that_comes_brings_its_objects_and_one_that_goes_deletes_nothing() -> None:
    found = changes({**PRUNE, **cluster_files("edge-01")}, {**PRUNE, **cluster_files("edge-02")})
    assert [(c.name, c.membership, c.content_changes) for c in found.clusters] == [
        ("edge-02", ChangeOf.ADDED, True),
        ("edge-01", ChangeOf.REMOVED, False),
    ]
    assert not found.clusters[1].objects
    assert not found.clusters[1].pools
    assert found.untouched == 0


def test_a_cluster_that_falls_into_another_wave_is_told_with_the_one_it_leaves() -> None:
    files = cluster_files("edge-01", "edge-02", "edge-03")
    found = changes(
        {**fleet(CANARY, REST), **files}, {**fleet(CANARY.replace("edge-02", "edge-03"), REST), **files}
    )
    assert [(c.name, c.moved_from, c.wave) for c in found.clusters] == [
        ("edge-03", "rest", "canary"),
        ("edge-02", "canary", "rest"),
    ]
    assert found.untouched == 1


def test_waves_where_there_were_none_are_a_setting_and_move_nobody() -> None:
    files = cluster_files("edge-01", "edge-02")
    found = changes(files, {**fleet(CANARY, REST), **files})
    assert found.clusters == ()
    assert ("spec.rollout.waves", "", "[canary, rest]") in [
        (s.path, s.before, s.after) for s in found.settings
    ]


def test_an_error_of_one_cluster_blocks_it_and_nothing_is_said_of_its_nodes() -> None:
    broken = config("50-worker-a", text="2").replace("3.4.0", "3.2.0")
    found = changes(
        cluster_files("edge-01", "edge-02"), {**cluster_files("edge-01", "edge-02", text="2"), A: broken}
    )
    assert [(c.name, [p.rule for p in c.blocked], bool(c.pools)) for c in found.clusters] == [
        ("edge-01", ["ignition-version"], False),
        ("edge-02", [], True),
    ]


def test_a_cluster_that_an_error_blocks_no_longer_is_touched_though_its_objects_are_the_same() -> None:
    double = {"clusters/edge-01/b.yaml": config("50-worker-a")}
    found = changes({**cluster_files("edge-01"), **double}, cluster_files("edge-01"))
    assert [c.name for c in found.clusters] == ["edge-01"]
    assert [p.rule for p in found.solved] == ["manifest-double"]


def test_a_fleet_yaml_that_cannot_be_read_blocks_all_and_no_setting_is_made_up() -> None:
    files = cluster_files("edge-01")
    found = changes(
        {**fleet(CANARY, REST), **files}, {**fleet("{nam: x}"), **cluster_files("edge-01", text="2")}
    )
    assert found.fleet_blocked
    assert found.settings == ()
    assert (found.clusters, found.untouched) == ((), 1)


def test_what_repairs_a_fleet_yaml_is_not_shown_as_if_the_fleet_had_been_empty() -> None:
    """Who had which shared set nobody can tell; the clusters had what they have all the same."""
    files = cluster_files("edge-01")
    found = changes({**fleet("{nam: x}"), **files}, {**fleet(CANARY, REST), **files})
    assert (found.base_blocked, found.fleet_blocked) == (True, False)
    assert (found.clusters, found.settings) == ((), ())
    verdict = verdict_of(found, NoLive("Git alone"), str)
    assert verdict.state is State.UNKNOWN
    assert verdict.line.startswith("unknown: it repairs fleet.yaml, ")


# ---------------------------------------------------------------------------------------------- what a removal comes to


def test_a_removed_config_stays_while_prune_is_off_and_in_the_commit_that_turns_it_on() -> None:
    both = {A: config("50-worker-a"), "clusters/edge-01/b.yaml": config("50-worker-b", "/etc/b")}
    for before, after, kept in (
        ({}, {}, "prune is not enabled in fleet.yaml"),
        ({}, PRUNE, "prune is not enabled in fleet.yaml"),
        (PRUNE, PRUNE, ""),
    ):
        cluster = only(changes({**before, **both}, {**after, A: both[A]}))
        assert [o.kept for o in cluster.objects] == [kept]
        assert cluster.content_changes == (not kept)
        assert told(cluster) == ({} if kept else {"worker": ["nothing restarts"]})


def test_what_stays_goes_on_overriding_and_says_that_git_has_it_no_more() -> None:
    before = {A: config("50-worker-a"), "clusters/edge-01/b.yaml": config("60-worker-b", text="of b")}
    cluster = only(changes(before, {A: config("50-worker-a", text="2")}))
    (pool,) = cluster.pools
    assert [(o.config, o.place) for o in pool.configs][1] == ("60-worker-b", None)
    assert [w.reason for w in pool.without_effect] == ["what it changes is overridden by 60-worker-b"]
    assert not pool.disruption.causes


def test_a_policy_s_manifest_that_goes_leaves_its_entries_in_force() -> None:
    before = {A: config("50-worker-a"), "clusters/edge-01/p.yaml": policy(a="a.service")}
    cluster = only(changes({**PRUNE, **before}, {**PRUNE, A: config("50-worker-a", text="2")}))
    assert told(cluster) == {"worker": ["restart a.service"]}
    assert "never deleted" in next(o.kept for o in cluster.objects if o.change is ChangeOf.REMOVED)


def test_more_than_may_go_at_once_is_known_to_be_refused() -> None:
    limit = {"fleet.yaml": FLEET + "  prune: {enabled: true, maxDeletes: 2}\n"}
    three = {f"clusters/edge-01/{n}.yaml": config(f"5{n}-worker-a", f"/etc/{n}") for n in range(4)}
    keep = "clusters/edge-01/0.yaml"
    cluster = only(changes({**limit, **three}, {**limit, keep: three[keep]}))
    objects, entries = cluster.refused
    assert objects.startswith("3 objects would be deleted, more than prune.maxDeletes (2)")
    assert entries.startswith("3 files and units would leave pool worker, more than prune.maxDeletes (2)")
    loosened = {"fleet.yaml": FLEET + "  prune: {enabled: true, maxDeletes: 5}\n"}
    assert only(changes({**limit, **three}, {**loosened, keep: three[keep]})).refused
    assert not only(changes({**loosened, **three}, {**loosened, keep: three[keep]})).refused


@pytest.mark.parametrize("annotation", ["disabled", "confirmed"])
def test_what_its_manifest_says_of_prune_counts(annotation: str) -> None:
    kept = config("50-worker-b", "/etc/b").replace(
        "{name:", f'{{annotations: {{gitops-mc.io/prune: "{annotation}"}}, name:', 1
    )
    both = {**PRUNE, A: config("50-worker-a"), "clusters/edge-01/b.yaml": kept}
    (gone,) = only(changes(both, {**PRUNE, A: both[A]})).objects
    assert bool(gone.kept) == (annotation == "disabled")


def test_the_module_that_all_rests_on_stays_unless_its_removal_was_confirmed() -> None:
    manifest = module("machine-config", "cpaas.io/cluster-name: edge-01", "name: edge-01-temporary-name,")
    both = {**PRUNE, A: config("50-worker-a"), "clusters/edge-01/m.yaml": manifest}
    cluster = only(changes(both, {**PRUNE, A: both[A]}))
    assert "confirmed" in cluster.objects[0].kept
    assert not cluster.modules


# --------------------------------------------------------------------------------------------------------------- pools


def pool(name: str) -> str:
    return (
        f"{HEAD}kind: MachineConfigPool\nmetadata: {{name: {name}}}\nspec:\n"
        "  machineConfigSelector: {matchExpressions: [{key: machineconfiguration.alauda.io/role, operator: In, "
        f"values: [worker, {name}]}}]}}\n  nodeSelector: {{matchLabels: {{role: {name}}}}}\n"
    )


POOL = {"clusters/edge-01/pool.yaml": pool("infra")}


def test_a_pool_that_is_new_is_told_as_a_node_of_pool_worker_sees_it() -> None:
    files = {
        A: config("50-worker-a"),
        "clusters/edge-01/i.yaml": config("60-infra-b", "/etc/b", role="infra"),
    }
    cluster = only(changes({A: files[A]}, {**files, **POOL}))
    (infra,) = cluster.pools
    assert (infra.pool, infra.comes_from) == ("infra", "worker")
    assert [str(e.change) for e in infra.entries] == ["file /etc/b added"]


def test_a_pool_that_its_manifest_holds_says_so() -> None:
    held = {"clusters/edge-01/pool.yaml": pool("infra") + "  paused: true\n"}
    cluster = only(changes({**held, A: config("50-worker-a")}, {**held, A: config("50-worker-a", text="2")}))
    assert {p.pool: p.paused for p in cluster.pools} == {"infra": True, "worker": False}


def test_a_pool_whose_manifest_goes_stays_as_long_as_it_has_nodes_and_they_go_with_it() -> None:
    files = {
        **PRUNE,
        **POOL,
        A: config("50-worker-a"),
        "clusters/edge-01/i.yaml": config("60-infra-b", "/etc/b", role="infra"),
    }
    cluster = only(changes(files, {**PRUNE, A: files[A]}))
    (infra,) = cluster.pools
    assert (infra.pool, [str(e.change) for e in infra.entries]) == ("infra", ["file /etc/b removed"])


def test_a_result_that_depends_on_the_merge_order_says_so() -> None:
    files = {**POOL, "clusters/edge-01/i.yaml": config("40-infra-b", text="infra", role="infra")}
    cluster = only(changes(files, {**files, A: config("50-worker-a")}))
    assert {p.pool: p.order_matters for p in cluster.pools} == {"infra": True, "worker": False}


def test_a_config_that_no_pool_selects_is_told_apart() -> None:
    cluster = only(
        changes(
            cluster_files("edge-01"),
            {**cluster_files("edge-01"), "clusters/edge-01/g.yaml": config("50-gpu-a", role="gpu")},
        )
    )
    assert [w.config.config for w in cluster.unselected] == ["50-gpu-a"]
    assert cluster.pools == ()


def test_who_decides_who_helps_and_who_is_overridden_stand_with_their_lines() -> None:
    mode = config("60-worker-b").replace(
        "{path: /etc/a, mode: 0644, contents: {inline: '1'}}", "{path: /etc/a, mode: 0600}"
    )
    before = {
        A: config("40-worker-a", text="old"),
        "clusters/edge-01/m.yaml": config("50-worker-m", text="helps"),
    }
    cluster = only(changes(before, {**before, "clusters/edge-01/z.yaml": mode}))
    (entry,) = cluster.pools[0].entries
    assert entry.change.fields == ("mode",)
    assert str(entry.decides.place) == "clusters/edge-01/z.yaml:9:11"
    assert [o.config for o in entry.others] == ["50-worker-m"]
    assert [o.config for o in entry.overridden] == ["40-worker-a"]


# ------------------------------------------------------------------------------------------------------- shared alike


def many(clusters: int, text: str) -> dict[str, str]:
    shared = {f"shared/base/{n}.yaml": config(f"5{n}-worker-a", f"/etc/{n}", text) for n in range(10)}
    return {
        "fleet.yaml": FLEET + "  shared: [{path: shared/base, clusters: {}}]\n",
        **shared,
        **{f"clusters/edge-{n:03}/README": "" for n in range(clusters)},
    }


def test_what_hundreds_of_clusters_share_is_worked_out_once() -> None:
    found = changes(many(300, "1"), many(300, "2"))
    assert len(found.clusters) == 300
    assert len({id(c.pools) for c in found.clusters}) == 1
    assert all(len(c.objects) == 10 for c in found.clusters)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.sampled_from(CASES), st.randoms(use_true_random=False))
def test_the_order_of_files_does_not_matter(case: str, random: Random) -> None:
    before, after = (list(files(texts(case, side))) for side in ("base", "head"))
    random.shuffle(before)
    random.shuffle(after)
    found = pull_changes(load(before, cache={}), load(after, cache={}))
    assert pull_digest(found) == pull_digest(changes_of(case))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("side", ["base", "head"])
def test_a_revision_against_itself_changes_nothing(case: str, side: str) -> None:
    found = changes(texts(case, side), texts(case, side))
    assert (found.clusters, found.settings, found.new_problems, found.solved) == ((), (), (), ())
