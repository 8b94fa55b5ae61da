from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitops_mc.core.ignition import (
    MAX_SPEC_BYTES,
    Effective,
    Entry,
    EntryKind,
    MergeOrder,
    compare,
    effective_spec,
    encode_source,
    entries_changed,
    merge,
    spec_size,
    wholly_overridden,
)
from gitops_mc.core.model import ROLE_LABEL, JsonObject
from tests.core.machine_config_strategies import config_sets
from tests.core.machine_configs import as_rendered, file, machine_config

X = Entry(EntryKind.FILE, "/etc/x")
ALPHABETICAL, ROLE_FIRST = MergeOrder.ALPHABETICAL, MergeOrder.ROLE_FIRST


def owners(effective: Effective) -> dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]]:
    return {str(e.entry): (e.owner, e.contributors, e.overridden) for e in effective.entries.values()}


def test_the_later_name_wins_field_by_field() -> None:
    merged = merge(
        [
            machine_config("90", files=[file("/etc/x", "data:,late")]),
            machine_config("50", files=[file("/etc/x", "data:,early", mode=0o600, user={"name": "a"})]),
            machine_config("60", files=[file("/etc/x", group={"id": 7}, user={"id": 1})]),
        ],
        ALPHABETICAL,
    )
    assert merged.configs == ("50", "60", "90")
    assert merged.entries[X].raw() == {
        "contents": {"source": "data:,late"},
        "mode": 0o600,
        "user": {"name": "a", "id": 1},
        "group": {"id": 7},
        "overwrite": True,
    }
    assert owners(merged) == {"file /etc/x": ("90", ("50", "60", "90"), ())}


def test_a_config_of_which_nothing_is_left_is_overridden() -> None:
    configs = [
        machine_config("10", files=[file("/etc/x", "data:,1", mode=1)], kernel_arguments=["a"]),
        machine_config("20", files=[file("/etc/x", "data:,2", mode=2)]),
        machine_config("30", files=[file("/etc/x", "data:,1", mode=1)]),
        machine_config("40"),
    ]
    merged = merge(configs, ALPHABETICAL)
    assert owners(merged) == {"file /etc/x": ("30", ("30",), ("10", "20"))}
    assert wholly_overridden(merged) == ("20",)
    assert [(argument.value, argument.owner) for argument in merged.kernel_arguments] == [("a", "10")]


@pytest.mark.parametrize(
    ("order", "source", "configs"),
    [
        (ALPHABETICAL, "data:,worker", ("40-infra", "50-worker")),
        (ROLE_FIRST, "data:,infra", ("50-worker", "40-infra")),
    ],
)
def test_the_order_decides_whether_a_custom_pool_overrides_what_it_inherits(
    order: MergeOrder, source: str, configs: tuple[str, ...]
) -> None:
    merged = merge(
        [
            machine_config("50-worker", "worker", files=[file("/etc/x", "data:,worker")]),
            machine_config("40-infra", "infra", files=[file("/etc/x", "data:,infra")]),
        ],
        order,
    )
    assert merged.configs == configs
    assert merged.entries[X].fields["contents", "source"] == source


def test_role_first_puts_master_with_worker_and_unlabelled_configs_with_the_custom_ones() -> None:
    unlabelled = machine_config("10-none")
    unlabelled["metadata"]["labels"] = {ROLE_LABEL + "-other": "worker"}
    configs = [
        machine_config("30-w", "worker"),
        machine_config("20-m", "master"),
        machine_config("05-i", "infra"),
        unlabelled,
    ]
    assert merge(configs, ROLE_FIRST).configs == ("20-m", "30-w", "05-i", "10-none")


@pytest.mark.parametrize(
    ("later", "compression"),
    [
        (file("/etc/x", "data:,plain"), None),
        (file("/etc/x", "data:,plain", compression=""), ""),
        (file("/etc/x", compression=""), ""),
        (file("/etc/x", mode=0o644), "gzip"),
    ],
)
def test_later_contents_without_compression_clear_an_earlier_ones(
    later: JsonObject, compression: str | None
) -> None:
    earlier = machine_config("10", files=[file("/etc/x", "data:,zipped", compression="gzip")])
    merged = merge([earlier, machine_config("20", files=[later])], ALPHABETICAL)
    assert merged.entries[X].fields.get(("contents", "compression")) == compression


