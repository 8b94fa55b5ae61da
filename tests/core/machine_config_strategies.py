"""MachineConfigs for property tests: few names and values, so that entries meet."""

from __future__ import annotations

from hypothesis import strategies as st

from gitops_mc.core.model import JsonObject
from tests.core.machine_configs import machine_config

paths = st.sampled_from(["/etc/a", "/etc/b", "/etc/c"])
sources = st.sampled_from(["data:,1", "data:,2", "data:;base64,MQ=="])
files = st.fixed_dictionaries(
    {"path": paths},
    optional={
        "mode": st.sampled_from([0o600, 0o644, None]),
        "overwrite": st.booleans(),
        "user": st.fixed_dictionaries(
            {}, optional={"id": st.integers(0, 2), "name": st.sampled_from(["a", "b"])}
        ),
        "contents": st.fixed_dictionaries(
            {}, optional={"source": sources, "compression": st.sampled_from(["gzip", "", None])}
        ),
    },
)
dropins = st.fixed_dictionaries(
    {"name": st.sampled_from(["1", "2"])}, optional={"contents": st.sampled_from(["x", "y"])}
)
units = st.fixed_dictionaries(
    {"name": st.sampled_from(["u", "v"])},
    optional={
        "enabled": st.sampled_from([True, False, None]),
        "contents": st.sampled_from(["x", ""]),
        "dropins": st.lists(dropins, max_size=2, unique_by=lambda d: str(d["name"])),
    },
)


@st.composite
def config_sets(draw: st.DrawFn) -> list[JsonObject]:
    names = draw(st.lists(st.sampled_from(["00", "10", "20", "30"]), unique=True, max_size=4))
    return [
        machine_config(
            name,
            draw(st.sampled_from(["worker", "infra", "master"])),
            files=draw(st.lists(files, max_size=3, unique_by=lambda f: str(f["path"]))),
            units=draw(st.lists(units, max_size=2, unique_by=lambda u: str(u["name"]))),
            ssh_keys={"boot": draw(st.lists(st.sampled_from(["k1", "k2", "k3"]), max_size=2))},
            kernel_arguments=draw(st.lists(st.sampled_from(["a", "b", "c"]), max_size=3)),
        )
        for name in names
    ]
