"""What the transport sends, and what comes back."""

from __future__ import annotations

import gzip
import json
import socket
import threading
from pathlib import Path

import pytest

from gitops_mc.adapters.kube import GatewayTransport
from gitops_mc.app.ports import APPLY_PATCH, JSON_PATCH, METADATA_LIST, Request, Response
from gitops_mc.core.errors import ApiError
from tests.adapters.kube_peers import GET, QUICK, SECRET, Peer, raw


def test_a_request_arrives_byte_for_byte_below_the_clusters_path(peer: Peer, token_file: Path) -> None:
    body = '{ "a" : "Größe", "b":1.0}'.encode()
    request = Request(
        "PATCH",
        "/apis/x/v1/things/a%2Fb",
        (("fieldManager", "gitops-mc"), ("labelSelector", "a=b,c in (d,e)")),
        body,
        APPLY_PATCH,
        METADATA_LIST,
    )
    GatewayTransport(peer.url + "/", token_file).send("edge 01", request, timeout=QUICK)
    (seen,) = peer.seen
    path, _, query = seen.target.partition("?")
    assert (seen.method, path) == ("PATCH", "/kubernetes/edge%2001/apis/x/v1/things/a%2Fb")
    assert query == "fieldManager=gitops-mc&labelSelector=a%3Db%2Cc+in+%28d%2Ce%29"
    assert seen.body == body
    assert seen.headers["content-type"] == APPLY_PATCH
    assert seen.headers["accept"] == METADATA_LIST
    assert seen.token == SECRET
    assert seen.headers["user-agent"].startswith("gitops-mc/")


def test_a_json_patch_is_not_taken_for_another_kind_of_patch(peer: Peer, token_file: Path) -> None:
    body = b'[{"op":"test","path":"/a","value":1}]'
    request = Request("PATCH", "/x", body=body, content_type=JSON_PATCH)
    GatewayTransport(peer.url, token_file).send("edge-01", request, timeout=QUICK)
    assert (peer.seen[0].headers["content-type"], peer.seen[0].body) == (JSON_PATCH, body)


@pytest.mark.parametrize("status", [200, 201, 301, 400, 404, 409, 410, 422, 429, 500, 503])
def test_an_answer_of_any_status_comes_back_as_it_is_and_once(
    peer: Peer, token_file: Path, status: int
) -> None:
    headers = {"Retry-After": "1", "Location": "/elsewhere", "Content-Type": "text/html"}
    peer.answer = lambda _: Response(status, b"<html>\xff", headers)
    answer = GatewayTransport(peer.url, token_file).send("edge-01", GET, timeout=QUICK)
    assert (answer.status, answer.body) == (status, b"<html>\xff")
    assert answer.headers["retry-after"] == "1"
    assert len(peer.seen) == 1


def test_compressed_answers_are_unpacked(peer: Peer, token_file: Path) -> None:
    text = json.dumps({"items": ["x" * 100] * 20_000}).encode()
    peer.answer = lambda _: Response(200, gzip.compress(text), {"Content-Encoding": "gzip"})
    assert GatewayTransport(peer.url, token_file).send("edge-01", GET, timeout=QUICK).body == text


@pytest.mark.parametrize("encoding", ["identity", "gzip"])
def test_an_answer_beyond_the_limit_is_an_error_that_no_repeat_will_mend(
    peer: Peer, token_file: Path, encoding: str
) -> None:
    text = b"x" * 5_000_000
    sent = gzip.compress(text) if encoding == "gzip" else text
    peer.answer = lambda _: Response(200, sent, {"Content-Encoding": encoding})
    transport = GatewayTransport(peer.url, token_file, largest_answer=1_000_000)
    with pytest.raises(ApiError, match="larger than 1000000 bytes") as caught:
        transport.send("edge-01", GET, timeout=QUICK)
    assert not caught.value.transient


def test_calls_share_connections_that_are_kept_alive(peer: Peer, token_file: Path) -> None:
    transport = GatewayTransport(peer.url, token_file)
    for cluster in ("edge-01", "edge-02", "global"):
        transport.send(cluster, GET, timeout=QUICK)
    assert len({s.connection for s in peer.seen}) == 1
    transport.close()


def test_a_proxy_in_the_environment_is_not_used(
    peer: Peer, token_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    assert GatewayTransport(peer.url, token_file).send("edge-01", GET, timeout=QUICK).status == 200


def test_a_proxy_that_is_named_is_used(peer: Peer, token_file: Path) -> None:
    transport = GatewayTransport("http://gateway.invalid", token_file, proxy=peer.url)
    assert transport.send("edge-01", GET, timeout=QUICK).status == 200
    assert peer.seen[0].target.startswith("http://gateway.invalid/kubernetes/edge-01/")


def test_callers_at_once_each_get_their_own_answer(peer: Peer, token_file: Path) -> None:
    peer.answer = lambda seen: Response(200, seen.target.encode())
    transport = GatewayTransport(peer.url, token_file, connections=4)
    found: dict[str, bytes] = {}

    def caller(cluster: str) -> None:
        for number in range(20):
            request = Request("GET", f"/{number}")
            found[f"/kubernetes/{cluster}/{number}"] = transport.send(cluster, request, timeout=QUICK).body

    threads = [threading.Thread(target=caller, args=(f"edge-{n}",)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(QUICK)
    assert len(found) == 160
    assert all(path.encode() == body for path, body in found.items())


def once(connection: socket.socket) -> None:
    connection.recv(1 << 16)
    connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")


def test_a_connection_that_the_server_has_closed_meanwhile_is_not_used_for_a_write(token_file: Path) -> None:
    write = Request("POST", "/x", body=b"{}")
    with raw(once) as url:
        transport = GatewayTransport(url, token_file)
        for _ in range(3):
            assert transport.send("edge-01", write, timeout=QUICK).status == 200
            threading.Event().wait(0.02)  # as long as the end of the connection takes to arrive
