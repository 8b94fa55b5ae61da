"""Why a message went nowhere is told in words of ours: what the library says of a connection has the address in it."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from gitops_mc.adapters import post
from gitops_mc.adapters.post import ApprisePost
from gitops_mc.app.notifying import NotSentError
from gitops_mc.core.render.notices import Message, Mood
from tests.adapters.kube_peers import TLS, Peer, raw, serving

MESSAGE = Message("prod: halted", "- edge-1 failed", Mood.FAILURE)
TOKEN = "s3cr3t-t0ken-of-the-channel"


def told(address: str) -> str:
    with pytest.raises(NotSentError) as error:
        ApprisePost().send(address, MESSAGE)
    said = f"{error.value.message} {error.value.hint}"
    assert TOKEN not in said
    return said


def ways(port: int) -> tuple[str, ...]:
    """By HTTP, and by SMTP, which have other exceptions."""
    return (
        f"json://user:{TOKEN}@127.0.0.1:{port}/{TOKEN}",
        f"mailto://user:{TOKEN}@127.0.0.1:{port}?from=a@example.com&to=b@example.com&mode=insecure",
    )


@pytest.mark.parametrize("way", [0, 1])
def test_nobody_listens(way: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    assert "the connection was refused" in told(ways(port)[way])


@pytest.mark.parametrize("way", [0, 1])
def test_the_name_is_not_found(way: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def knows_no_name(*_: Any, **__: Any) -> Any:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", knows_no_name)
    address = ways(9)[way].replace("127.0.0.1", "hooks.example.com")
    said = told(address)
    assert "the name of its host is not found (DNS)" in said
    assert "hooks.example.com" in said


@pytest.mark.parametrize("way", [0, 1])
def test_the_connection_is_cut(way: int) -> None:
    with raw(lambda connection: None) as url:
        port = int(url.rpartition(":")[2])
        assert "the connection was cut" in told(ways(port)[way])


@pytest.mark.parametrize(
    ("certificate", "trusted", "reason"),
    [
        (
            "here.pem",
            "other-ca.crt",
            "its certificate is not trusted; REQUESTS_CA_BUNDLE or SSL_CERT_FILE names the CA",
        ),
        ("elsewhere.pem", "ca.crt", "its certificate is for another host"),
        ("expired.pem", "ca.crt", "its certificate has expired"),
    ],
)
def test_the_certificate_is_not_good(
    certificate: str, trusted: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(TLS / trusted))
    with serving(Peer(), certificate) as peer:
        port = int(peer.url.rpartition(":")[2])
        assert reason in told(f"jsons://127.0.0.1:{port}/{TOKEN}")


def test_a_certificate_of_a_ca_that_is_named_is_good(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(TLS / "ca.crt"))
    with serving(Peer(), "here.pem") as peer:
        port = int(peer.url.rpartition(":")[2])
        ApprisePost().send(f"jsons://127.0.0.1:{port}/{TOKEN}", MESSAGE)
        assert len(peer.seen) == 1


def test_no_tls_is_spoken_there() -> None:
    with serving(Peer()) as peer:
        port = int(peer.url.rpartition(":")[2])
        assert "no TLS is spoken there" in told(f"jsons://127.0.0.1:{port}/{TOKEN}")


def test_nobody_answers_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(post, "WITHIN", 5.0)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        assert "it did not answer in time" in told(f"json://127.0.0.1:{port}/{TOKEN}?rto=0.2&cto=0.2")


def test_the_proxy_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    monkeypatch.setenv("HTTP_PROXY", f"http://user:{TOKEN}@127.0.0.1:{port}")
    monkeypatch.setenv("NO_PROXY", "")
    assert "the proxy could not be reached, or refuses" in told(f"json://hooks.example.com/{TOKEN}")