def test_a_later_compression_stays() -> None:
    earlier = machine_config("10", files=[file("/etc/x", "data:,plain")])
    later = machine_config("20", files=[file("/etc/x", "data:,zipped", compression="gzip")])
    assert merge([earlier, later], ALPHABETICAL).entries[X].fields["contents", "compression"] == "gzip"


def test_null_and_empty_objects_override_nothing_and_an_empty_string_does() -> None:
    earlier = machine_config("10", units=[{"name": "u", "enabled": True, "contents": "text"}])
    quiet = machine_config("20", units=[{"name": "u", "enabled": None, "contents": None, "x": {}}])
    loud = machine_config("30", units=[{"name": "u", "enabled": False, "contents": ""}])
    unit = Entry(EntryKind.UNIT, "u")
    assert merge([earlier, quiet], ALPHABETICAL).entries[unit].raw() == {"enabled": True, "contents": "text"}
    assert merge([earlier, loud], ALPHABETICAL).entries[unit].raw() == {"enabled": False, "contents": ""}


def test_overwrite_is_true_unless_somebody_says_otherwise() -> None:
    merged = merge([machine_config(files=[file("/etc/x", overwrite=False), file("/etc/y")])], ALPHABETICAL)
    assert merged.entries[X].fields["overwrite",] is False
    assert merged.entries[Entry(EntryKind.FILE, "/etc/y")].fields["overwrite",] is True


def test_drop_ins_merge_by_name_within_their_unit() -> None:
    merged = merge(
        [
            machine_config(
                "10",
                units=[
                    {"name": "u", "dropins": [{"name": "a", "contents": "1"}, {"name": "b", "contents": "2"}]}
                ],
            ),
            machine_config(
                "20", units=[{"name": "u", "enabled": True, "dropins": [{"name": "b", "contents": "3"}]}]
            ),
            machine_config("30", units=[{"name": "v", "dropins": [{"name": "b", "contents": "4"}]}]),
        ],
        ALPHABETICAL,
    )
    assert owners(merged) == {
        "unit u": ("20", ("20",), ("10",)),
        "unit v": ("30", ("30",), ()),
        "drop-in a of unit u": ("10", ("10",), ()),
        "drop-in b of unit u": ("20", ("20",), ("10",)),
        "drop-in b of unit v": ("30", ("30",), ()),
    }


def test_ssh_keys_are_a_union_in_order_and_every_config_that_has_one_keeps_it() -> None:
    merged = merge(
        [
            machine_config("20", ssh_keys={"boot": ["k2", "k3"], "core": ["k1"]}),
            machine_config("10", ssh_keys={"boot": ["k2", "k1"]}),
        ],
        ALPHABETICAL,
    )
    assert [(key.name, key.part) for key in merged.ssh_keys] == [
        ("boot", "k2"),
        ("boot", "k1"),
        ("boot", "k3"),
        ("core", "k1"),
    ]
    shared = merged.entries[Entry(EntryKind.SSH_KEY, "boot", "k2")]
    assert (shared.owner, shared.contributors, shared.overridden) == ("20", ("10", "20"), ())


def test_what_is_said_of_a_user_besides_keys_is_an_entry_of_its_own() -> None:
    users = {
        "users": [
            {"name": "boot", "passwordHash": "x", "groups": [], "shell": None, "sshAuthorizedKeys": ["k"]}
        ]
    }
    merged = merge(
        [machine_config("10", passwd=users), machine_config("20", ssh_keys={"boot": ["l"]})], ALPHABETICAL
    )
    assert {str(e.entry): e.raw() for e in merged.of_kind(EntryKind.USER)} == {
        "user boot": {"passwordHash": "x"}
    }
    assert [key.part for key in merged.ssh_keys] == ["k", "l"]
    assert compare(
        merged, as_rendered(merge([machine_config("20", ssh_keys={"boot": ["k", "l"]})], ALPHABETICAL))
    )


