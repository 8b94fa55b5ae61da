"""Credentials of real connections, rotated while a process runs: the same transport, and no restart."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from gitops_mc.adapters.kube import GatewayTransport
from gitops_mc.core.errors import UnreachableError
from tests.adapters.kube_peers import GET, QUICK, TLS, Peer, accepting, serving


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """A token file and a CA file, as a mounted Secret has them."""
    token, ca = tmp_path / "token", tmp_path / "ca.crt"
    token.write_text("first")
    shutil.copy(TLS / "ca.crt", ca)
    return token, ca


def test_a_ca_that_is_rotated_is_used_from_the_next_connection_on(files: tuple[Path, Path]) -> None:
    token, ca = files
    shutil.copy(TLS / "other-ca.crt", ca)
    with serving(Peer(), "here.pem") as peer:
        transport = GatewayTransport(peer.url, token, ca)
        with pytest.raises(UnreachableError) as caught:
            transport.send("edge-01", GET, timeout=QUICK)
        assert str(ca) in f"{caught.value.message} {caught.value.hint}"
        shutil.copy(TLS / "ca.crt", ca)
        assert transport.send("edge-01", GET, timeout=QUICK).status == 200


def test_a_gateway_whose_new_certificate_is_of_a_ca_that_is_not_trusted_any_more_is_dark(
    files: tuple[Path, Path],
) -> None:
    token, ca = files
    with serving(Peer(), "here.pem") as peer:
        transport = GatewayTransport(peer.url, token, ca)
        assert transport.send("edge-01", GET, timeout=QUICK).status == 200
    shutil.copy(TLS / "other-ca.crt", ca)
    with serving(Peer(), "here.pem") as peer:
        transport._url = peer.url  # the same transport, and a gateway that has come back
        with pytest.raises(UnreachableError):
            transport.send("edge-01", GET, timeout=QUICK)


def test_a_token_that_expires_and_is_renewed_goes_through_with_the_same_call(
    files: tuple[Path, Path],
) -> None:
    token, ca = files
    with serving(Peer(accepting("first")), "here.pem") as peer:
        transport = GatewayTransport(peer.url, token, ca)
        assert transport.send("edge-01", GET, timeout=QUICK).status == 200
        peer.answer = accepting("second")
        assert transport.send("edge-01", GET, timeout=QUICK).status == 401
        token.write_text("second")
        assert transport.send("edge-01", GET, timeout=QUICK).status == 200
