"""What is drawn, and what it comes to for nodes and pools."""

from __future__ import annotations

import math
from datetime import timedelta
from statistics import fmean, median, stdev

import pytest

from gitops_mc.core.forecast.beliefs import Belief, beliefs, sizes_of
from gitops_mc.core.forecast.drawing import spread_normals, uniforms
from gitops_mc.core.forecast.makespans import NODE_SPREAD, Size, makespans
from gitops_mc.core.forecast.model import Basis
from gitops_mc.core.policy import Gates, PoolGatePolicy
from gitops_mc.core.rollout.paces import KEPT_PACES, MOST_PACES, Pace, Work, with_pace

SAMPLES = 200
GATES = Gates(pool=PoolGatePolicy(per_node=timedelta(minutes=10)))


def believed(
    paces: dict[str, tuple[Pace, ...]], work: Work = Work.REBOOT
) -> tuple[dict[str, Belief], Belief]:
    spans = makespans(sizes_of(p for each in paces.values() for p in each), SAMPLES, 0)
    own, others = beliefs(work, paces, GATES, spans)
    return dict(own), others


def minutes(belief: Belief) -> float:
    return math.exp(belief.mean) / 60


# ---------------------------------------------------------------------------------------------------------- numbers


def test_the_numbers_are_those_of_the_published_generator() -> None:
    published = (0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F)  # SplitMix64 from state 0
    assert list(uniforms(0, 0, 3)) == [(number >> 11) * 2.0**-53 + 2.0**-54 for number in published]


def test_numbers_lie_between_0_and_1_and_streams_differ() -> None:
    found = uniforms(1, 2, 10_000)
    assert 0 < min(found) < 0.001
    assert 0.999 < max(found) < 1
    assert fmean(found) == pytest.approx(0.5, abs=0.01)
    assert list(found[:5]) != list(uniforms(1, 3, 5))
    assert list(found[:5]) != list(uniforms(2, 2, 5))


def test_normal_numbers_are_spread_evenly_however_few_they_are() -> None:
    found = spread_normals(1, 2, SAMPLES)
    assert fmean(found) == pytest.approx(0, abs=1e-9)
    assert stdev(found) == pytest.approx(1, abs=0.02)
    assert list(found) != sorted(found)


# ------------------------------------------------------------------------------------------------------------ pools


def test_nodes_one_at_a_time_take_the_sum_and_all_at_once_the_longest() -> None:
    found = makespans([(1, 1), (10, 1), (10, 10)], SAMPLES, 0)
    mean = math.exp(NODE_SPREAD**2 / 2)
    assert fmean(found[10, 1].draws) == pytest.approx(10 * mean, rel=0.02)
    assert fmean(found[1, 1].draws) == pytest.approx(mean, rel=0.05)
    assert 1.3 < median(found[10, 10].draws) < 1.6


def test_more_at_once_is_never_slower_and_more_nodes_never_faster() -> None:
    sizes = [(n, k) for n in (1, 2, 5, 9, 40, 300, 1000) for k in (1, 2, 4, 50)]
    found = makespans(sizes, SAMPLES, 0)
    by_limit: dict[int, list[float]] = {}
    for nodes, at_once in sizes:
        by_limit.setdefault(at_once, []).append(median(found[nodes, at_once].draws))
    for spans in by_limit.values():
        assert spans == sorted(spans)
    for few, more in zip(by_limit[1], by_limit[4], strict=True):
        assert more <= few * 1.1


def test_a_large_pool_takes_as_long_as_its_rounds_say() -> None:
    found = makespans([(256, 8), (1024, 32), (1024, 8)], SAMPLES, 0)
    assert median(found[1024, 32].draws) == pytest.approx(median(found[256, 8].draws), rel=0.05)
    assert median(found[1024, 8].draws) == pytest.approx(4 * median(found[256, 8].draws), rel=0.05)


def test_a_size_takes_the_same_whatever_else_is_asked_for() -> None:
    alone: Size = (5, 2)
    assert makespans([alone], SAMPLES, 3)[alone] == makespans([(1, 1), (50, 2), alone], SAMPLES, 3)[alone]


