"""A real Gitea on loopback, built once with Go. `python -m tests.adapters.gitea_server` builds it: ten minutes on two cores.

Without frontend, mail, SSH and a database server: what is asked of it is its API.
"""

from __future__ import annotations

import http.client
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.apiserver.processes import Child, StartError, free_port, on_free_ports, start

VERSION, SUM = "v1.27.3", "h1:SRnjvw24ASELKCqyYvAWIlzwOqyFMgfD+UkqQ9SE5eU="
MODULE = f"code.gitea.io/gitea@{VERSION}"
GET_GITEA = f"there is no Gitea {VERSION} here; python -m tests.adapters.gitea_server builds one, with Go and the Go module proxy"
_NEEDED = ("templates", "options", "public")
"""What it reads beside its binary."""
_SETTINGS = """\
RUN_MODE = prod
[server]
HTTP_ADDR = 127.0.0.1
HTTP_PORT = {port}
ROOT_URL = http://127.0.0.1:{port}/
OFFLINE_MODE = true
DISABLE_SSH = true
STATIC_ROOT_PATH = {static}
[database]
DB_TYPE = sqlite3
[security]
INSTALL_LOCK = true
SECRET_KEY = of-a-test
[log]
LEVEL = Warn
"""


def folder() -> Path:
    """Where it stands once it is built."""
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "gitops-mc" / "gitea" / VERSION


def build() -> None:
    """Nothing is left under its name by a build that dies."""
    if folder().is_dir():
        return
    folder().parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder().parent, prefix="building-") as work:
        told = json.loads(_said(["go", "mod", "download", "-json", MODULE], Path(work)))
        if told["Sum"] != SUM:
            raise SystemExit(f"{MODULE} is not what it was: {told['Sum']}")
        source = Path(work) / "source"
        shutil.copytree(told["Dir"], source, copy_function=shutil.copyfile)
        for path in (source, *source.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
        made = Path(work) / "made"
        made.mkdir()
        _said(
            [
                "nice",
                "go",
                "build",
                "-tags",
                "sqlite sqlite_unlock_notify",
                "-o",
                f"{made}/gitea",
                ".",
            ],
            source,
        )
        for name in _NEEDED:
            (source / name).rename(made / name)
        made.rename(folder())


def _said(command: list[str], where: Path) -> str:
    return subprocess.run(command, cwd=where, check=True, stdout=subprocess.PIPE, text=True).stdout


@dataclass(frozen=True, slots=True)
class Gitea:
    """One that runs, with users `mei`, who has a project `mei/fleet`, and `eve`, who has nothing, and a token of each."""

    url: str
    token: str
    commit: str
    eve: str
    """Her token."""

    def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None, token: str = "") -> Any:
        """Its API, without any client of ours. What is refused is a failure."""
        connection = http.client.HTTPConnection(self.url.removeprefix("http://"), timeout=30)
        headers = {"authorization": f"token {token or self.token}", "content-type": "application/json"}
        connection.request(method, f"/api/v1{path}", None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        told = json.loads(answer.read() or b"null")
        connection.close()
        assert answer.status < 300, told
        return told


@contextmanager
def gitea(work: Path) -> Iterator[Gitea]:
    """It, for as long as the `with`."""
    settings = work / "custom" / "conf" / "app.ini"
    settings.parent.mkdir(parents=True)
    settings.write_text(_SETTINGS.format(port=free_port(), static=folder()))
    env = {
        **os.environ,
        "GITEA_WORK_DIR": str(work),
        "GITEA_I_AM_BEING_UNSAFE_RUNNING_AS_ROOT": "true",
        "HOME": str(work),
    }
    binary = str(folder() / "gitea")

    def run(*arguments: str) -> str:
        done = subprocess.run([binary, *arguments], env=env, check=True, capture_output=True, text=True)
        return (done.stdout.strip().splitlines() or [""])[-1]

    run("migrate")

    def user(name: str) -> str:
        """Somebody new; gives a token."""
        who, password = ("--username", name), ("--password", "opens-nothing", "--must-change-password=false")
        run("admin", "user", "create", *who, *password, "--email", f"{name}@example.com")
        scopes = "write:repository,write:user,write:issue"
        return run(
            "admin", "user", "generate-access-token", *who, "--token-name", "t", "--scopes", scopes, "--raw"
        )

    token, eve = user("mei"), user("eve")

    def up() -> tuple[Child, int]:
        port = free_port()
        settings.write_text(_SETTINGS.format(port=port, static=folder()))
        child = start("gitea", [binary, "web"], work / "log", env)
        try:
            child.await_ready(lambda: _answers(port), within=60)
        except StartError:
            child.stop()
            raise
        return child, port

    child, port = on_free_ports(up)
    try:
        made = Gitea(f"http://127.0.0.1:{port}", token, "", eve)
        made.ask("POST", "/user/repos", {"name": "fleet", "auto_init": True, "default_branch": "main"})
        head = made.ask("GET", "/repos/mei/fleet/branches/main")["commit"]["id"]
        yield Gitea(made.url, token, head, eve)
    finally:
        child.stop()


def _answers(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/api/v1/version")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


if __name__ == "__main__":
    if shutil.which("go") is None:
        sys.exit("NOT BUILT: Go is not on the PATH; get it from https://go.dev/dl/")
    build()
    print(folder())  # noqa: T201 - what was asked for
