"""A kubeconfig of one cluster, reached by the context that the file calls current: as a Fleet names them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from gitops_mc.adapters.kube import KubeconfigTransport
from gitops_mc.adapters.kube_config_file import current_token
from gitops_mc.core.errors import UsageError
from tests.adapters.kube_peers import GET, QUICK, SECRET, Peer

DOCUMENT: dict[str, Any] = {
    "current-context": "a",
    "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
    "clusters": [{"name": "a", "cluster": {"server": "https://a.example"}}],
    "users": [{"name": "a", "user": {"token": SECRET}}],
}


def test_the_current_context_is_used(peer: Peer, tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(
        yaml.safe_dump({**DOCUMENT, "clusters": [{"name": "a", "cluster": {"server": peer.url}}]})
    )
    assert KubeconfigTransport(path, {"edge-01": ""}).send("edge-01", GET, timeout=QUICK).status == 200
    assert peer.seen[0].token == SECRET


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"current-context": "gone"}, r"it is gone, and there is no such context \(there are: a\)"),
        ({"current-context": ""}, "the file names no current-context"),
        ({"current-context": ["a"]}, "the file names no current-context"),
        ({"clusters": []}, "its cluster a is not among the clusters of the file"),
    ],
)
def test_what_is_wrong_with_the_current_context_is_said_of_it_and_not_of_a_context_without_a_name(
    tmp_path: Path, changed: dict[str, Any], said: str
) -> None:
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump({**DOCUMENT, **changed}))
    with pytest.raises(UsageError, match=f"the current context of .* cannot be used: {said}") as caught:
        KubeconfigTransport(path, {"edge-01": ""}).send("edge-01", GET, timeout=QUICK)
    assert caught.value.hint == f"look at it with: kubectl --kubeconfig {path} version"
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("changed", "token"),
    [
        ({}, SECRET),
        ({"users": [{"name": "a", "user": {"client-key-data": "x"}}]}, ""),
        ({"users": [{"name": "b", "user": {"token": SECRET}}]}, ""),
        ({"users": None}, ""),
        ({"contexts": [{"name": "a", "context": {"user": ["a"]}}]}, ""),
        ({"current-context": ["a"]}, ""),
    ],
)
def test_the_token_of_the_current_context_is_found_where_it_stands_in_the_file(
    tmp_path: Path, changed: dict[str, Any], token: str
) -> None:
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump({**DOCUMENT, **changed}))
    assert current_token(path) == token
