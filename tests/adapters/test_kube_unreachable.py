"""What is said when nothing answers, or not to be trusted."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gitops_mc.adapters.kube import GatewayTransport
from gitops_mc.core.errors import UsageError
from tests.adapters.kube_peers import GET, QUICK, TLS, Peer, failure, raw, serving


def test_nothing_listens(token_file: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    assert "connection refused" in failure(GatewayTransport(url, token_file)).message


def test_no_such_host(token_file: Path) -> None:
    assert "DNS" in failure(GatewayTransport("https://gateway.invalid", token_file)).message


def silent(connection: socket.socket) -> None:
    while connection.recv(1 << 16):
        pass


def test_a_server_that_is_silent(token_file: Path) -> None:
    with raw(silent) as url:
        began = time.monotonic()
        found = failure(GatewayTransport(url, token_file), timeout=0.2)
        assert time.monotonic() - began < QUICK
    assert "no answer within 0.2 s" in found.message


def slow_headers(connection: socket.socket) -> None:
    _slowly(connection, b"HTTP/1.1 200 OK\r\n", b"x-more: y\r\n")


def slow_header(connection: socket.socket) -> None:
    _slowly(connection, b"HTTP/1.1 200 OK\r\nx-more: ", b"y")


def slow_chunk(connection: socket.socket) -> None:
    _slowly(connection, b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", b"0")


def slow_continue(connection: socket.socket) -> None:
    _slowly(connection, b"", b"HTTP/1.1 100 Continue\r\n\r\n")


def _slowly(connection: socket.socket, begin: bytes, more: bytes) -> None:
    connection.recv(1 << 16)
    connection.sendall(begin)
    for _ in range(250):
        try:
            connection.sendall(more)
        except OSError:  # the caller has hung up, as he should
            return
        threading.Event().wait(0.02)


@pytest.mark.parametrize("talk", [slow_headers, slow_header, slow_chunk, slow_continue])
def test_a_server_that_never_comes_to_the_body_does_not_hold_the_call(
    token_file: Path, talk: Callable[[socket.socket], None]
) -> None:
    with raw(talk) as url:
        began = time.monotonic()
        found = failure(GatewayTransport(url, token_file), timeout=0.4)
        assert time.monotonic() - began < QUICK
    assert "no answer within 0.4 s" in found.message


def drip(connection: socket.socket) -> None:
    connection.recv(1 << 16)
    connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n")
    for _ in range(400):
        connection.sendall(b"x")
        threading.Event().wait(0.02)


def test_a_server_that_sends_a_byte_now_and_then_does_not_hold_the_call(token_file: Path) -> None:
    with raw(drip) as url:
        began = time.monotonic()
        found = failure(GatewayTransport(url, token_file), timeout=0.6)
        assert time.monotonic() - began < QUICK
    assert "no answer within 0.6 s" in found.message


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (b"", "closed before an answer came"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n{}", "cut short"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{}", "cut short"),
        (b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 9\r\n\r\nnot gzip!", "decompressed"),
        (b"SSH-2.0-OpenSSH\r\n\r\n", "closed before an answer came"),
    ],
    ids=["closed", "cut short", "cut short in a chunk", "broken gzip", "no HTTP"],
)
def test_a_server_that_breaks_off(token_file: Path, sent: bytes, said: str) -> None:
    def talk(connection: socket.socket) -> None:
        connection.recv(1 << 16)
        connection.sendall(sent)

    with raw(talk) as url:
        assert said in failure(GatewayTransport(url, token_file)).message


def test_a_server_that_resets_the_connection(token_file: Path) -> None:
    def talk(connection: socket.socket) -> None:
        connection.recv(1 << 16)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")

    with raw(talk) as url:
        assert "connection reset" in failure(GatewayTransport(url, token_file)).message


def test_a_certificate_of_the_ca_given_is_trusted(token_file: Path) -> None:
    with serving(Peer(), "here.pem") as peer:
        assert (
            GatewayTransport(peer.url, token_file, TLS / "ca.crt").send("e", GET, timeout=QUICK).status == 200
        )


@pytest.mark.parametrize(
    ("certificate", "ca", "said", "advice"),
    [
        ("here.pem", TLS / "other-ca.crt", "not signed by the CAs in ", "--ca-file"),
        ("here.pem", None, "not signed by the system's CAs", "--ca-file"),
        ("expired.pem", TLS / "ca.crt", "the certificate has expired", "clock"),
        ("elsewhere.pem", TLS / "ca.crt", "for another IP address", "host name"),
    ],
    ids=["another CA", "no CA given", "expired", "another host"],
)
def test_a_certificate_that_is_not_trusted_says_what_to_do(
    token_file: Path, certificate: str, ca: Path | None, said: str, advice: str
) -> None:
    with serving(Peer(), certificate) as peer:
        found = failure(GatewayTransport(peer.url, token_file, ca))
    assert said in found.message
    assert advice in found.hint
    assert peer.seen == []


def test_tls_to_a_plain_server_says_so(peer: Peer, token_file: Path) -> None:
    found = failure(GatewayTransport(peer.url.replace("http:", "https:"), token_file, TLS / "ca.crt"))
    assert "TLS failed" in found.message


@pytest.mark.parametrize(
    "url", ["gateway.example", "ftp://gateway.example", "https://", "https://me:pw@gateway"]
)
def test_an_address_that_is_none_is_refused_without_its_password(token_file: Path, url: str) -> None:
    with pytest.raises(UsageError, match="give https://") as caught:
        GatewayTransport(url, token_file)
    assert "pw" not in str(caught.value)


def test_a_ca_file_that_is_missing_or_holds_no_certificate_is_refused(
    token_file: Path, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=r"CA file .* is not there"):
        GatewayTransport("https://gateway.example", token_file, tmp_path / "ca.crt")
