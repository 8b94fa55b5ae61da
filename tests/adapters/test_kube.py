"""The transports against real sockets: what goes out, what comes back, and what is said when nothing does."""

from __future__ import annotations

import gzip
import json
import os
import socket
import ssl
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from gitops_mc.adapters.kube import GatewayTransport, KubeconfigTransport
from gitops_mc.app.ports import APPLY_PATCH, JSON_PATCH, METADATA_LIST, Request, Response
from gitops_mc.core.errors import ApiError, UnreachableError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TLS = Path(__file__).parents[1] / "data" / "tls"
GET = Request("GET", "/apis/apps/v1/deployments")
SECRET = "s3cr3t-t0k3n"
QUICK = 5.0
"""Seconds; nothing takes as long unless it is broken."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A request as it arrived."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    connection: int

    @property
    def token(self) -> str:
        return self.headers.get("authorization", "").removeprefix("Bearer ")


@dataclass
class Peer:
    """An HTTP server that answers as it is told and remembers what it was asked."""

    answer: Callable[[Seen], Response] = lambda _: Response(200, b"{}")
    seen: list[Seen] = field(default_factory=list)
    url: str = ""


@contextmanager
def serving(peer: Peer, certificate: str = "") -> Iterator[Peer]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _any(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            headers = {k.lower(): v for k, v in self.headers.items()}
            seen = Seen(self.command, self.path, headers, body, self.client_address[1])
            peer.seen.append(seen)
            answer = peer.answer(seen)
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body)

        do_GET = do_POST = do_PATCH = do_DELETE = do_PUT = _any  # noqa: N815 - the library's names

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's name
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    scheme = "http"
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(TLS / certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        scheme = "https"
    peer.url = f"{scheme}://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield peer
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def raw(talk: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server that misbehaves at will, once per connection; gives its URL."""
    listening = socket.create_server(("127.0.0.1", 0))

    def accept() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with connection:
                try:
                    talk(connection)
                except OSError:
                    continue

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        listening.close()


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    path = tmp_path / "token"
    path.write_text(f"{SECRET}\n")
    return path


@pytest.fixture
def peer() -> Iterator[Peer]:
    with serving(Peer()) as found:
        yield found


def failure(transport: GatewayTransport | KubeconfigTransport, timeout: float = QUICK) -> UnreachableError:
    with pytest.raises(UnreachableError) as caught:
        transport.send("edge-01", GET, timeout=timeout)
    assert SECRET not in f"{caught.value} {caught.value.hint} {caught.value.__cause__!r}"
    assert caught.value.message.startswith("edge-01: GET /apis/apps/v1/deployments: ")
    return caught.value


# --------------------------------------------------------------------------------------------------- what is carried


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


# --------------------------------------------------------------------------------------------------------- the token


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


def accepting(token: str) -> Callable[[Seen], Response]:
    return lambda seen: Response(200 if seen.token == token else 401, b"{}")


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
    assert caught.value.__cause__ is None


# ----------------------------------------------------------------------------------------------- when nothing answers


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


def drip(connection: socket.socket) -> None:
    connection.recv(1 << 16)
    connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n")
    for _ in range(200):
        connection.sendall(b"x")
        threading.Event().wait(0.02)


def test_a_server_that_sends_a_byte_now_and_then_does_not_hold_the_call(token_file: Path) -> None:
    with raw(drip) as url:
        began = time.monotonic()
        found = failure(GatewayTransport(url, token_file), timeout=0.3)
        assert time.monotonic() - began < 2
    assert "not complete in time" in found.message


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


# -------------------------------------------------------------------------------------------------------------- TLS


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


# ------------------------------------------------------------------------------------------------------- kubeconfig


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
    with pytest.raises(UsageError, match=r"context nowhere of .* cannot be used"):
        transport.send("edge-01", GET, timeout=QUICK)
    with pytest.raises(UsageError, match="is not there"):
        KubeconfigTransport(tmp_path / "none", {})


@pytest.mark.parametrize("text", [f"users: [{SECRET}", f"- {SECRET}", f"users: {SECRET}\ncontexts: 3", ""])
def test_a_damaged_kubeconfig_is_an_error_that_shows_nothing_of_it(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(UsageError, match="cannot be used") as caught:
        KubeconfigTransport(path, {"edge-01": "a"}).send("edge-01", GET, timeout=QUICK)
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None


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
