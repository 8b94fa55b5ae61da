"""What is marked sensitive appears in no output, in no encoding."""

from __future__ import annotations

import base64
import gzip
import html
import json
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gitops_mc.core.model import MODULE_LABEL, JsonObject
from gitops_mc.core.policy import ObjectPattern, Sensitive
from gitops_mc.core.redact import Redactor, marker, secrets_of
from gitops_mc.core.redact.places import is_sensitive_file, is_sensitive_unit

SECRET = "hunter2-Sesame/öffne+dich"
SENSITIVE = Sensitive(
    paths=("/etc/kubernetes/**", "**/*.key"),
    units=("registry-login.service", "vpn-*.service"),
    modules=(ObjectPattern("logcenter", "/auth"), ObjectPattern("mesh*", "/users/0/token")),
    kernel_arguments=True,
)


def data_url(data: bytes) -> str:
    return "data:;base64," + base64.b64encode(data).decode()


def config(**sections: object) -> JsonObject:
    return {
        "apiVersion": "machineconfiguration.alauda.io/v1alpha1",
        "kind": "MachineConfig",
        "metadata": {"name": "50-worker-x"},
        "spec": {"config": {"ignition": {"version": "3.4.0"}, **sections}},
    }


def with_file(path: str, contents: JsonObject) -> JsonObject:
    return config(storage={"files": [{"path": path, "mode": 384, "contents": contents}]})


def with_unit(name: str, **fields: object) -> JsonObject:
    return config(systemd={"units": [{"name": name, **fields}]})


def module(settings: JsonObject, name: str = "logcenter") -> JsonObject:
    return {
        "kind": "ModuleInfo",
        "metadata": {"name": "x", "labels": {MODULE_LABEL: name}},
        "spec": {"config": settings},
    }


HOLDERS: dict[str, JsonObject] = {
    "file": with_file(
        "/etc/kubernetes/pull.conf", {"source": data_url(f"user=x\ntoken={SECRET}\n".encode())}
    ),
    "file-percent": with_file("/opt/tls.key", {"source": "data:," + quote(SECRET)}),
    "file-gzip": with_file(
        "/opt/tls.key", {"source": data_url(gzip.compress(SECRET.encode())), "compression": "gzip"}
    ),
    "file-inline": with_file("/etc//kubernetes/./pull.conf", {"inline": SECRET}),
    "file-append": config(
        storage={"files": [{"path": "/etc/kubernetes/a", "append": [{"source": data_url(SECRET.encode())}]}]}
    ),
    "unit-as-file": with_file(
        "/etc/systemd/system/registry-login.service.d/10-token.conf",
        {"source": data_url(f"[Service]\nEnvironment=TOKEN={SECRET}\n".encode())},
    ),
    "unit": with_unit(
        "registry-login.service", contents=f"[Service]\nExecStart=/bin/login --token {SECRET}\n"
    ),
    "unit-drop-in": with_unit(
        "vpn-1.service",
        dropins=[{"name": "10-x.conf", "contents": f"[Service]\nEnvironment=TOKEN={SECRET}\n"}],
    ),
    "module": module({"auth": {"password": SECRET}, "replicas": 3}),
    "module-values-in-a-list": module({"auth": ["x", {"also": [SECRET]}]}),
    "module-list": module({"users": [{"name": "x", "token": SECRET}]}, "mesh-ui"),
    "module-without-labels": {"kind": "ModuleInfo", "spec": {"config": {"auth": SECRET}}},
    "kernel-argument": {"kind": "MachineConfig", "spec": {"kernelArguments": [f"rd.token={SECRET}"]}},
}
"""Objects that hold the secret at every kind of place that can be marked."""