# ---------------------------------------------------------------------------------------------------------- beliefs


def test_without_a_history_nine_nodes_of_ten_stay_within_per_node() -> None:
    _, others = believed({})
    spread = math.sqrt(others.shared**2 + others.own**2 + NODE_SPREAD**2)
    ninth = math.exp(others.mean + 1.2816 * spread) / 60
    assert ninth == pytest.approx(10, rel=0.01)
    assert (others.rests_on.basis, others.rests_on.rollouts) == (Basis.SETTINGS, 0)


def test_the_default_is_told_as_one() -> None:
    _, others = beliefs(Work.REBOOT, {}, Gates(), {})
    assert others.rests_on.basis is Basis.DEFAULT
    assert others.rests_on.told == "nodes that reboot: gates.pool.perNode (20m, the default)"


@pytest.mark.parametrize(("nodes", "at_once"), [(1, 1), (12, 1), (12, 4), (3, 3)])
def test_a_history_tells_what_the_median_node_takes_whatever_the_sizes_were(nodes: int, at_once: int) -> None:
    span = median(makespans([(nodes, at_once)], SAMPLES, 0)[nodes, at_once].draws)
    paces = tuple(Pace(Work.REBOOT, nodes, at_once, round(3 * 60 * span) + 6) for _ in range(16))
    own, others = believed({"edge-1": paces, "edge-2": paces, "edge-3": paces})
    assert minutes(own["edge-1"]) == pytest.approx(3, rel=0.05)
    assert minutes(others) == pytest.approx(3, rel=0.1)
    assert others.rests_on.basis is Basis.HISTORY
    assert others.rests_on.told == "nodes that reboot: 48 earlier steps of this fleet"


def test_a_clusters_own_history_counts_more_than_that_of_others() -> None:
    slow = tuple(Pace(Work.REBOOT, 10, 1, 10 * 600) for _ in range(5))
    quick = tuple(Pace(Work.REBOOT, 10, 1, 10 * 300) for _ in range(5))
    own, others = believed({"slow": slow, "quick": quick})
    assert minutes(own["quick"]) < 5.4 < minutes(others) < 8.6 < minutes(own["slow"])


def test_the_more_was_seen_the_less_is_left_open() -> None:
    spreads = []
    for seen in (0, 1, 4, 16):
        paces = tuple(Pace(Work.REBOOT, 6, 1, 6 * 300) for _ in range(seen))
        own, others = believed({"edge-1": paces})
        found = own.get("edge-1", others)
        spreads.append(math.hypot(found.shared, found.own))
    assert spreads == sorted(spreads, reverse=True)
    assert spreads[-1] < spreads[0] / 2


def test_what_nodes_without_reboot_took_says_nothing_of_those_that_reboot() -> None:
    paces = (Pace(Work.QUIET, 10, 1, 100),)
    assert believed({"edge-1": paces})[1].rests_on.basis is Basis.SETTINGS
    assert believed({"edge-1": paces}, Work.QUIET)[1].rests_on.basis is Basis.HISTORY


# ---------------------------------------------------------------------------------------------------------- history


def test_of_each_kind_the_last_ones_are_kept() -> None:
    paces: tuple[Pace, ...] = (Pace(Work.QUIET, 1, 1, 5),)
    for number in range(40):
        paces = with_pace(paces, Pace(Work.REBOOT, 1, 1, number))
    assert [p.took for p in paces if p.work is Work.REBOOT] == list(range(40 - KEPT_PACES, 40))
    assert paces[0].work is Work.QUIET


def test_however_many_modules_there_are_the_memory_stays_bounded() -> None:
    paces: tuple[Pace, ...] = ()
    for number in range(2_000):
        paces = with_pace(paces, Pace(Work.MODULE, 1, 1, number, f"module-{number}"))
    assert len(paces) == MOST_PACES
    assert paces[-1].took == 1_999
