"""Our own objects on the global cluster: `Fleet` says where to pull from and what holds, `ClusterRollout` remembers one cluster.

What a human may say, and what a backup must bring back, stands in `spec` (backups leave `status` out); clocks, inventory
and history stand in `status`.
"""

GROUP_VERSION = "gitops-mc.io/v1alpha1"
FLEET_KIND = "Fleet"
ROLLOUT_KIND = "ClusterRollout"