ENCODINGS: dict[str, Callable[[str], str]] = {
    "plain": lambda s: s,
    "json": json.dumps,
    "json-utf8": lambda s: json.dumps(s, ensure_ascii=False),
    "json-in-json": lambda s: json.dumps(json.dumps({"a": s})),
    "go-json": lambda s: json.dumps(s).replace("&", "\\u0026").replace("<", "\\u003c"),
    "yaml": lambda s: yaml.safe_dump({"a": s}, width=10_000),
    "yaml-double": lambda s: yaml.safe_dump({"a": s}, default_style='"', width=10_000),
    "html": html.escape,
    "python": repr,
    "python-bytes": lambda s: repr(s.encode()),
    "percent": lambda s: quote(s, safe=""),
    "percent-lower": lambda s: quote(s, safe="").lower() if s.islower() else quote(s),
    "hex": lambda s: s.encode().hex(),
    "base64": lambda s: base64.b64encode(s.encode()).decode(),
    "base64-second": lambda s: base64.b64encode(b"a" + s.encode() + b"zz").decode(),
    "base64-third": lambda s: base64.b64encode(b"ab" + s.encode() + b"z").decode(),
    "base64-url-safe": lambda s: base64.urlsafe_b64encode(b"{" + s.encode() + b"}").decode(),
    "base64-percent": lambda s: quote(base64.b64encode(s.encode()).decode(), safe=""),
}


