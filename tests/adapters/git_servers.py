"""Git servers on loopback, over HTTP and HTTPS: the real ones (git http-backend behind TLS), and such as misbehave as told."""

from __future__ import annotations

import base64
import os
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from gitops_mc.adapters.git_access import Access
from gitops_mc.adapters.git_remote import Limits, RemoteSource
from gitops_mc.app.ports import Polled, Tree
from tests.adapters.kube_peers import TLS

CA = (TLS / "ca.crt").read_bytes()
OTHER_CA = (TLS / "other-ca.crt").read_bytes()
SECRET = "s3cr3t-t0k3n-0f-th3-f0rg3"

ENVIRONMENT = {
    **{key: value for key, value in os.environ.items() if not key.startswith(("GIT_", "SSH_"))},
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.com",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.com",
}


@dataclass
class Origin:
    """A repository with a work tree beside it, as a server has it: `root`/fleet.git."""

    root: Path
    work: Path

    def git(self, *arguments: str, **environment: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(self.work), *arguments],
            env=ENVIRONMENT | environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    def commit(self, text: str = "x", *, name: str = "a", sign: tuple[str, ...] = ()) -> str:
        """Write a file and commit it to the branch that is checked out."""
        (self.work / name).write_text(text)
        self.git("add", "-A")
        self.git(*sign, "commit", "-q", "--allow-empty", *(("-S",) if sign else ()), "-m", text[:20])
        return self.head()

    def head(self) -> str:
        return self.git("rev-parse", "HEAD")

    def rewrite(self, to: str) -> None:
        self.git("reset", "-q", "--hard", to)

    def forget(self) -> None:
        """Delete whatever no branch or tag leads to."""
        self.git("reflog", "expire", "--expire=now", "--expire-unreachable=now", "--all")
        self.git("gc", "-q", "--prune=now")


def origin(folder: Path) -> Origin:
    """An empty repository, branch main."""
    made = Origin(folder / "served", folder / "work")
    made.root.mkdir(parents=True)
    made.work.mkdir()
    made.git("init", "-q", "-b", "main", "--separate-git-dir", str(made.root / "fleet.git"))
    return made


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as it arrived, and how to have the real server answer it."""

    method: str
    path: str
    query: str
    headers: dict[str, str]
    ask: Callable[[Asked], Answer]

    def backend(self) -> Answer:
        return self.ask(self)

    @property
    def authorization(self) -> str:
        return self.headers.get("authorization", "")


@dataclass(frozen=True, slots=True)
class Answer:
    """`sent` is how many bytes of the body leave before the connection is cut, at once or when `until` is set; None: all."""

    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    sent: int | None = None
    until: threading.Event | None = None


@dataclass
class GitServer:
    """What it is told to do with a request, and what it has been asked."""

    answer: Callable[[Asked], Answer] = lambda asked: asked.backend()
    asked: list[Asked] = field(default_factory=list)
    base: str = ""

    @property
    def url(self) -> str:
        return f"{self.base}/fleet.git"

    def fetches(self) -> int:
        """How many packs were asked for."""
        return sum(1 for asked in self.asked if asked.headers.get("x-command") == "fetch")


class _Quiet(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up amid an answer is what some tests are about."""


@contextmanager
def serving(server: GitServer, root: Path, certificate: str = "here.pem") -> Iterator[GitServer]:
    """Over HTTPS or, without a certificate, HTTP."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1

        def _any(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            headers = {key.lower(): value for key, value in self.headers.items()}
            if b"command=fetch" in body:
                headers["x-command"] = "fetch"
            path, _, query = self.path.partition("?")
            asked = Asked(self.command, path, query, headers, lambda asked: _backend(root, asked, body))
            server.asked.append(asked)
            answer = server.answer(asked)
            self.send_response(answer.status)
            for name, value in answer.headers:
                self.send_header(name, value)
            self.send_header("content-length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body[: answer.sent])
            if answer.sent is not None:
                self.wfile.flush()
                if answer.until is not None:
                    answer.until.wait(30)
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)

        do_GET = do_POST = _any  # noqa: N815 - the library's names

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's name
            pass

    listening = _Quiet(("127.0.0.1", 0), Handler)
    scheme = "http"
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(TLS / certificate)
        listening.socket = context.wrap_socket(
            listening.socket, server_side=True, do_handshake_on_connect=False
        )
        scheme = "https"
    server.base = f"{scheme}://127.0.0.1:{listening.server_address[1]}"
    threading.Thread(target=listening.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield server
    finally:
        listening.shutdown()
        listening.server_close()


def _backend(root: Path, asked: Asked, body: bytes) -> Answer:
    """What git http-backend, a CGI program, answers."""
    environment = {
        "PATH": os.environ["PATH"],
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_PROJECT_ROOT": str(root),
        "GIT_HTTP_EXPORT_ALL": "1",
        "REQUEST_METHOD": asked.method,
        "PATH_INFO": asked.path,
        "QUERY_STRING": asked.query,
        "CONTENT_TYPE": asked.headers.get("content-type", ""),
        "CONTENT_LENGTH": str(len(body)),
        "HTTP_CONTENT_ENCODING": asked.headers.get("content-encoding", ""),
        "GIT_PROTOCOL": asked.headers.get("git-protocol", ""),
    }
    done = subprocess.run(
        ["git", "http-backend"], env=environment, input=body, capture_output=True, check=False
    )
    head, _, content = done.stdout.partition(b"\r\n\r\n")
    lines = [line.partition(": ") for line in head.decode().split("\r\n")]
    status = next((int(value.split()[0]) for name, _, value in lines if name == "Status"), 200)
    kept = tuple((name, value) for name, _, value in lines if name not in ("Status", "Content-Length"))
    return Answer(status, kept, content)


def static(root: Path) -> Callable[[Asked], Answer]:
    """A plain file server: the dumb protocol, which knows no part of a history."""

    def answer(asked: Asked) -> Answer:
        path = root / asked.path.lstrip("/")
        return Answer(body=path.read_bytes()) if path.is_file() else Answer(404)

    return answer


def guarded(*accepted: str) -> Callable[[Asked], Answer]:
    """Lets in who brings one of these Authorization headers."""

    def answer(asked: Asked) -> Answer:
        if asked.authorization in accepted:
            return asked.backend()
        return Answer(401, (("WWW-Authenticate", 'Basic realm="fleet"'),))

    return answer


def basic(user: str, password: str) -> str:
    return f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"


def source(
    server: GitServer,
    cache: Path,
    access: Access | None = None,
    *,
    ref: str = "",
    folder: str = "",
    limits: Limits | None = None,
) -> RemoteSource:
    """A source on a server with the tests' certificate. Slow machines get the time they need."""
    given = access or Access(ca=CA)
    return RemoteSource(
        server.url, cache, lambda: given, ref=ref, folder=folder, limits=limits or Limits(seconds=60)
    )


def beside(fleet: Origin, cache: Path, *, ref: str = "", limits: Limits | None = None) -> RemoteSource:
    """A source on a repository of this machine, for tests in which the server plays no part: it takes half the time."""
    address = (fleet.root / "fleet.git").as_uri()
    return RemoteSource(
        address, cache, ref=ref, limits=limits or Limits(seconds=60), unprotected=frozenset({"file"})
    )


def polled(of: RemoteSource, *wanted: str) -> Polled:
    """A poll that has to go well."""
    found = of.poll(frozenset(wanted))  # type: ignore[arg-type]
    assert isinstance(found, Polled), found
    return found


def texts(tree: Tree) -> dict[str, str]:
    return {entry.path: tree.read(entry).decode() for entry in tree.entries}
