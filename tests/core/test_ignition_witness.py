"""The merge and the forecast held against the sandbox, which renders and updates nodes by code of its own."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from gitops_mc.core.disruption import NONE, disruption_of, policy_of
from gitops_mc.core.ignition import MergeOrder, compare, effective_of, entries_changed, fitting_orders, merge
from gitops_mc.core.model import JsonObject
from gitops_mc.sandbox.nodes.disruption import disruption as what_a_node_does
from gitops_mc.sandbox.operator.merging import MergeOrder as OperatorOrder
from gitops_mc.sandbox.operator.merging import merge_specs, ordered
from tests.core.machine_config_strategies import config_sets


def rendered_by_the_operator(configs: list[JsonObject], order: MergeOrder) -> JsonObject:
    in_order = ordered(configs, OperatorOrder(order.value))
    return {"metadata": {"name": "rendered"}, "spec": merge_specs(config["spec"] for config in in_order)}


@settings(max_examples=200, derandomize=True, deadline=None)
@given(config_sets(), st.sampled_from(MergeOrder))
def test_the_operator_renders_what_the_merge_says(configs: list[JsonObject], order: MergeOrder) -> None:
    merged = merge(configs, order)
    rendered = effective_of(rendered_by_the_operator(configs, order))
    assert compare(merged, rendered) == ()
    assert entries_changed(merged, rendered) == ()
    assert order in fitting_orders(configs, rendered)


actions = st.lists(
    st.sampled_from(
        [
            {"type": "Drain"},
            {"type": "DaemonReload"},
            {"type": "Restart", "restart": {"serviceName": "a.service"}},
            {"type": "Reload", "reload": {"serviceName": "b.service"}},
        ]
    ),
    min_size=1,
    max_size=2,
) | st.sampled_from([[{"type": "Reboot"}], [{"type": "None"}]])
machine_configurations = st.builds(
    lambda files, units, sshkey, defaults: {
        "spec": {"defaultNodeDisruptionPolicySpecAction": defaults},
        "status": {
            "nodeDisruptionPolicyStatus": {
                "clusterPolicies": {
                    "files": [{"path": path, "actions": found} for path, found in files.items()],
                    "units": [{"name": name, "actions": found} for name, found in units.items()],
                    **({"sshkey": {"actions": sshkey}} if sshkey else {}),
                }
            }
        },
    },
    st.dictionaries(st.sampled_from(["/etc", "/etc/a", "/etc/b", "/et"]), actions, max_size=3),
    st.dictionaries(st.sampled_from(["u", "v", "w"]), actions, max_size=2),
    st.none() | actions,
    st.fixed_dictionaries({"files": actions, "units": actions}),
)


@settings(max_examples=200, derandomize=True, deadline=None)
@given(config_sets(), config_sets(), machine_configurations)
def test_a_node_does_what_was_forecast(
    before: list[JsonObject], after: list[JsonObject], machine_configuration: JsonObject
) -> None:
    order = MergeOrder.ALPHABETICAL
    node_has, node_gets = rendered_by_the_operator(before, order), rendered_by_the_operator(after, order)
    forecast = disruption_of(effective_of(node_has), merge(after, order), policy_of(machine_configuration))
    done = what_a_node_does(node_has["spec"], node_gets["spec"], machine_configuration)
    expected = [(action.type.value, action.service) for action in forecast.actions if action != NONE]
    assert [(action.kind, action.service) for action in done.actions] == expected
    assert (done.reboots, done.drains) == (forecast.reboot, forecast.drain)