def traces(secret: str) -> set[str]:
    """Spellings none of which may be in an output; of base64 the letters that the secret alone decides."""
    raw = secret.encode()
    found = {secret, json.dumps(secret)[1:-1], quote(secret, safe=""), raw.hex(), repr(raw)[2:-1]}
    for offset in range(3):
        letters = base64.b64encode(bytes(offset) + raw).decode()
        core = letters[-(-8 * offset // 6) : 8 * (offset + len(raw)) // 6]
        found |= {core, core.replace("+", "-").replace("/", "_")}
    return found


def assert_no_trace(output: str, secret: str = SECRET) -> None:
    assert [trace for trace in traces(secret) if trace in output] == []


@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_secret_of_any_place_is_in_no_text_in_no_encoding(holder: str, encoding: str) -> None:
    redactor = Redactor.of(SENSITIVE, [HOLDERS[holder]])
    written = ENCODINGS[encoding](SECRET)
    output = redactor.redact(f"admission webhook denied it: value {written} is wrong")
    assert_no_trace(output)
    assert written not in output
    assert "[sensitive, " in output
    assert output.startswith("admission webhook denied it: value ")


@pytest.mark.parametrize("holder", HOLDERS)
def test_an_object_is_shown_without_its_sensitive_parts(holder: str) -> None:
    body = HOLDERS[holder]
    shown = json.dumps(Redactor.of(SENSITIVE, [body]).hide(body))
    assert_no_trace(shown)
    assert "[sensitive, " in shown
    for source in secrets_of(SENSITIVE, [body]):
        assert base64.b64encode(source).decode() not in shown


@pytest.mark.parametrize("holder", HOLDERS)
def test_what_kubectl_kept_of_an_earlier_version_is_hidden_and_known(holder: str) -> None:
    earlier = HOLDERS[holder]
    annotation = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(earlier)}
    body = {**module({}), "kind": earlier["kind"], "metadata": {"name": "x", "annotations": annotation}}
    redactor = Redactor.of(SENSITIVE, [body])
    assert_no_trace(json.dumps(redactor.hide(body)))
    assert_no_trace(json.dumps(redactor.redact_json(body)))
    assert_no_trace(redactor.redact(SECRET))


def test_an_annotation_of_kubectl_that_cannot_be_read_is_hidden_whole() -> None:
    annotation = {"kubectl.kubernetes.io/last-applied-configuration": "{" + SECRET}
    shown = Redactor(SENSITIVE).hide({"kind": "MachineConfig", "metadata": {"annotations": annotation}})
    assert_no_trace(json.dumps(shown))


def test_contents_that_cannot_be_decoded_are_hidden_as_they_are_written() -> None:
    body = with_file("/x.key", {"source": "data:;base64,not*base64*at*all", "compression": "gzip"})
    redactor = Redactor.of(SENSITIVE, [body])
    assert redactor.hide(body)["spec"]["config"]["storage"]["files"][0]["contents"] == {"source": marker(17)}
    assert redactor.redact("bad: not*base64*at*all") == f"bad: {marker(17)}"


def test_short_secrets_are_hidden_where_they_stand_and_nowhere_else() -> None:
    body = module({"auth": {"pin": "1234", "port": 99}, "other": "1234"})
    redactor = Redactor.of(SENSITIVE, [body])
    shown = redactor.hide(body)
    assert shown["spec"]["config"] == {"auth": marker(27), "other": "1234"}
    assert redactor.redact("pin 1234") == "pin 1234"


def test_what_is_not_sensitive_is_shown_as_it_is() -> None:
    bodies = [
        with_file("/etc/chrony.conf", {"source": data_url(b"server 10.0.0.1 iburst\n")}),
        with_unit("firewall.service", contents="[Service]\nType=oneshot\n"),
        module({"auth": "x"}, "other-module"),
        config(),
    ]
    redactor = Redactor.of(
        Sensitive(SENSITIVE.paths, SENSITIVE.units, SENSITIVE.modules), [*bodies, *HOLDERS.values()]
    )
    assert [redactor.hide(body) for body in bodies] == bodies


SEEN = {
    "/etc/kubernetes/a/b": True,
    "/etc//kubernetes/a": True,
    "/a/tls.key": True,
    "/etc/hosts": False,
    "/etc/systemd/system/vpn-1.service": True,
    "/etc/systemd/system/vpn-1.service.d/x.conf": True,
    "/etc/systemd/system/chronyd.service": False,
    "/etc/vpn-1.service": False,
}


def test_paths_and_units_are_matched_by_glob() -> None:
    assert {path: is_sensitive_file(SENSITIVE, path) for path in SEEN} == SEEN
    assert is_sensitive_unit(SENSITIVE, "vpn-2.service")
    assert not is_sensitive_unit(SENSITIVE, "chronyd.service")


def test_each_line_of_a_secret_is_found_alone_as_in_a_diff() -> None:
    body = with_file(
        "/x.key", {"inline": "-----BEGIN KEY-----\nMIIabcdef012345\nzzzz YYYYxxx!\n-----END KEY-----\n"}
    )
    redactor = Redactor.of(SENSITIVE, [body])
    assert redactor.redact("-MIIabcdef012345\n+zzzz YYYYxxx!\n") == f"-{marker(15)}\n+{marker(13)}\n"


def test_a_value_or_word_of_a_secret_is_found_alone() -> None:
    redactor = Redactor.of(
        SENSITIVE, [with_file("/x.key", {"inline": "password: correct horse\nmore a1b2c3d4e5\n"})]
    )
    assert redactor.redact("bad value 'correct horse'") == f"bad value '{marker(13)}'"
    assert redactor.redact("bad word a1b2c3d4e5") == f"bad word {marker(10)}"


def test_words_that_stand_in_every_unit_are_not_hidden_elsewhere() -> None:
    unit = "[Unit]\nAfter=network-online.target\n[Service]\nType=oneshot\n[Install]\nWantedBy=multi-user.target\n"
    redactor = Redactor.of(SENSITIVE, [with_unit("vpn-1.service", contents=unit)])
    text = "[Install]\nWantedBy=multi-user.target\n[Service]\nType=oneshot\n# after network-online.target"
    assert redactor.redact(text) == text


def test_secrets_that_overlap_leave_no_end_behind() -> None:
    redactor = Redactor(Sensitive(), [b"abcdef-ghijkl", b"ghijkl-mnopqr"])
    assert redactor.redact("<abcdef-ghijkl-mnopqr>") == f"<{marker(13)}>"


def test_the_longest_secret_wins() -> None:
    redactor = Redactor(Sensitive(), [b"secret-1", b"secret-1234567"])
    assert redactor.redact("secret-1234567 secret-1") == f"{marker(14)} {marker(8)}"


def test_a_number_that_is_a_secret_is_hidden_in_json() -> None:
    redactor = Redactor.of(SENSITIVE, [module({"auth": {"code": 12345678}})])
    assert redactor.redact_json({"a": [12345678, True, None, 1.5]}) == {"a": [marker(8), True, None, 1.5]}


def test_binary_secrets_are_found_in_base64_and_hex() -> None:
    key = bytes(range(200, 240))
    redactor = Redactor.of(SENSITIVE, [with_file("/x.key", {"source": data_url(key)})])
    for written in (base64.b64encode(key).decode(), key.hex(), data_url(b"-" + key)):
        assert "[sensitive, 40 bytes]" in redactor.redact(written)


SECRETS = st.text(
    st.characters(codec="utf-8", categories=("L", "N", "P", "S")), min_size=6, max_size=60
).filter(lambda s: len(s.encode()) >= 6 and not any(t in "[sensitive, 0123456789 bytes]" for t in traces(s)))


@given(
    secret=SECRETS,
    before=st.binary(max_size=5),
    after=st.text(max_size=5),
    encoding=st.sampled_from(sorted(ENCODINGS)),
)
@example(secret="':;<>&\"", before=b"", after="", encoding="html")
@settings(max_examples=300, derandomize=True, deadline=None)
def test_no_secret_survives_any_encoding(secret: str, before: bytes, after: str, encoding: str) -> None:
    redactor = Redactor.of(SENSITIVE, [with_file("/x.key", {"source": data_url(secret.encode())})])
    written = ENCODINGS[encoding](secret)
    blob = base64.b64encode(before + secret.encode() + after.encode()).decode()
    for text in (f"{after} {written}{after}", blob):
        output = redactor.redact(text)
        assert [t for t in traces(secret) if len(t) >= 6 and t in output] == []


@given(st.text(max_size=200))
@settings(max_examples=200, derandomize=True, deadline=None)
def test_a_text_without_secrets_is_left_alone(text: str) -> None:
    redactor = Redactor(Sensitive(), [b"\x00never-in-a-text\x01" * 3])
    assert redactor.redact(text) == text


KEYS = st.sampled_from(
    [
        *("config", "storage", "files", "path", "contents", "source", "inline", "append", "compression"),
        *("systemd", "units", "name", "dropins", "kernelArguments", "auth", "users", "token"),
    ]
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=()), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)


