"""Kubeconfigs out of Secrets: what they hold is used, what they point to is refused."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
import yaml

from gitops_mc.adapters.kube import KubeconfigTransport
from gitops_mc.adapters.kube_embedded import embedded
from gitops_mc.core.errors import UsageError
from tests.adapters.kube_peers import GET, QUICK, SECRET, TLS, Peer, serving

CALLED = "the kubeconfig under kc of Secret edge-1"
PRIVATE = b64encode(b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n").decode()
DATA = b64encode((TLS / "ca.crt").read_bytes()).decode()


def written(cluster: dict[str, Any], user: dict[str, Any], **rest: Any) -> bytes:
    return yaml.safe_dump(
        {
            "current-context": "a",
            "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
            "clusters": [{"name": "a", "cluster": {"server": "https://127.0.0.1:9", **cluster}}],
            "users": [{"name": "a", "user": user}],
            **rest,
        }
    ).encode()


def test_a_token_and_a_ca_that_stand_in_it_are_used(tmp_path: Path) -> None:
    path = tmp_path / "config"
    with serving(Peer(), "here.pem") as peer:
        given = written({"server": peer.url, "certificate-authority-data": DATA}, {"token": SECRET})
        path.write_bytes(embedded(given, CALLED))
        assert KubeconfigTransport(path, {"edge-1": ""}).send("edge-1", GET, timeout=QUICK).status == 200
    assert peer.seen[0].token == SECRET


def test_nothing_is_kept_but_what_the_current_context_needs() -> None:
    others = {
        "contexts": [{"name": n, "context": {"cluster": n, "user": n, "namespace": "x"}} for n in "ab"],
        "clusters": [
            {
                "name": "a",
                "cluster": {"server": "https://a", "insecure-skip-tls-verify": False, "extensions": [1]},
            },
            {"name": "b", "cluster": {"server": "https://b", "certificate-authority": "/etc/passwd"}},
        ],
        "users": [
            {
                "name": "a",
                "user": {"client-key-data": PRIVATE, "client-certificate-data": DATA, "exec": None},
            },
            {"name": "b", "user": {"exec": {"command": "sh"}}},
        ],
    }
    kept = json.loads(embedded(written({}, {}, **others), CALLED))
    assert [entry["name"] for part in ("contexts", "clusters", "users") for entry in kept[part]] == ["a"] * 3
    assert kept["clusters"][0]["cluster"] == {"server": "https://a"}
    assert kept["users"][0]["user"] == {"client-key-data": PRIVATE, "client-certificate-data": DATA}


@pytest.mark.parametrize(
    ("cluster", "user", "field"),
    [
        ({}, {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "sh"}}, "user.exec runs a program here"),
        ({}, {"auth-provider": {"name": "gcp", "config": {"cmd-path": "sh"}}}, "user.auth-provider runs a program here"),
        ({}, {"tokenFile": "/etc/shadow"}, "user.tokenFile reads a file here"),
        ({}, {"client-certificate": "/etc/passwd"}, "user.client-certificate reads a file here"),
        ({}, {"client-key": "/etc/shadow"}, "user.client-key reads a file here"),
        ({"certificate-authority": "/etc/passwd"}, {}, "cluster.certificate-authority reads a file here"),
        ({"insecure-skip-tls-verify": True}, {"token": SECRET}, "cluster.insecure-skip-tls-verify lets anybody pose"),
        ({}, {"username": "u", "password": SECRET}, "user.password is not known here; user.username is not known here"),
        ({}, {"as": "admin", "token": SECRET}, "user.as is not known here"),
        ({}, {"impersonateFile": SECRET}, "user.impersonateFile is not known here"),
        ({}, {"token": {"a": SECRET}}, "user.token is no text"),
        ({"proxy-url": [SECRET]}, {}, "cluster.proxy-url is no text"),
        ({"certificate-authority-data": SECRET}, {}, "cluster.certificate-authority-data is no certificate in base64"),
        ({"certificate-authority-data": PRIVATE}, {}, "cluster.certificate-authority-data is no certificate in base64"),
        ({}, {"client-certificate-data": "AAAA"}, "user.client-certificate-data is no certificate in base64"),
        ({}, {"client-key-data": DATA}, "user.client-key-data is no private key in base64"),
        ({}, {"token": f"{SECRET}\nX-Evil: 1"}, "user.token holds characters that no bearer token has"),
    ],
)  # fmt: skip
def test_what_leads_out_of_it_is_refused_by_its_field(
    cluster: dict[str, Any], user: dict[str, Any], field: str
) -> None:
    with pytest.raises(UsageError) as caught:
        embedded(written(cluster, user), CALLED)
    assert caught.value.message.startswith(f"{CALLED} is not used: {field}")
    assert "kubectl config view --raw --flatten" in caught.value.hint
    assert SECRET not in f"{caught.value}{caught.value.__cause__}"


def test_all_that_is_refused_is_said_at_once() -> None:
    with pytest.raises(
        UsageError, match=r"cluster\.certificate-authority .*; user\.exec .*; user\.tokenFile "
    ):
        embedded(
            written({"certificate-authority": "x"}, {"tokenFile": "x", "exec": {"command": "sh"}}), CALLED
        )


@pytest.mark.parametrize("part", ["users", "clusters", "contexts"])
def test_two_entries_of_one_name_cannot_hide_each_other(part: str, tmp_path: Path) -> None:
    """Whichever the client would have taken: it sees one."""
    entry = {"contexts": "context", "clusters": "cluster", "users": "user"}[part]
    good = yaml.safe_load(written({}, {"token": SECRET}))
    bad = {
        "cluster": "a",
        "user": "a",
        "server": "https://b",
        "tokenFile": "/etc/shadow",
        "exec": {"command": "sh"},
    }
    for order in (1, -1):
        both = [*good[part], {"name": "a", entry: bad}][::order]
        try:
            kept = json.loads(embedded(yaml.safe_dump({**good, part: both}).encode(), CALLED))
        except UsageError:
            continue
        assert len(kept[part]) == 1
        assert not {"exec", "tokenFile"} & kept["users"][0]["user"].keys()


@pytest.mark.parametrize(
    "content",
    [b"", b"\xff\xfe", b"- a", b"a: [" + SECRET.encode(), b"[" * 5_000, b"users: 3", b"a: " + b"9" * 5_000],
)
def test_what_is_no_kubeconfig_is_called_by_its_secret_and_not_shown(content: bytes) -> None:
    with pytest.raises(UsageError, match=f"{CALLED} cannot be used") as caught:
        embedded(content, CALLED)
    assert SECRET not in f"{caught.value}"


@pytest.mark.parametrize(
    ("rest", "said"),
    [({"current-context": "b"}, "it is b"), ({"current-context": None}, "names no current-context"), ({"clusters": []}, "its cluster a is not")],
)  # fmt: skip
def test_a_context_that_leads_nowhere_is_called_by_its_secret(rest: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=f"the current context of {CALLED} cannot be used: .*{said}"):
        embedded(written({}, {}, **rest), CALLED)
