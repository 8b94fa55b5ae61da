"""The page on the Git server: its commands are run as they stand there, and with what they leave behind a Fleet's repository
is read, over SSH and over HTTPS, signature included.
"""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import asyncssh
import pytest
import yaml

from gitops_mc.adapters.git_access import Access, Called, Trust, credentials_of
from gitops_mc.adapters.git_client import _OLDEST
from gitops_mc.adapters.git_errors import _HERE, _THERE
from gitops_mc.adapters.git_remote import _DEPTHS, Limits, RemoteSource
from gitops_mc.core.custom.fleet_spec import fleet_spec
from tests.adapters.git_servers import (
    CA,
    ENVIRONMENT,
    SECRET,
    GitServer,
    Origin,
    basic,
    guarded,
    origin,
    polled,
    serving,
)
from tests.adapters.git_ssh_servers import SshServer, serving_ssh
from tests.docs.readme import ROOT, console_blocks
from tests.sandbox.kubectl import GET_KUBECTL, find_kubectl

PAGE = (ROOT / "docs" / "git.md").read_text(encoding="utf-8")
DECISION = (ROOT / "docs" / "adr" / "0012-the-systems-git-fetches.md").read_text(encoding="utf-8")
HOST = "git.example.com"


@dataclass
class Desk:
    """Where somebody follows the page: a home of their own, and the host of the page standing for a server of the test."""

    folder: Path
    server: SshServer
    work: Origin

    def __post_init__(self) -> None:
        self.home = self.folder / "home"
        self.desk = self.folder / "desk"
        (self.home / ".ssh").mkdir(parents=True)
        (self.home / "g").mkdir(mode=0o700)
        self.desk.mkdir()
        self.objects: dict[str, dict[str, bytes]] = {}

    def run(self, line: str, folder: Path | None = None) -> str:
        environment = {**ENVIRONMENT, "HOME": str(self.home), "GNUPGHOME": str(self.home / "g")}
        here = (
            line.replace(HOST, f"-p {self.server.port} 127.0.0.1") if line.startswith("ssh-keyscan") else line
        )
        done = subprocess.run(
            ["sh", "-ec", here],
            cwd=folder or self.desk,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{line}: {done.stderr}"
        return done.stdout

    def follow(self, line: str) -> None:
        """One command of the page."""
        program = line.split(maxsplit=1)[0]
        if program == "kubectl":
            made = json.loads(self.run(f"{line} --dry-run=client -o json"))
            data = {name: base64.b64decode(value) for name, value in made.get("data", {}).items()}
            if made["kind"] == "ConfigMap":
                data = {name: value.encode() for name, value in made["data"].items()}
            self.objects[f"{made['kind']}/{made['metadata']['name']}"] = data
        elif program == "git":
            self.run(line, self.work.work)
        else:
            self.run(line)

    def prepare(self) -> None:
        """What the page takes for granted: people with keys, a token, a CA."""
        self.run(
            "gpg --batch --quiet --passphrase '' --quick-generate-key 'Alice <alice@example.com>' ed25519 sign never"
        )
        self.run("ssh-keygen -q -t ed25519 -N '' -f ~/.ssh/id_ed25519 && cp ~/.ssh/id_ed25519.pub bob.pub")
        (self.desk / "token.txt").write_text(f"{SECRET}\n")
        (self.desk / "ca.crt").write_bytes(CA)
        (self.work.work / "a").write_text("1")
        self.work.git("add", "-A")


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    if find_kubectl() is None:
        pytest.skip(GET_KUBECTL)
    if shutil.which("ssh-keyscan") is None or shutil.which("gpg") is None:
        pytest.skip("ssh-keyscan or gpg is not installed: apt-get install openssh-client gnupg")
    fleet = origin(tmp_path)
    with serving_ssh(SshServer(fleet.root, asyncssh.generate_private_key("ssh-ed25519"))) as server:
        made = Desk(tmp_path, server, fleet)
        yield made
        subprocess.run(["gpgconf", "--homedir", str(made.home / "g"), "--kill", "all"], check=False)


def test_who_follows_the_page_is_let_in_over_https_and_over_ssh_and_signatures_are_checked(
    desk: Desk, tmp_path: Path
) -> None:
    desk.prepare()
    https: dict[str, bytes] = {}
    for block in console_blocks(PAGE):
        for command in block:
            desk.follow(command.line)
            https = https or dict(desk.objects.get("Secret/fleet-git", {}))
    signers = desk.objects["ConfigMap/fleet-signers"]
    trust = Trust(gpg=signers["gpg"], ssh=signers["ssh"])
    desk.server.accepted = [(desk.desk / "identity.pub").read_bytes()]
    known_hosts = (desk.desk / "known_hosts").read_bytes()
    ssh = Access(credentials_of(desk.objects["Secret/fleet-git"]), known_hosts=known_hosts, trust=trust)
    assert polled(RemoteSource(desk.server.url, tmp_path / "ssh", lambda: ssh)).signer.startswith(
        "bob@example.com"
    )
    with serving(GitServer(guarded(basic("x-access-token", SECRET))), desk.work.root) as server:
        ca = desk.objects["ConfigMap/fleet-git-ca"]["ca.crt"]
        web = Access(credentials_of(https), ca, trust=trust)
        assert polled(RemoteSource(server.url, tmp_path / "https", lambda: web)).signer.startswith("bob@")


def test_the_fleets_of_the_page_say_what_the_page_says() -> None:
    blocks: list[Any] = [
        yaml.safe_load(text) for text in re.findall(r"```yaml\n(.*?)```", PAGE, flags=re.DOTALL)
    ]
    fleet, *parts = blocks
    for part in parts:
        fleet["spec"]["source"] |= part
    found = fleet_spec(fleet).source
    assert (found.url, found.ref, found.path) == (f"git@{HOST}:platform/fleet.git", "main", "fleets/prod")
    assert found.credentials is not None
    assert found.ca is not None
    assert found.signers is not None
    assert found.known_hosts.startswith(f"{HOST} ssh-ed25519 ")


def test_the_messages_and_the_numbers_of_the_page_are_those_of_the_program() -> None:
    told = re.findall(r"^\| (.*?) \| ", PAGE, flags=re.MULTILINE)
    words = "; ".join(told)
    named = asdict(Called())
    rows = [row.means.format(**named) for row in (*_HERE, *_THERE)]
    for cell in told[2:]:
        for message in cell.split("; ")[:1] if "main" in cell else cell.split("; "):
            known = [means for means in rows if means.startswith(message)]
            other = ("there is no branch or tag", "commit ... is not accepted", "the program git")
            assert known or message.startswith(other), message
    assert "known_hosts" in words
    assert f"at most {_DEPTHS[-1]} commits" in PAGE
    assert Limits().seconds == 120
    assert f"{Limits().fetched >> 20} MiB" in PAGE
    assert f"git {_OLDEST[0]}.{_OLDEST[1]} or newer" in DECISION


def test_every_host_of_the_page_is_nobodys() -> None:
    hosts = set(re.findall(r"[\w.-]+\.(?:com|org|net)\b", PAGE))
    assert hosts <= {HOST, "example.com", "man.openbsd.org"}
