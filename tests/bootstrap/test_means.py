"""What a Fleet's spec leads to, from Secrets and ConfigMaps of the embedded API server."""

from __future__ import annotations

import json
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitops_mc.adapters.git_address import address_of
from gitops_mc.adapters.git_errors import fetch_error
from gitops_mc.adapters.git_private import private
from gitops_mc.adapters.git_shelf import Shelf
from gitops_mc.adapters.private_files import PrivateFiles
from gitops_mc.app.api import RESOURCES, ClusterApi
from gitops_mc.app.ports import Request, Response
from gitops_mc.app.telemetry_ports import Credential
from gitops_mc.bootstrap.means import Data, ProcessMeans
from gitops_mc.core.custom.fleet_spec import fleet_spec
from gitops_mc.core.errors import GitopsMcError, SourceError, UnreachableError, UsageError
from gitops_mc.core.model import GLOBAL_CLUSTER, JsonObject
from gitops_mc.sandbox.apiserver import ADMIN_TOKEN, ApiServer
from gitops_mc.sandbox.transport import DirectTransport
from gitops_mc.sandbox.virtual import VirtualClock
from tests.adapters.kube_peers import TLS, Peer, serving

NAMESPACE = "gitops-mc"
CERTIFICATES = (Path(__file__).parents[1] / "data" / "tls" / "ca.crt").read_text()
KUBECONFIG = """\
apiVersion: v1
kind: Config
clusters: [{name: a, cluster: {server: "http://127.0.0.1:9"}}]
users: [{name: a, user: {token: t}}]
contexts: [{name: a, context: {cluster: a, user: a}}]
current-context: a
"""


@dataclass
class Home:
    """The way to global; notes that it was left."""

    inner: DirectTransport
    left: int = 0

    def send(self, cluster: str, request: Request, *, timeout: float) -> Response:
        return self.inner.send(cluster, request, timeout=timeout)

    def leave(self) -> None:
        self.left += 1