def test_kernel_arguments_are_concatenated_in_order_with_repeats() -> None:
    merged = merge(
        [
            machine_config("20-w", "worker", kernel_arguments=["a", "b"]),
            machine_config("10-i", "infra", kernel_arguments=["b", "c"]),
        ],
        ROLE_FIRST,
    )
    assert [(a.value, a.owner) for a in merged.kernel_arguments] == [
        ("a", "20-w"),
        ("b", "20-w"),
        ("b", "10-i"),
        ("c", "10-i"),
    ]


def test_sections_that_are_not_understood_are_merged_as_written() -> None:
    merged = merge(
        [
            machine_config(
                "10", storage={"directories": [{"path": "/a"}]}, ignition={"timeouts": {"a": 1, "b": 2}}
            ),
            machine_config("20", storage={"directories": [{"path": "/b"}]}, ignition={"timeouts": {"b": 3}}),
        ],
        ALPHABETICAL,
    )
    raw = {e.entry.name: e.fields for e in merged.entries.values()}
    assert raw == {
        "storage.directories": {(): [{"path": "/a"}, {"path": "/b"}]},
        "ignition.timeouts": {("a",): 1, ("b",): 3},
    }
    config = effective_spec(merged)["config"]
    assert config["storage.directories"] == [{"path": "/a"}, {"path": "/b"}]
    assert config["ignition.timeouts"] == {"a": 1, "b": 3}


def test_the_size_is_that_of_the_merged_spec() -> None:
    small = merge([machine_config("10", files=[file("/etc/x", encode_source(b"x" * 30_000))])], ALPHABETICAL)
    again = merge(
        [*[machine_config(str(n), files=[file("/etc/x", encode_source(b"x" * 30_000))]) for n in range(3)]],
        ALPHABETICAL,
    )
    assert (
        spec_size(small) == spec_size(again) == len(json.dumps(effective_spec(small), separators=(",", ":")))
    )
    assert 40_000 < spec_size(small) < 40_300
    large = [
        machine_config(str(n), files=[file(f"/etc/{n}", encode_source(b"x" * 30_000))]) for n in range(40)
    ]
    assert spec_size(merge(large, ALPHABETICAL)) > MAX_SPEC_BYTES


# ------------------------------------------------------------------------------------------------- against an oracle


def overlaid(earlier: Any, later: Any) -> Any:
    """What Ignition's merge makes of two values: objects field by field, null gives way, anything else overrides."""
    if later is None:
        return earlier
    if not isinstance(later, dict):
        return later
    base = earlier if isinstance(earlier, dict) else {}
    return {key: overlaid(base.get(key), later.get(key)) for key in {**base, **later}}


def oracle(configs: list[JsonObject], order: MergeOrder) -> JsonObject:
    found: JsonObject = {"files": {}, "units": {}, "keys": [], "arguments": []}
    first = ("worker", "master") if order is ROLE_FIRST else ()
    for config in sorted(
        configs,
        key=lambda c: (
            first != () and c["metadata"]["labels"][ROLE_LABEL] not in first,
            c["metadata"]["name"],
        ),
    ):
        ignition = config["spec"]["config"]
        for item in ignition.get("storage", {}).get("files", []):
            earlier = found["files"].get(item["path"], {})
            if item.get("contents", {}).get("source") is not None:
                earlier = {**earlier, "contents": {**earlier.get("contents", {}), "compression": None}}
            found["files"][item["path"]] = overlaid(earlier, item)
        for item in ignition.get("systemd", {}).get("units", []):
            by_name = {d["name"]: d for d in item.get("dropins", [])}
            found["units"][item["name"]] = overlaid(
                found["units"].get(item["name"]), {**item, "dropins": by_name}
            )
        found["keys"] = list(
            dict.fromkeys(found["keys"] + ignition["passwd"]["users"][0]["sshAuthorizedKeys"])
        )
        found["arguments"] += config["spec"]["kernelArguments"]
    return found


