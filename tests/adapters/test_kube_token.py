"""The token file: read when it changes, after a 401, and never shown."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gitops_mc.adapters.kube import GatewayTransport
from gitops_mc.core.errors import UsageError
from tests.adapters.kube_peers import GET, QUICK, SECRET, Peer, accepting


def test_a_token_that_is_renewed_by_swapping_a_link_is_used_from_the_next_call_on(
    peer: Peer, tmp_path: Path
) -> None:
    """As Kubernetes renews a projected token: token -> ..data/token, ..data -> a folder by time."""
    for number in (1, 2):
        folder = tmp_path / f"..v{number}"
        folder.mkdir()
        (folder / "token").write_text(f"token-{number}")
        os.utime(folder / "token", (1, 1))
    (tmp_path / "..data").symlink_to("..v1")
    (tmp_path / "token").symlink_to("..data/token")
    transport = GatewayTransport(peer.url, tmp_path / "token")
    transport.send("edge-01", GET, timeout=QUICK)
    (tmp_path / "..next").symlink_to("..v2")
    (tmp_path / "..next").replace(tmp_path / "..data")
    transport.send("edge-01", GET, timeout=QUICK)
    assert [s.token for s in peer.seen] == ["token-1", "token-2"]


def test_after_a_401_the_file_is_read_again_even_if_it_looks_the_same(peer: Peer, token_file: Path) -> None:
    token_file.write_text("token-1")
    os.utime(token_file, (1, 1))
    transport = GatewayTransport(peer.url, token_file)
    token_file.write_text("token-2")
    os.utime(token_file, (1, 1))
    peer.answer = accepting("token-2")
    assert transport.send("edge-01", GET, timeout=QUICK).status == 200
    assert [s.token for s in peer.seen] == ["token-1", "token-2"]


def test_a_token_that_is_refused_and_not_renewed_is_tried_once(peer: Peer, token_file: Path) -> None:
    peer.answer = accepting("another")
    assert GatewayTransport(peer.url, token_file).send("edge-01", GET, timeout=QUICK).status == 401
    assert len(peer.seen) == 1


@pytest.mark.parametrize("amid", ["gone", "empty", "not text"])
def test_amid_a_renewal_the_token_at_hand_is_used(peer: Peer, token_file: Path, amid: str) -> None:
    transport = GatewayTransport(peer.url, token_file)
    if amid == "gone":
        token_file.unlink()
    else:
        token_file.write_bytes(b"" if amid == "empty" else b"\xff\xfe")
    transport.send("edge-01", GET, timeout=QUICK)
    assert peer.seen[0].token == SECRET
    token_file.write_text("renewed")
    transport.send("edge-01", GET, timeout=QUICK)
    assert peer.seen[1].token == "renewed"


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "cannot be read"), (b"", "is empty"), (b" \n", "is empty"), (b"a\xff\xfe", "cannot be read"),
     (f"{SECRET}\nInjected: yes".encode(), "characters"), (f"{SECRET}ß".encode(), "characters")],
)  # fmt: skip
def test_a_token_file_that_holds_no_token_is_refused_at_the_start_and_not_shown(
    tmp_path: Path, content: bytes | None, said: str
) -> None:
    path = tmp_path / "token"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError, match=said) as caught:
        GatewayTransport("https://gateway.example", path)
    assert SECRET not in str(caught.value)
    assert caught.value.hint == "give a file that holds nothing but a bearer token"
    assert caught.value.__cause__ is None