@dataclass
class Place:
    folder: Path
    clock: VirtualClock = field(default_factory=VirtualClock)
    ends: dict[tuple[str, Credential], datetime | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.server = ApiServer(GLOBAL_CLUSTER, now=self.clock.now)
        self.home = Home(DirectTransport({GLOBAL_CLUSTER: self.server}, ADMIN_TOKEN))
        self.make("namespaces", {"metadata": {"name": NAMESPACE}}, namespaced="")
        api = ClusterApi(self.home, self.clock, jitter=lambda: 0.0)
        self.means = ProcessMeans(
            identity="here",
            shelf=Shelf(self.folder / "cache", NAMESPACE),
            unprotected=frozenset({"file"}),
            home=self.home,
            leave_home=self.home.leave,
            guard=lambda inner: inner,
            clock=self.clock,
            data=Data(api, NAMESPACE),
            files=PrivateFiles(self.folder / "files"),
            expires=lambda fleet, credential, said: self.ends.update(
                {(fleet, credential): None if said is None else said.expires}
            ),
        )

    def make(self, plural: str, body: JsonObject, *, namespaced: str = f"/namespaces/{NAMESPACE}") -> None:
        kinds = {"namespaces": "Namespace", "configmaps": "ConfigMap", "secrets": "Secret"}
        data = json.dumps({"apiVersion": "v1", "kind": kinds[plural], **body}).encode()
        request = Request("POST", f"/api/v1{namespaced}/{plural}", body=data, token=ADMIN_TOKEN)
        answer = self.server.handle(request)
        assert answer.status == 201, answer.body

    def config_map(self, name: str, **data: str) -> None:
        self.make(
            "configmaps",
            {"metadata": {"name": name}, "data": {k.replace("_", "."): v for k, v in data.items()}},
        )

    def secret(self, name: str, **data: str) -> None:
        self.secret_of(name, **{key: text.encode() for key, text in data.items()})

    def secret_of(self, name: str, **data: bytes) -> None:
        coded = {k: b64encode(v).decode() for k, v in data.items()}
        self.make("secrets", {"metadata": {"name": name}, "data": coded})


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    found = Place(tmp_path)
    yield found
    found.means.close()


def spec(clusters: JsonObject | None = None, **source: JsonObject) -> JsonObject:
    said = {"source": {"url": "https://127.0.0.1:9/f.git", **source}, "clusters": clusters or {}}
    return {"metadata": {"name": "prod", "namespace": NAMESPACE}, "spec": said}


GATEWAY = {
    "url": "https://127.0.0.1:9",
    "tokenRef": {"name": "gateway", "key": "token"},
    "caRef": {"name": "ca"},
}


@pytest.mark.parametrize("held", [{}, {"ca_pem": CERTIFICATES}, {"ca_crt": ""}, {"ca_crt": "no certificate"}])
def test_a_ca_that_is_named_and_not_there_is_never_the_systems(place: Place, held: dict[str, str]) -> None:
    place.config_map("ca", **held)
    place.secret("gateway", token="t")
    with pytest.raises(UsageError, match="ConfigMap ca has no certificates under"):
        place.means.executor(fleet_spec(spec({"gateway": GATEWAY})))
    poller = place.means.poller(fleet_spec(spec(caRef={"name": "ca"})))
    with pytest.raises(UsageError, match="ConfigMap ca has no certificates under"):
        poller.source.poll()


def test_whatever_a_cluster_is_called_its_kubeconfig_stays_in_the_folder(place: Place) -> None:
    place.secret("kube", config=KUBECONFIG)
    ref = {"name": "kube", "key": "config"}
    named = [{"cluster": name, "secretRef": ref} for name in ("edge-1", "../../edge", "a/b", "x" * 253)]
    place.means.executor(fleet_spec(spec({"kubeconfigs": named})))
    written = [path for path in place.folder.rglob("*") if path.is_file()]
    assert len(written) == 4
    assert {path.parent for path in written} == {place.folder / "files"}
    assert {path.stat().st_mode & 0o777 for path in written} == {0o600}


def test_a_token_that_was_renewed_is_taken_over(place: Place) -> None:
    place.config_map("ca", ca_crt=CERTIFICATES)
    place.secret("gateway", token="one")
    found = fleet_spec(spec({"gateway": GATEWAY}))
    place.means.executor(found)
    renewed = {"data": {"token": b64encode(b"two").decode()}}
    path = f"/api/v1/namespaces/{NAMESPACE}/secrets/gateway"
    body, patch = json.dumps(renewed).encode(), "application/merge-patch+json"
    assert (
        place.server.handle(Request("PATCH", path, body=body, content_type=patch, token=ADMIN_TOKEN)).status
        == 200
    )
    place.means.tend(found)
    assert [path.read_text() for path in place.folder.rglob("gateway-*")] == ["two"]


def test_calls_that_are_under_way_to_a_former_gateway_never_carry_the_token_of_the_new_one(
    place: Place,
) -> None:
    place.config_map("ca", ca_crt=CERTIFICATES)
    place.secret("gateway", token="of the former")
    place.secret("other", token="of the new one")
    place.means.executor(fleet_spec(spec({"gateway": GATEWAY})))
    (former,) = place.folder.rglob("gateway-*")
    moved = {**GATEWAY, "url": "https://127.0.0.1:10", "tokenRef": {"name": "other", "key": "token"}}
    place.means.executor(fleet_spec(spec({"gateway": moved})))
    assert former.read_text() == "of the former"
    assert sorted(p.read_text() for p in place.folder.rglob("gateway-*")) == [
        "of the former",
        "of the new one",
    ]


SOON, LATER = datetime(2027, 3, 1, tzinfo=UTC), datetime(2028, 3, 1, tzinfo=UTC)


def ending(at: datetime) -> str:
    """A token that says when it expires."""
    claims = urlsafe_b64encode(json.dumps({"exp": int(at.timestamp())}).encode()).decode().rstrip("=")
    return f"e30.{claims}.c2ln"


def test_when_tokens_expire_is_told_of_each_credential_of_a_fleet(place: Place) -> None:
    place.secret("gateway", token=ending(LATER) + "\n")
    place.secret("one", config=KUBECONFIG.replace("token: t", f"token: {ending(LATER)}"))
    place.secret("two", config=KUBECONFIG.replace("token: t", f"token: {ending(SOON)}"))
    place.secret("three", config=KUBECONFIG)
    place.secret("git", token=ending(SOON))
    named = [{"cluster": n, "secretRef": {"name": n, "key": "config"}} for n in ("one", "two", "three")]
    clusters = {"gateway": {**GATEWAY, "caRef": None}, "kubeconfigs": named}
    found = fleet_spec(spec(clusters, secretRef={"name": "git"}))
    place.means.executor(found)
    with pytest.raises(SourceError):  # nobody answers there
        place.means.poller(found).source.poll()
    fleet = f"{NAMESPACE}/prod"
    assert place.ends == {
        (fleet, Credential.GATEWAY): LATER,
        (fleet, Credential.KUBECONFIG): SOON,
        (fleet, Credential.GIT): SOON,
    }
    place.means.tend(fleet_spec(spec({"kubeconfigs": named[:1]})))
    assert place.ends[fleet, Credential.GATEWAY] is None
    assert place.ends[fleet, Credential.KUBECONFIG] == LATER


def test_a_secret_that_is_not_there_is_named_with_what_to_type(place: Place) -> None:
    with pytest.raises(UsageError, match="Secret gateway is not in namespace gitops-mc") as raised:
        place.means.executor(fleet_spec(spec({"gateway": {**GATEWAY, "caRef": None}})))
    assert raised.value.hint == "kubectl -n gitops-mc create secret generic gateway --from-file=token=FILE"


def test_a_key_that_a_secret_does_not_have_is_named_with_those_that_it_has(place: Place) -> None:
    place.secret("gateway", tokn="t")
    with pytest.raises(UsageError, match="Secret gateway has no key token") as raised:
        place.means.executor(fleet_spec(spec({"gateway": {**GATEWAY, "caRef": None}})))
    assert raised.value.hint == "its keys: tokn"


def test_a_folder_that_cannot_be_written_is_an_error_with_a_reason(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"a credential cannot be kept in .*: Not a directory"):
        PrivateFiles(tmp_path / "file" / "folder").write("token", b"secret")


def test_what_is_made_for_a_fleet_is_closed_with_it(place: Place) -> None:
    place.means.close()
    assert place.home.left == 1


@pytest.mark.parametrize(
    "user",
    [
        "{exec: {apiVersion: client.authentication.k8s.io/v1, command: touch, args: [PROOF], interactiveMode: Never}}",
        "{auth-provider: {name: gcp, config: {cmd-path: touch PROOF}}}",
        "{tokenFile: /etc/passwd}",
    ],
)
def test_a_kubeconfig_of_a_secret_runs_no_program_and_reads_no_file_of_the_pod(
    place: Place, user: str
) -> None:
    proof = place.folder / "proof"
    text = KUBECONFIG.replace("{token: t}", user.replace("PROOF", str(proof)))
    place.secret("kube", config=text)
    named = [{"cluster": "edge-1", "secretRef": {"name": "kube", "key": "config"}}]
    executor = place.means.executor(fleet_spec(spec({"kubeconfigs": named})))
    with pytest.raises(
        UnreachableError,
        match=r"the kubeconfig under config of Secret kube is not used: user\.\S+ (runs|reads)",
    ):
        executor.api.get("edge-1", RESOURCES["Secret"], "x", namespace="x")
    assert not proof.exists()
    assert not (place.folder / "files").exists()


def test_what_is_wrong_with_one_kubeconfig_is_wrong_with_its_cluster_alone_until_it_is_put_right(
    place: Place,
) -> None:
    named = [{"cluster": f"edge-{n}", "secretRef": {"name": f"kube-{n}", "key": "config"}} for n in (1, 2)]
    wanted = fleet_spec(spec({"kubeconfigs": named}))
    with serving(Peer()) as peer:
        good = KUBECONFIG.replace("http://127.0.0.1:9", peer.url)
        place.secret("kube-2", config=good)
        executor = place.means.executor(wanted)
        with pytest.raises(UnreachableError, match="Secret kube-1 is not in namespace"):
            executor.api.get("edge-1", RESOURCES["Secret"], "x", namespace="x")
        asked = len(peer.seen)
        with suppress(GitopsMcError):
            executor.api.get("edge-2", RESOURCES["Secret"], "x", namespace="x")
        assert len(peer.seen) > asked, "the other one is reached"
        place.secret("kube-1", config=good)
        place.means.tend(wanted)
        asked = len(peer.seen)
        with suppress(GitopsMcError):
            executor.api.get("edge-1", RESOURCES["Secret"], "x", namespace="x")
        assert len(peer.seen) > asked, "it is put right"


SECRET = "s3cr3t"
KEY = b"-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n"
LOCKED = KEY.replace(b"AAAA", b"Proc-Type: 4,ENCRYPTED\nAAAA")
DAMAGED = [
    b"",
    b" \n",
    SECRET.encode() + b"\nX-Evil: 1",
    SECRET.encode() + b"\xff\xfe",
    f"{SECRET}\u4e2d".encode(),
    b"a\0b",
]


def _told(place: Place, caught: pytest.ExceptionInfo[GitopsMcError], *named: str) -> None:
    text = f"{caught.value.message} | {caught.value.hint}"
    assert all(name in text for name in named), text
    assert str(place.folder) not in text
    assert "/shm/" not in text
    assert SECRET not in f"{text}{caught.value.__cause__}"


@pytest.mark.parametrize("content", DAMAGED)
def test_a_gateways_token_that_is_none_is_called_by_its_secret_and_key(place: Place, content: bytes) -> None:
    place.secret_of("gateway", token=content)
    place.config_map("ca", ca_crt=CERTIFICATES)
    with pytest.raises(GitopsMcError) as caught:
        place.means.executor(fleet_spec(spec({"gateway": GATEWAY})))
    _told(place, caught, "the token under token of Secret gateway")


def test_certificates_that_cannot_be_read_are_called_by_their_config_map_and_key(place: Place) -> None:
    place.secret("gateway", token="t")
    place.config_map("ca", ca_crt="-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
    with pytest.raises(GitopsMcError) as caught:
        place.means.executor(fleet_spec(spec({"gateway": GATEWAY})))
    _told(place, caught, "ConfigMap ca", "ca.crt")
    with pytest.raises(GitopsMcError) as caught:
        place.means.poller(fleet_spec(spec(caRef={"name": "ca"}))).source.poll()
    _told(place, caught, "ConfigMap ca", "ca.crt")


def test_a_gateway_whose_certificate_nobody_we_trust_has_signed_names_the_config_map(place: Place) -> None:
    place.secret("gateway", token="t")
    place.config_map("ca", ca_crt=(TLS / "other-ca.crt").read_text())
    with serving(Peer(), "here.pem") as peer:
        executor = place.means.executor(fleet_spec(spec({"gateway": {**GATEWAY, "url": peer.url}})))
        with pytest.raises(GitopsMcError) as caught:
            executor.api.get("edge-1", RESOURCES["Secret"], "x", namespace="x")
    _told(place, caught, "the CAs in ca.crt of ConfigMap ca", "caRef of the Fleet")


@pytest.mark.parametrize(
    "content",
    [
        *DAMAGED,
        f"users: [{SECRET}".encode(),
        KUBECONFIG.replace("token: t", f'token: "{SECRET}\\nx"').encode(),
        KUBECONFIG.replace("token: t", f"token: {SECRET}\u4e2d").encode(),
        KUBECONFIG.replace("token: t", f"client-key-data: {SECRET}, client-certificate-data: {SECRET}").encode(),
        KUBECONFIG.replace("token: t", "client-key-data: AAAA, client-certificate-data: AAAA").encode(),
        KUBECONFIG.replace('"http://127.0.0.1:9"', f'"https://127.0.0.1:9", certificate-authority-data: {SECRET}').encode(),
        KUBECONFIG.replace('"http://127.0.0.1:9"', '"https://127.0.0.1:9", certificate-authority-data: AAAA').encode(),
        KUBECONFIG.replace('"http://127.0.0.1:9"', '"https://127.0.0.1:9", certificate-authority-data: /////w==').encode(),
        KUBECONFIG.replace("token: t", "tokenFile: /etc/passwd").encode(),
    ],
)  # fmt: skip
def test_a_kubeconfig_that_is_none_is_called_by_its_secret_and_key(place: Place, content: bytes) -> None:
    place.secret_of("kube", config=content)
    named = [{"cluster": "edge-1", "secretRef": {"name": "kube", "key": "config"}}]

    def use() -> None:
        executor = place.means.executor(fleet_spec(spec({"kubeconfigs": named})))
        executor.api.get("edge-1", RESOURCES["Secret"], "x", namespace="x")

    with pytest.raises(GitopsMcError) as caught:
        use()
    _told(place, caught, "the kubeconfig under config of Secret kube")


@pytest.mark.parametrize(
    ("url", "held", "named"),
    [
        *[("https://127.0.0.1:9/f.git", {"token": content}, "token in Secret git") for content in DAMAGED if content.strip() and "\u4e2d".encode() not in content],
        ("https://127.0.0.1:9/f.git", {"password": b"x", "username": b"a:b"}, "username in Secret git"),
        ("https://127.0.0.1:9/f.git", {"other": SECRET.encode()}, "Secret git holds no credentials"),
        ("https://127.0.0.1:9/f.git", {"token": b"a", "identity": b"b"}, "Secret git holds identity and token"),
        ("ssh://git@127.0.0.1:9/f.git", {"identity": SECRET.encode()}, "identity in Secret git is no private SSH key"),
        ("ssh://git@127.0.0.1:9/f.git", {"ssh-privatekey": SECRET.encode()}, "ssh-privatekey in Secret git is no private"),
        ("ssh://git@127.0.0.1:9/f.git", {"identity": LOCKED}, "identity in Secret git is a private SSH key that is locked"),
        ("https://127.0.0.1:9/f.git", {"identity": KEY}, "the key under identity of Secret git"),
    ],
)  # fmt: skip
def test_git_credentials_that_are_none_are_called_by_their_secret_and_key(
    place: Place, url: str, held: dict[str, bytes], named: str
) -> None:
    place.secret_of("git", **held)
    hosts = {"knownHosts": "127.0.0.1 ssh-ed25519 AAAA"} if url.startswith("ssh") else {}
    body = spec(secretRef={"name": "git"})
    body["spec"]["source"] |= {"url": url, **hosts}
    with pytest.raises(GitopsMcError) as caught:
        place.means.poller(fleet_spec(body)).source.poll()
    _told(place, caught, named)


def test_keys_to_trust_that_are_none_are_called_by_their_config_map(place: Place) -> None:
    place.config_map("signers", other="x")
    with pytest.raises(GitopsMcError) as caught:
        place.means.poller(fleet_spec(spec(verify={"signersRef": {"name": "signers"}}))).source.poll()
    _told(place, caught, "nobody is trusted: there are no keys in ConfigMap signers")


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ("fatal: Authentication failed for 'https://x'", "the credentials under token of Secret git (401)"),
        ("The requested URL returned error: 403", "knows the credentials under token of Secret git"),
        ("git@x: Permission denied (publickey).", "does not accept the key under token of Secret git"),
        ("Host key verification failed.", "is not in spec.source.knownHosts of the Fleet"),
        (
            "Host key for x has changed and you have requested strict checking.",
            "spec.source.knownHosts of the Fleet",
        ),
    ],
)
def test_what_a_server_refuses_is_called_by_its_secret_and_key(place: Place, said: str, named: str) -> None:
    place.secret("git", token="t")
    access = place.means._git_access(fleet_spec(spec(secretRef={"name": "git"})))
    assert named in fetch_error("https://x", said, access.called).message


def test_no_file_of_a_poll_is_named_in_what_git_says(place: Place) -> None:
    place.secret("git", token="token-of-git")
    place.config_map("ca", ca_crt=CERTIFICATES)
    access = place.means._git_access(fleet_spec(spec(secretRef={"name": "git"}, caRef={"name": "ca"})))
    with private(address_of("https://127.0.0.1:9/f.git", frozenset()), access) as held:
        names = ("identity", "known_hosts", "ca.pem", "trusted.asc", "allowed_signers")
        said = held.hide(" ".join(f'"{held.folder / name}: bad"' for name in names))
        assert str(held.folder) not in said
        assert "the certificates under ca.crt of ConfigMap ca" in said
        assert "the key under token of Secret git" in said