def cleaned(value: Any) -> Any:
    """Without nulls and empty objects."""
    if not isinstance(value, dict):
        return value
    inner = {key: cleaned(item) for key, item in value.items()}
    return {key: item for key, item in inner.items() if item is not None and item != {}}


def by_name(items: list[JsonObject], key: str) -> JsonObject:
    return {item[key]: item for item in items}


@settings(max_examples=200, derandomize=True, deadline=None)
@given(config_sets(), st.sampled_from(MergeOrder), st.integers(0, 99))
def test_the_merge_is_that_of_ignition_whatever_order_the_configs_are_listed_in(
    configs: list[JsonObject], order: MergeOrder, seed: int
) -> None:
    merged = merge(configs, order)
    shuffled = random.Random(seed).sample(configs, len(configs))
    assert merge(shuffled, order) == merged

    expected = oracle(configs, order)
    for item in expected["files"].values():
        item["overwrite"] = item.get("overwrite") is not False
    spec = effective_spec(merged)
    assert by_name(spec["config"].get("storage", {}).get("files", []), "path") == cleaned(expected["files"])
    found_units = by_name(spec["config"].get("systemd", {}).get("units", []), "name")
    for unit in found_units.values():
        unit["dropins"] = by_name(unit.get("dropins", []), "name")
    assert cleaned(found_units) == cleaned(expected["units"])
    assert [key.part for key in merged.ssh_keys] == expected["keys"]
    assert spec["kernelArguments"] == expected["arguments"]


@settings(max_examples=120, derandomize=True, deadline=None)
@given(config_sets(), st.sampled_from(MergeOrder))
def test_what_is_rendered_from_a_merge_equals_it(configs: list[JsonObject], order: MergeOrder) -> None:
    merged = merge(configs, order)
    assert compare(merged, as_rendered(merged)) == ()
    assert entries_changed(merged, as_rendered(merged)) == ()


@settings(max_examples=120, derandomize=True, deadline=None)
@given(config_sets(), st.sampled_from(MergeOrder))
def test_every_entry_has_an_owner_that_declares_it_and_the_sets_do_not_overlap(
    configs: list[JsonObject], order: MergeOrder
) -> None:
    merged = merge(configs, order)
    for found in merged.entries.values():
        alone = {
            name for name in merged.configs if found.entry in merge(_named(configs, name), order).entries
        }
        assert set(found.contributors) | set(found.overridden) == alone
        assert not set(found.contributors) & set(found.overridden)
        assert found.owner == max(alone, key=merged.configs.index)
        assert found.owner in found.contributors


@settings(max_examples=120, derandomize=True, deadline=None)
@given(config_sets(), st.sampled_from(MergeOrder))
def test_taking_an_overridden_config_away_changes_nothing(
    configs: list[JsonObject], order: MergeOrder
) -> None:
    merged = merge(configs, order)
    for name in wholly_overridden(merged):
        without = [config for config in configs if config["metadata"]["name"] != name]
        assert entries_changed(merged, merge(without, order)) == ()


def _named(configs: list[JsonObject], name: str) -> list[JsonObject]:
    return [config for config in configs if config["metadata"]["name"] == name]


def test_a_map_where_a_boolean_belongs_breaks_no_reading() -> None:
    odd = {
        "metadata": {"name": "50-odd"},
        "spec": {"config": {"storage": {"files": [{"path": "/etc/a", "overwrite": {"": 1}}]}}},
    }
    plain = {
        "metadata": {"name": "60-plain"},
        "spec": {"config": {"storage": {"files": [{"path": "/etc/a", "overwrite": True}]}}},
    }
    for configs in ((odd,), (plain, odd), (odd, plain)):
        effective = merge(configs, MergeOrder.ALPHABETICAL)
        assert [found.raw()["overwrite"] for found in effective.entries.values()] == [{"": 1}]
