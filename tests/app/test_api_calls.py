"""What the client sends, how often, and when it gives up: over a transport that plays a script, on virtual time."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitops_mc.app.api import ClusterApi, DryRun, Force, Patience, resource
from gitops_mc.app.ports import APPLY_PATCH, JSON_PATCH, METADATA_LIST, Request, Response
from gitops_mc.core.errors import (
    ApiError,
    GitopsMcError,
    NotFoundError,
    ServerError,
    StaleError,
    ThrottledError,
    UnreachableError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

START = datetime(2026, 1, 1, tzinfo=UTC)
POOL = resource("MachineConfigPool")
POOLS = "/apis/machineconfiguration.alauda.io/v1alpha1/machineconfigpools"


@dataclass
class VirtualClock:
    time: datetime = START
    waits: list[float] = field(default_factory=list)

    def now(self) -> datetime:
        return self.time

    def wait(self, until: datetime) -> None:
        self.waits.append((until - self.time).total_seconds())
        self.time = max(self.time, until)


@dataclass
class Script:
    """Plays its lines in order; an exception is raised, the last line is repeated."""

    lines: Sequence[Response | GitopsMcError]
    clock: VirtualClock = field(default_factory=VirtualClock)
    takes: float = 0.0
    sent: list[Request] = field(default_factory=list)

    def send(self, cluster: str, request: Request, *, timeout: float) -> Response:
        self.sent.append(request)
        self.clock.time += timedelta(seconds=self.takes)
        line = self.lines[min(len(self.sent), len(self.lines)) - 1]
        if isinstance(line, GitopsMcError):
            raise line
        return line


ANSWER = {"kind": "MachineConfigPool", "metadata": {"name": "worker"}}


def ok(**body: object) -> Response:
    return Response(200, json.dumps(body).encode())


def refused(
    code: int, headers: dict[str, str] | None = None, message: str = "", reason: str = ""
) -> Response:
    body = {"kind": "Status", "code": code, "message": message, "reason": reason}
    return Response(code, json.dumps(body).encode(), headers or {})


def api(script: Script, patience: Patience | None = None) -> ClusterApi:
    return ClusterApi(script, script.clock, jitter=lambda: 0.5, patience=patience)


PLAIN_404 = Response(404, b"404 page not found\n", {"content-type": "text/plain"})
GONE = UnreachableError("edge-01: connection reset")
BODY = {
    "apiVersion": "x",
    "kind": "MachineConfigPool",
    "metadata": {"name": "worker", "uid": "u1", "resourceVersion": "7"},
}
FRESH = {"apiVersion": "x", "kind": "MachineConfigPool", "metadata": {"name": "worker"}}
TEST_VERSION = {"op": "test", "path": "/metadata/resourceVersion", "value": "7"}
TEST_VALUE = {"op": "test", "path": "/spec/version", "value": "v1"}
CHANGE = {"op": "replace", "path": "/spec/version", "value": "v2"}

REPEATABLE: dict[str, Callable[[ClusterApi], object]] = {
    "get": lambda a: a.get("edge-01", POOL, "worker"),
    "can_i": lambda a: a.can_i("edge-01", "patch", POOL),
    "apply with resourceVersion": lambda a: a.apply("edge-01", POOL, BODY),
    "apply as dry run": lambda a: a.apply("edge-01", POOL, FRESH, dry_run=DryRun.SERVER),
    "json patch testing the version": lambda a: a.json_patch(
        "edge-01", POOL, "worker", [TEST_VERSION, CHANGE]
    ),
    "delete": lambda a: a.delete("edge-01", POOL, "worker", uid="u1", version="7"),
}
ONLY_WHEN_REFUSED: dict[str, Callable[[ClusterApi], object]] = {
    "apply without resourceVersion": lambda a: a.apply("edge-01", POOL, FRESH),
    "json patch testing a value": lambda a: a.json_patch("edge-01", POOL, "worker", [TEST_VALUE, CHANGE]),
}
NEVER: dict[str, Callable[[ClusterApi], object]] = {
    "create": lambda a: a.create("edge-01", POOL, FRESH),
    "create as dry run": lambda a: a.create("edge-01", POOL, FRESH, dry_run=DryRun.SERVER),
}


@pytest.mark.parametrize("call", REPEATABLE.values(), ids=REPEATABLE.keys())
@pytest.mark.parametrize("line", [GONE, refused(503), refused(429)], ids=["silence", "503", "429"])
def test_a_call_that_cannot_hurt_twice_is_repeated_until_it_is_answered(
    call: Callable[[ClusterApi], object], line: Response | GitopsMcError
) -> None:
    review = call is REPEATABLE["can_i"]
    script = Script([line, line, ok(kind="SelfSubjectAccessReview") if review else ok(**ANSWER)])
    call(api(script))
    assert len(script.sent) == 3
    assert len(set(script.sent)) == 1


@pytest.mark.parametrize("call", ONLY_WHEN_REFUSED.values(), ids=ONLY_WHEN_REFUSED.keys())
def test_a_write_without_precondition_is_repeated_only_if_it_was_not_carried_out(
    call: Callable[[ClusterApi], object],
) -> None:
    throttled = Script([refused(429), ok(**ANSWER)])
    call(api(throttled))
    assert len(throttled.sent) == 2
    for line in (GONE, refused(503), refused(500)):
        script = Script([line, ok(**ANSWER)])
        with pytest.raises((UnreachableError, ServerError)):
            call(api(script))
        assert len(script.sent) == 1


@pytest.mark.parametrize("call", NEVER.values(), ids=NEVER.keys())
@pytest.mark.parametrize("line", [GONE, refused(503), refused(429)], ids=["silence", "503", "429"])
def test_a_create_is_sent_once(call: Callable[[ClusterApi], object], line: Response | GitopsMcError) -> None:
    script = Script([line, ok(**ANSWER)])
    with pytest.raises(GitopsMcError):
        call(api(script))
    assert len(script.sent) == 1


@pytest.mark.parametrize("code", [400, 401, 403, 405, 409, 415, 422])
def test_an_answer_that_will_not_change_is_not_asked_for_again(code: int) -> None:
    script = Script([refused(code), ok(**ANSWER)])
    with pytest.raises(ApiError):
        api(script).get("edge-01", POOL, "worker")
    assert len(script.sent) == 1


def test_a_malformed_apply_is_never_repeated() -> None:
    script = Script([refused(500, message="failed to create typed patch object (/worker)"), ok(**ANSWER)])
    with pytest.raises(ApiError, match="typed patch"):
        api(script).apply("edge-01", POOL, BODY)
    assert len(script.sent) == 1


def test_half_an_answer_to_a_read_is_asked_for_again() -> None:
    script = Script([Response(200, b'{"kind":"Mach'), ok(**ANSWER)])
    assert api(script).get("edge-01", POOL, "worker") == ANSWER


def test_waits_grow_with_jitter_and_the_last_error_is_raised() -> None:
    script = Script([refused(503), refused(503), refused(503), GONE])
    with pytest.raises(UnreachableError):
        api(script).get("edge-01", POOL, "worker")
    assert script.clock.waits == [0.1875, 0.375, 0.75]


def test_retry_after_is_waited_for_and_jitter_comes_on_top() -> None:
    script = Script([refused(429, {"retry-after": "3"}), ok(**ANSWER)])
    api(script).get("edge-01", POOL, "worker")
    assert script.clock.waits == [3.1875]


def test_a_server_that_asks_for_too_long_a_wait_is_not_waited_for() -> None:
    script = Script([refused(429, {"retry-after": "600"}), ok(**ANSWER)])
    with pytest.raises(ThrottledError) as caught:
        api(script).get("edge-01", POOL, "worker")
    assert caught.value.retry_after == 600
    assert script.clock.waits == []


@settings(max_examples=200, derandomize=True, deadline=None)
@given(
    answers=st.lists(st.sampled_from([0, 429, 500, 503]), min_size=1, max_size=12),
    takes=st.floats(0, 30),
    asked=st.integers(0, 60),
    jitter=st.floats(0, 1, exclude_max=True),
)
def test_no_attempt_starts_after_the_total_and_there_are_never_more_than_allowed(
    answers: list[int], takes: float, asked: int, jitter: float
) -> None:
    lines = [GONE if a == 0 else refused(a, {"retry-after": str(asked)}) for a in answers]
    script = Script(lines, takes=takes)
    patience = Patience(attempts=5, total=40.0)
    starts = []
    send = script.send

    def noting(cluster: str, request: Request, *, timeout: float) -> Response:
        starts.append((script.clock.time - START).total_seconds())
        return send(cluster, request, timeout=timeout)

    script.send = noting  # type: ignore[method-assign]
    with pytest.raises(GitopsMcError):
        ClusterApi(script, script.clock, jitter=lambda: jitter, patience=patience).get(
            "edge-01", POOL, "worker"
        )
    assert 1 <= len(starts) <= 5
    assert max(starts) <= 40.0


# ------------------------------------------------------------------------------------------------------ what is sent


def test_reads_ask_for_the_newest_state_and_never_for_a_cached_one() -> None:
    pools = ok(kind="MachineConfigPoolList", items=[])
    script = Script([ok(**ANSWER), pools])
    client = api(script)
    client.get("edge-01", POOL, "worker")
    client.list("edge-01", POOL, labels="a=b", fields="metadata.name=x")
    client.list_metadata("edge-01", POOL)
    assert all("resourceVersion" not in dict(r.query) for r in script.sent)
    assert script.sent[1].query == (
        ("labelSelector", "a=b"),
        ("fieldSelector", "metadata.name=x"),
        ("limit", "500"),
    )
    assert script.sent[2].accept == METADATA_LIST


def test_an_apply_is_ours_and_not_forced_unless_asked() -> None:
    script = Script([ok(**ANSWER)])
    client = api(script)
    client.apply("edge-01", POOL, BODY)
    client.apply("edge-01", POOL, BODY, force=Force.TAKE_OVER, dry_run=DryRun.SERVER)
    plain, forced = script.sent
    assert (plain.method, plain.path, plain.content_type) == ("PATCH", f"{POOLS}/worker", APPLY_PATCH)
    assert plain.query == (("fieldManager", "gitops-mc"),)
    assert forced.query == (("fieldManager", "gitops-mc"), ("force", "true"), ("dryRun", "All"))
    assert json.loads(plain.body) == BODY


def test_a_deletion_names_the_very_object_that_was_read() -> None:
    script = Script([ok(kind="Status")])
    api(script).delete("edge-01", POOL, "worker", uid="u1", version="7")
    options = json.loads(script.sent[0].body)
    assert options["preconditions"] == {"uid": "u1", "resourceVersion": "7"}
    assert options["propagationPolicy"] == "Background"


@pytest.mark.parametrize(("uid", "version"), [("", "7"), ("u1", "")])
def test_a_deletion_without_preconditions_is_not_sent(uid: str, version: str) -> None:
    script = Script([ok(kind="Status")])
    with pytest.raises(ValueError, match="needs the uid and resourceVersion"):
        api(script).delete("edge-01", POOL, "worker", uid=uid, version=version)
    assert script.sent == []


@pytest.mark.parametrize("name", ["", ".", ".."])
def test_a_name_that_would_leave_the_collection_is_not_sent(name: str) -> None:
    script = Script([ok(**ANSWER)])
    with pytest.raises(ValueError, match="not a name"):
        api(script).get("edge-01", POOL, name)
    assert script.sent == []


def test_a_slash_in_a_name_cannot_reach_another_path() -> None:
    script = Script([ok(**ANSWER)])
    api(script).get("edge-01", POOL, "a/../../b?c")
    assert script.sent[0].path == f"{POOLS}/a%2F..%2F..%2Fb%3Fc"


def test_a_json_patch_is_sent_as_the_list_it_is() -> None:
    script = Script([ok(**ANSWER)])
    api(script).json_patch("edge-01", POOL, "worker", (TEST_VALUE, CHANGE))
    assert script.sent[0].content_type == JSON_PATCH
    assert json.loads(script.sent[0].body) == [TEST_VALUE, CHANGE]


def test_a_failed_test_is_stale() -> None:
    script = Script([refused(422, reason="Invalid", message="the server rejected our request")])
    with pytest.raises(StaleError):
        api(script).json_patch("edge-01", POOL, "worker", [TEST_VERSION, CHANGE])


def test_access_is_what_the_server_says_and_no_word_is_no() -> None:
    script = Script(
        [
            ok(kind="SelfSubjectAccessReview", status={"allowed": True, "reason": "RBAC"}),
            ok(kind="SelfSubjectAccessReview", status={}),
        ]
    )
    client = api(script)
    assert client.can_i("edge-01", "patch", POOL, name="worker").allowed
    assert not client.can_i("edge-01", "patch", resource("DaemonSet"), namespace="cpaas-system").allowed
    asked = [json.loads(r.body)["spec"]["resourceAttributes"] for r in script.sent]
    assert asked[0] == {
        "verb": "patch",
        "group": POOL.group,
        "resource": "machineconfigpools",
        "name": "worker",
    }
    assert asked[1] == {
        "verb": "patch", "group": "apps", "resource": "daemonsets", "namespace": "cpaas-system",
    }  # fmt: skip


# ------------------------------------------------------------------------------------------------------------ lists


def page(*names: str, token: str = "") -> Response:
    items = [{"metadata": {"name": n}} for n in names]
    return ok(kind="MachineConfigPoolList", metadata={"continue": token}, items=items)


def names(found: tuple[dict[str, dict[str, str]], ...]) -> list[str]:
    return [o["metadata"]["name"] for o in found]


def test_all_pages_are_read() -> None:
    script = Script([page("a", "b", token="t1"), page("c", token="t2"), page("d")])
    assert names(api(script).list("edge-01", POOL, labels="x=y")) == ["a", "b", "c", "d"]
    assert [dict(r.query).get("continue") for r in script.sent] == [None, "t1", "t2"]
    assert all(dict(r.query)["labelSelector"] == "x=y" for r in script.sent)


def test_a_token_that_expired_starts_the_list_anew() -> None:
    script = Script([page("a", token="t1"), refused(410), page("a2", token="t3"), page("b2")])
    assert names(api(script).list("edge-01", POOL)) == ["a2", "b2"]


def test_a_list_whose_tokens_always_expire_ends_in_an_error() -> None:
    script = Script([page("a", token="t1"), refused(410)] * 10)
    with pytest.raises(ApiError, match="410"):
        api(script).list("edge-01", POOL)
    assert len(script.sent) == 8


def test_a_server_that_gives_one_page_for_ever_is_not_followed_for_ever() -> None:
    script = Script([page("a", token="t1")])
    with pytest.raises(UnreachableError, match="same page"):
        api(script).list("edge-01", POOL)


def test_a_page_lost_on_the_way_is_asked_for_again_and_nothing_is_missing() -> None:
    script = Script([page("a", token="t1"), GONE, page("b")])
    assert names(api(script).list("edge-01", POOL)) == ["a", "b"]


def test_an_empty_list_written_as_null_is_empty() -> None:
    assert api(Script([ok(kind="NodeList", items=None)])).list("edge-01", resource("Node")) == ()


@pytest.mark.parametrize(
    "body",
    [{"kind": "Status"}, {}, {"items": "x"}, {"kind": "NodeList", "items": {}}, {"kind": "NodeList"}],
)
def test_what_is_no_list_is_never_an_empty_one(body: dict[str, object]) -> None:
    with pytest.raises(UnreachableError, match=r"no List|not a list"):
        api(Script([ok(**body)])).list("edge-01", POOL)


NO_OBJECTS: tuple[object, ...] = (
    1,
    None,
    [],
    {},
    {"metadata": None},
    {"metadata": {"name": ""}},
    {"metadata": {"name": 5}},
    {"metadata": {"name": "a", "labels": ["x"]}},
    {"metadata": {"name": "a", "labels": {"x": None}}},
    {"metadata": {"name": "a", "annotations": "x"}},
)


@pytest.mark.parametrize("item", NO_OBJECTS)
def test_what_no_api_server_sends_as_an_object_is_no_answer(item: object) -> None:
    with pytest.raises(UnreachableError, match="not a list of objects"):
        api(Script([ok(kind="NodeList", items=[item])])).list("edge-01", resource("Node"))
    if isinstance(item, dict):
        with pytest.raises(UnreachableError, match="not an object with a name"):
            api(Script([ok(**{**item, "kind": "Node"})])).get("edge-01", resource("Node"), "a")


# ---------------------------------------------------------------------------------------------------------- absence


def test_an_api_that_the_server_does_not_list_is_not_served() -> None:
    script = Script([PLAIN_404, ok(kind="APIGroupList", groups=[])])
    assert not api(script).serves("edge-01", "machineconfiguration.alauda.io/v1alpha1")
    assert [r.path for r in script.sent] == ["/apis/machineconfiguration.alauda.io/v1alpha1", "/apis"]


def not_found(kind: str, name: str) -> Response:
    details = {"kind": kind, "name": name, "group": "any"}
    body = {"kind": "Status", "code": 404, "reason": "NotFound", "message": "not found", "details": details}
    return Response(404, json.dumps(body).encode())


def test_the_servers_word_on_the_very_object_needs_no_proof() -> None:
    script = Script([not_found("machineconfigpools", "worker")])
    with pytest.raises(NotFoundError, match="not found"):
        api(script).get("edge-01", POOL, "worker")
    assert len(script.sent) == 1


def test_a_status_about_something_else_is_absence_only_where_the_api_answers() -> None:
    script = Script([refused(404, message="no such thing"), ok(kind="APIGroupList", groups=[])])
    with pytest.raises(NotFoundError, match="no such thing"):
        api(script).get("edge-01", POOL, "worker")
    assert [r.path for r in script.sent][1:] == ["/apis"]


def test_an_api_that_answers_is_served() -> None:
    script = Script([ok(kind="APIResourceList", resources=[])])
    assert api(script).serves("edge-01", "v1")
    assert script.sent[0].path == "/api/v1"


NO_CLUSTER = not_found("clusters", "edge-01")
READS_AND_DELETE: dict[str, Callable[[ClusterApi], object]] = {
    "serves": lambda a: a.serves("edge-01", "machineconfiguration.alauda.io/v1alpha1"),
    "list": lambda a: a.list("edge-01", POOL),
    "get": REPEATABLE["get"],
    "delete": REPEATABLE["delete"],
}


@pytest.mark.parametrize(
    "root",
    [PLAIN_404, Response(200, b"<html>"), ok(kind="Welcome"), refused(503), GONE, NO_CLUSTER, refused(404)],
    ids=str,
)
@pytest.mark.parametrize("first", [PLAIN_404, NO_CLUSTER, refused(404)], ids=str)
@pytest.mark.parametrize("call", READS_AND_DELETE.values(), ids=READS_AND_DELETE.keys())
def test_a_proxy_that_does_not_know_the_cluster_is_not_absence(
    call: Callable[[ClusterApi], object], first: Response, root: Response | GitopsMcError
) -> None:
    with pytest.raises((UnreachableError, ServerError)):
        call(api(Script([first, root]), Patience(attempts=1)))


def test_an_object_of_an_api_not_served_is_absent() -> None:
    script = Script([PLAIN_404, ok(kind="APIGroupList", groups=[])])
    with pytest.raises(NotFoundError, match="does not serve this API"):
        api(script).get("edge-01", POOL, "worker")


def test_an_answer_too_large_is_an_error_and_not_asked_for_again() -> None:
    script = Script([ok(kind="MachineConfigPool", filler="y" * 2000)])
    with pytest.raises(ApiError, match="more than the 1000 allowed"):
        api(script, Patience(largest_answer=1000)).get("edge-01", POOL, "worker")
    assert len(script.sent) == 1


@pytest.mark.parametrize(
    "call", [*REPEATABLE.values(), *NEVER.values()], ids=[*REPEATABLE.keys(), *NEVER.keys()]
)
def test_a_proxys_own_json_is_not_the_apis_answer(call: Callable[[ClusterApi], object]) -> None:
    script = Script([ok(code=200, msg="please log in")])
    if call is REPEATABLE["delete"]:
        call(api(script))  # a deletion is proved by the next read: its answer may be the object or a Status
        return
    with pytest.raises(UnreachableError, match="does not come from a Kubernetes API"):
        call(api(script, Patience(attempts=1)))


def test_a_proxys_own_json_does_not_make_an_api_served() -> None:
    with pytest.raises(UnreachableError, match="no APIResourceList"):
        api(Script([ok(msg="please log in")]), Patience(attempts=1)).serves("edge-01", "v1")
