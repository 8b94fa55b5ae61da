from __future__ import annotations

from gitops_mc.core.render.brief import brief

LONG = (
    "pool worker of edge-1: Updated=False since 2026-11-30T08:07:16Z; Updating=True since 2026-11-30T08:07:16Z (All nodes are "
    'updating to rendered-worker-9); Degraded=True since 2026-11-30T08:07:19Z (Degraded: Node w1 is reporting: "failed"); '
    "updatedMachineCount is 0, not 2; its nodes are not all done with rendered-worker-9 (status: rendered-worker-2); and 1 more; "
    "1 node waits for its turn; see, on edge-1: kubectl get node w1 ; kubectl -n cpaas-system get pods; "
    "node w1 Degraded: failed to write file /etc/app.conf; Degraded in every look since 2026-11-30T08:07:22+00:00"
)


def test_where_a_node_is_named_the_conditions_that_follow_from_it_are_left_out() -> None:
    assert brief(LONG) == (
        "pool worker of edge-1: 1 node waits for its turn; node w1 Degraded: failed to write file /etc/app.conf; "
        "Degraded in every look since 2026-11-30T08:07:22+00:00"
    )


def test_where_no_node_is_named_everything_stays() -> None:
    told = "pool worker of edge-1: updatedMachineCount is 0, not 2; see, on edge-1: kubectl describe machineconfigpool worker"
    assert brief(told) == told
