"""One answer of a server, one error of the tree."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitops_mc.app.api_errors import PatchTests, error_of, object_of, seconds_asked, status_of
from gitops_mc.app.ports import Request, Response
from gitops_mc.core.errors import (
    AlreadyExistsError,
    ApiError,
    ApplyConflictError,
    ForbiddenError,
    GoneError,
    InvalidError,
    MalformedApplyError,
    NotFoundError,
    ServerError,
    StaleError,
    ThrottledError,
    UnauthorizedError,
    UnreachableError,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
REQUEST = Request("PATCH", "/apis/x/v1/things/a")
GENERAL = "the server rejected our request due to an error in our request"


def status(code: int, reason: str | None, message: str = "said", **details: Any) -> Response:
    body: dict[str, Any] = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "code": code,
    }
    body |= {"reason": reason, "message": message, "details": details}
    return Response(code, json.dumps(body).encode(), {"content-type": "application/json"})


def error(response: Response, tests: PatchTests = PatchTests.NONE) -> ApiError:
    found = error_of("edge-01", REQUEST, response, NOW, tests)
    assert isinstance(found, ApiError)
    return found


CONFLICT: dict[str, Any] = {
    "causes": [
        {
            "reason": "FieldManagerConflict",
            "message": 'conflict with "operator" using x/v1',
            "field": ".spec.a",
        },
        {"reason": "FieldManagerConflict", "message": 'conflict with "a \\"b\\""', "field": ".spec.b"},
    ]
}
INVALID: dict[str, Any] = {
    "causes": [{"reason": "FieldValueInvalid", "message": "Invalid value: 3", "field": "spec.a"}]
}


@pytest.mark.parametrize(
    ("response", "kind"),
    [
        (status(404, "NotFound"), NotFoundError),
        (status(409, "AlreadyExists"), AlreadyExistsError),
        (status(409, "Conflict"), StaleError),
        (status(409, "Conflict", **CONFLICT), ApplyConflictError),
        (status(422, "Invalid", **INVALID), InvalidError),
        (status(400, "BadRequest"), InvalidError),
        (status(413, "RequestEntityTooLarge"), InvalidError),
        (status(415, "UnsupportedMediaType"), ApiError),
        (status(405, "MethodNotAllowed"), ApiError),
        (status(401, "Unauthorized"), UnauthorizedError),
        (status(403, "Forbidden"), ForbiddenError),
        (status(429, "TooManyRequests"), ThrottledError),
        (status(410, "Expired"), GoneError),
        (status(500, "InternalError", "failed calling webhook"), ServerError),
        (status(503, "ServiceUnavailable"), ServerError),
        (status(504, "Timeout"), ServerError),
        (
            status(
                500, None, "failed to create typed patch object (/a; x/v1, Kind=T): .spec.b: not declared"
            ),
            MalformedApplyError,
        ),
    ],
    ids=lambda v: f"{v.status}" if isinstance(v, Response) else v.__name__,
)
def test_every_status_has_its_place_in_the_tree(response: Response, kind: type[ApiError]) -> None:
    found = error(response)
    assert type(found) is kind
    assert found.status == response.status
    assert "edge-01: PATCH /apis/x/v1/things/a" in found.message


def test_only_what_may_pass_by_itself_is_transient() -> None:
    codes = (400, 401, 403, 404, 405, 409, 410, 413, 415, 422, 429, 500, 502, 503, 504)
    assert [c for c in codes if error(status(c, "x")).transient] == [410, 429, 500, 502, 503, 504]


def test_a_malformed_apply_is_never_transient() -> None:
    assert not error(status(500, None, "failed to create typed patch object (...)")).transient


def test_an_apply_conflict_names_managers_and_fields() -> None:
    causes = error(status(409, "Conflict", **CONFLICT)).causes
    assert [(c.manager, c.field) for c in causes] == [("operator", ".spec.a"), ('a "b"', ".spec.b")]


@pytest.mark.parametrize(
    ("response", "kind"),
    [
        (status(422, "Invalid", GENERAL), StaleError),
        (status(422, "Invalid", "testing value /a failed"), StaleError),
        (status(500, "InternalError", "Testing value /metadata/resourceVersion failed"), StaleError),
        (status(500, None, "jsonpatch test operation does not apply: /a: test failed"), StaleError),
        (status(400, "BadRequest", "testing path /a failed"), StaleError),
        (status(409, "Conflict"), StaleError),
        (status(422, "Invalid", **INVALID), InvalidError),
        (status(500, "InternalError", "etcd is away"), ServerError),
        (status(400, "BadRequest", "cannot unmarshal"), InvalidError),
    ],
    ids=lambda v: v.body.decode()[-90:] if isinstance(v, Response) else v.__name__,
)
def test_a_failed_test_of_a_json_patch_is_stale_whatever_the_server_calls_it(
    response: Response, kind: type[ApiError]
) -> None:
    assert type(error(response, PatchTests.SOME)) is kind


def test_without_a_test_in_the_patch_the_same_answer_is_invalid() -> None:
    assert type(error(status(422, "Invalid", GENERAL))) is InvalidError


@pytest.mark.parametrize(
    ("headers", "details", "seconds"),
    [
        ({"retry-after": "7"}, {}, 7.0),
        ({"retry-after": "Thu, 01 Jan 2026 00:00:30 GMT"}, {}, 30.0),
        ({"retry-after": "Wed, 31 Dec 2025 00:00:30 GMT"}, {}, 0.0),
        ({"retry-after": "soon"}, {}, None),
        ({"retry-after": "²"}, {}, None),
        ({}, {"retryAfterSeconds": 3}, 3.0),
        ({}, {}, None),
    ],
)
def test_retry_after_is_read_in_every_spelling(
    headers: dict[str, str], details: dict[str, Any], seconds: float | None
) -> None:
    answer = status(429, "TooManyRequests", **details)
    assert error(Response(429, answer.body, headers)).retry_after == seconds


HTML = b"<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"


@pytest.mark.parametrize(
    ("code", "kind"), [(502, ServerError), (503, ServerError), (403, ForbiddenError), (429, ThrottledError)]
)
def test_a_proxys_error_page_is_told_from_the_apis_word(code: int, kind: type[ApiError]) -> None:
    found = error(Response(code, HTML, {"content-type": "text/html; charset=utf-8"}))
    assert type(found) is kind
    assert "text/html" in found.message
    assert "nginx" not in found.message


def test_a_proxys_404_is_not_absence() -> None:
    assert isinstance(
        error_of("edge-01", REQUEST, Response(404, HTML, {"content-type": "text/html"}), NOW),
        UnreachableError,
    )


def test_a_redirect_to_a_login_page_is_no_answer_and_its_query_is_not_shown() -> None:
    response = Response(302, b"", {"location": "https://login.example/dex?state=secret"})
    found = error_of("edge-01", REQUEST, response, NOW)
    assert isinstance(found, UnreachableError)
    assert "https://login.example/dex" in found.message
    assert "secret" not in found.message


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b'{"kind":"Pool","spec":{"a',
        b"<html>log in</html>",
        b"[1,2]",
        b"null",
        b'{"a":' * 200_000,
        b"\xff\xfe",
    ],
    ids=["empty", "cut short", "login page", "list", "null", "absurdly nested", "not text"],
)
def test_a_good_status_with_anything_but_an_object_is_no_answer(body: bytes) -> None:
    with pytest.raises(UnreachableError, match=r"edge-01: PATCH .* does not come from a Kubernetes API"):
        object_of("edge-01", REQUEST, Response(200, body), "*")


@pytest.mark.parametrize(
    "details",
    [
        None,
        [],
        "x",
        {"causes": None},
        {"causes": ["x", 3]},
        {"causes": 3},
        {"retryAfterSeconds": -1e300},
        {"retryAfterSeconds": "x"},
    ],
)
def test_a_status_with_odd_details_is_still_read(details: object) -> None:
    body = json.dumps({"kind": "Status", "reason": "Conflict", "details": details}).encode()
    found = status_of(body)
    assert found is not None
    assert (found.reason, found.causes, found.retry_after) == ("Conflict", (), None)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
statuses = st.fixed_dictionaries(
    {"kind": st.sampled_from(["Status", "Status", "Status", "Pool", 3])},
    optional={
        "reason": json_values | st.sampled_from(["Conflict", "AlreadyExists"]),
        "message": json_values | st.sampled_from([GENERAL, "failed to create typed patch object"]),
        "details": json_values
        | st.fixed_dictionaries({"causes": json_values, "retryAfterSeconds": json_values}),
    },
)
bodies = st.binary(max_size=30) | (json_values | statuses).map(lambda v: json.dumps(v).encode())


@settings(max_examples=400, derandomize=True, deadline=None)
@given(
    code=st.integers(100, 599),
    body=bodies,
    headers=st.dictionaries(
        st.sampled_from(["retry-after", "location", "content-type"]), st.text(max_size=30)
    ),
    tests=st.sampled_from(PatchTests),
)
def test_whatever_comes_back_it_is_an_object_or_an_error_of_the_tree(
    code: int, body: bytes, headers: dict[str, str], tests: PatchTests
) -> None:
    response = Response(code, body, headers)
    found = error_of("edge-01", REQUEST, response, NOW, tests)
    assert found.message.startswith("edge-01: PATCH /apis/x/v1/things/a")
    try:
        value = object_of("edge-01", REQUEST, response, "*")
    except UnreachableError:
        return
    assert isinstance(value, dict)


@pytest.mark.parametrize("header", ["Thu, 01 Jan 99999999999999999999 00:00:00 GMT", "9" * 400, "-5", "1.5"])
def test_an_absurd_retry_after_breaks_nothing(header: str) -> None:
    found = error(Response(429, status(429, "TooManyRequests").body, {"retry-after": header}))
    assert type(found) is ThrottledError


def test_an_absurd_number_of_seconds_in_a_status_is_a_day() -> None:
    assert error(status(429, "TooManyRequests", retryAfterSeconds=10**400)).retry_after == 86_400


@pytest.mark.parametrize(
    "header", ["", "soon", "Mon, 01 Jan 2024 00:00:00 +99999999999999999", "\u0663", "-5", "9" * 400 + "x"]
)
def test_what_retry_after_says_and_nobody_understands_is_nothing(header: str) -> None:
    assert seconds_asked(header, datetime(2026, 1, 1, tzinfo=UTC)) is None
