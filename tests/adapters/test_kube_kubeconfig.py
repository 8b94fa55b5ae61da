"""A context of a kubeconfig for each cluster."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from gitops_mc.adapters.kube import KubeconfigTransport, Others
from gitops_mc.core.errors import UsageError
from tests.adapters.kube_peers import GET, QUICK, SECRET, TLS, Peer, accepting, failure, serving


def kubeconfig(path: Path, users: dict[str, dict[str, Any]], servers: dict[str, dict[str, str]]) -> None:
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": n, "cluster": c} for n, c in servers.items()],
        "users": [{"name": n, "user": u} for n, u in users.items()],
        "contexts": [{"name": f"ctx-{n}", "context": {"cluster": n, "user": n}} for n in servers],
        "current-context": f"ctx-{next(iter(servers))}",
    }
    path.write_text(yaml.safe_dump(config))


def test_each_cluster_goes_to_its_own_context(peer: Peer, tmp_path: Path) -> None:
    with serving(Peer(), "here.pem") as other:
        path = tmp_path / "config"
        kubeconfig(
            path,
            {"a": {"token": "token-a"}, "b": {"username": "me", "password": "pw"}},
            {"a": {"server": f"{peer.url}/below/"},
             "b": {"server": other.url, "certificate-authority": str(TLS / "ca.crt")}},
        )  # fmt: skip
        transport = KubeconfigTransport(path, {"edge-01": "ctx-a", "global": "ctx-b"})
        assert transport.send("edge-01", GET, timeout=QUICK).status == 200
        assert transport.send("global", GET, timeout=QUICK).status == 200
        transport.close()
    assert (peer.seen[0].target, peer.seen[0].token) == ("/below/apis/apps/v1/deployments", "token-a")
    assert other.seen[0].headers["authorization"].startswith("Basic ")


def test_clusters_that_are_met_later_are_reached_by_the_context_that_is_named_like_them(
    peer: Peer, tmp_path: Path
) -> None:
    path = tmp_path / "config"
    kubeconfig(
        path,
        {"a": {"token": "token-a"}, "b": {"token": "token-b"}},
        {"a": {"server": peer.url}, "b": {"server": peer.url}},
    )
    transport = KubeconfigTransport(path, {"edge-01": "ctx-a"}, others=Others.NAMED_LIKE_THEM)
    for cluster in ("edge-01", "ctx-b"):
        assert transport.send(cluster, GET, timeout=QUICK).status == 200
    with pytest.raises(UsageError, match="context edge-02 of"):
        transport.send("edge-02", GET, timeout=QUICK)
    transport.close()
    assert [seen.token for seen in peer.seen] == ["token-a", "token-b"]


def test_a_kubeconfig_that_changes_is_read_again(peer: Peer, tmp_path: Path) -> None:
    path = tmp_path / "config"
    kubeconfig(path, {"a": {"token": "first"}}, {"a": {"server": peer.url}})
    transport = KubeconfigTransport(path, {"edge-01": "ctx-a"})
    transport.send("edge-01", GET, timeout=QUICK)
    kubeconfig(path, {"a": {"token": "the second"}}, {"a": {"server": peer.url}})
    transport.send("edge-01", GET, timeout=QUICK)
    assert [s.token for s in peer.seen] == ["first", "the second"]


def test_a_token_file_named_in_a_kubeconfig_is_read_again_after_a_401(peer: Peer, tmp_path: Path) -> None:
    path, token = tmp_path / "config", tmp_path / "token"
    token.write_text("token-1")
    kubeconfig(path, {"a": {"tokenFile": str(token)}}, {"a": {"server": peer.url}})
    transport = KubeconfigTransport(path, {"edge-01": "ctx-a"})
    transport.send("edge-01", GET, timeout=QUICK)
    token.write_text("token-2")
    peer.answer = accepting("token-2")
    assert transport.send("edge-01", GET, timeout=QUICK).status == 200
    assert [s.token for s in peer.seen] == ["token-1", "token-1", "token-2"]


def test_a_credential_plugin_is_run(peer: Peer, tmp_path: Path) -> None:
    credential = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": {"token": "from-plugin"},
    }
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": sys.executable,
        "args": ["-c", f"print({json.dumps(json.dumps(credential))})"],
        "interactiveMode": "Never",
    }
    path = tmp_path / "config"
    kubeconfig(path, {"a": {"exec": plugin}}, {"a": {"server": peer.url}})
    KubeconfigTransport(path, {"edge-01": "ctx-a"}).send("edge-01", GET, timeout=QUICK)
    assert peer.seen[0].token == "from-plugin"


def test_an_unnamed_cluster_and_a_missing_context_are_errors_of_use(peer: Peer, tmp_path: Path) -> None:
    path = tmp_path / "config"
    kubeconfig(path, {"a": {"token": SECRET}}, {"a": {"server": peer.url}})
    transport = KubeconfigTransport(path, {"edge-01": "nowhere"})
    with pytest.raises(UsageError, match=r"cluster edge-02 \(named: edge-01\)"):
        transport.send("edge-02", GET, timeout=QUICK)
    with pytest.raises(UsageError, match=r"context nowhere of .* cannot be used: .*there are: ctx-a\)"):
        transport.send("edge-01", GET, timeout=QUICK)
    with pytest.raises(UsageError, match="is not there"):
        KubeconfigTransport(tmp_path / "none", {})
    with pytest.raises(UsageError, match="cannot be read: Is a directory"):
        KubeconfigTransport(tmp_path, {})


@pytest.mark.parametrize("text", [f"users: [{SECRET}", f"- {SECRET}", f"users: {SECRET}\ncontexts: 3", ""])
def test_a_damaged_kubeconfig_is_an_error_that_shows_nothing_of_it(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(UsageError, match="cannot be used") as caught:
        KubeconfigTransport(path, {"edge-01": "a"}).send("edge-01", GET, timeout=QUICK)
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None


DOCUMENT: dict[str, Any] = {
    "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
    "clusters": [{"name": "a", "cluster": {"server": "https://a.example"}}],
    "users": [{"name": "a", "user": {"token": SECRET}}],
}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"contexts": []}, "there are: none"),
        ({"contexts": [{"name": f"c-{n}"} for n in range(20)]}, r"c-10, c-11 and 8 more\)"),
        ({"contexts": [{"name": "a"}]}, "it names no cluster"),
        ({"contexts": None}, "it has no list of contexts"),
        ({"users": SECRET}, "it has no list of users"),
        ({"clusters": []}, "its cluster a is not among the clusters of the file"),
        ({"clusters": [{"name": "a", "cluster": {}}]}, "its cluster a has no server"),
        (
            {"clusters": [{"name": "a", "cluster": {"server": "https://a", "certificate-authority": "none.pem"}}]},
            "a of .* cannot be used: ",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_kubeconfig_is_said_in_plain_words_with_a_hint(
    tmp_path: Path, changed: dict[str, Any], said: str
) -> None:
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump({**DOCUMENT, **changed}))
    with pytest.raises(UsageError, match=said) as caught:
        KubeconfigTransport(path, {"edge-01": "a"}).send("edge-01", GET, timeout=QUICK)
    assert caught.value.hint
    assert "Exception" not in caught.value.message
    assert "Error" not in caught.value.message
    assert SECRET not in caught.value.message


def test_a_kubeconfig_without_the_right_ca_names_the_context(tmp_path: Path) -> None:
    path = tmp_path / "config"
    with serving(Peer(), "here.pem") as peer:
        kubeconfig(path, {"a": {"token": SECRET}}, {"a": {"server": peer.url}})
        found = failure(KubeconfigTransport(path, {"edge-01": "ctx-a"}))
    assert "the CA of context ctx-a" in found.message
    assert "certificate-authority" in found.hint


def test_the_kubernetes_client_is_loaded_only_when_it_is_used() -> None:
    code = "import sys, gitops_mc.adapters.kube; sys.exit('kubernetes' in sys.modules or 'urllib3' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