@given(st.sampled_from(["MachineConfig", "ModuleInfo", "Other", None, 1]), ANYTHING, ANYTHING)
@settings(max_examples=300, derandomize=True, deadline=None)
def test_an_object_of_any_shape_can_be_shown(kind: object, spec: Any, annotations: Any) -> None:
    earlier = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps({"kind": kind, "spec": spec})}
    for notes in (annotations, earlier):
        body = {"kind": kind, "metadata": {"annotations": notes, "labels": annotations}, "spec": spec}
        assert isinstance(Redactor.of(SENSITIVE, [body]).hide(body), dict)


def test_a_thousand_secrets_in_a_megabyte_are_a_matter_of_moments() -> None:
    redactor = Redactor(
        Sensitive(), [f"user=a\ntoken=s3cret-{n:05d}-{n * 7919:x}\n".encode() for n in range(1000)]
    )
    text = (
        "".join(f"line {n}: nothing to see here, s3cret talk only\n" for n in range(22_000))
        + "s3cret-00999-78b6a9"
    )
    assert len(text) > 1_000_000
    started = time.process_time()
    output = redactor.redact(text)
    assert time.process_time() - started < 5  # of the CPU, and fifty times what it takes
    assert output.endswith(marker(len(f"s3cret-00999-{999 * 7919:x}")))
