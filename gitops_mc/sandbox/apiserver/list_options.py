"""The options of lists and watches: what a real server refuses before it reads anything."""

from __future__ import annotations

from collections.abc import Mapping

from gitops_mc.sandbox.apiserver.answers import Cause, StatusError, bad_request, invalid


def is_on(query: Mapping[str, str], name: str) -> bool:
    """Whether a switch of the query, such as `watch`, is set: to anything but `0` and `false`, in small letters or not, and be
    it to nothing (measured on a real kube-apiserver 1.36).
    """
    return name in query and query[name].lower() not in ("0", "false")


def number(query: Mapping[str, str], name: str) -> int:
    """A number of the query, 0 where there is none. Raises 400; 500 for the version of a watch, as a real server does."""
    text = query.get(name)
    if not text:
        return 0
    if text.isascii() and text.isdigit():
        return int(text)
    if name == "resourceVersion":
        told = f'{name}: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": invalid syntax'
        if is_on(query, "watch"):
            raise StatusError(500, None, told)
        raise bad_request(f"invalid resource version: {told}")
    raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')


def check_listing(query: Mapping[str, str], newest: int) -> None:
    """Raises 422 for options that do not go together, 504 for a version that has not been yet."""
    match = query.get("resourceVersionMatch", "")
    if "sendInitialEvents" in query:
        raise _forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list")
    if match and not query.get("resourceVersion"):
        told = "resourceVersionMatch is forbidden unless resourceVersion is provided"
        raise _forbidden("resourceVersionMatch", told)
    if (wanted := number(query, "resourceVersion")) > newest:
        raise StatusError(
            504,
            "Timeout",
            f"Timeout: Too large resource version: {wanted}, current: {newest}",
            details={"retryAfterSeconds": 1},
            causes=[Cause("ResourceVersionTooLarge", "", "Too large resource version")],
            headers={"retry-after": "1"},
        )


def check_watching(query: Mapping[str, str]) -> None:
    """`sendInitialEvents` and `resourceVersionMatch` of a watch go together. Raises 422."""
    match, asked = query.get("resourceVersionMatch", ""), "sendInitialEvents" in query
    if asked and match != "NotOlderThan":
        told = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        raise _forbidden("resourceVersionMatch", told)
    if match and not asked:
        told = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        raise _forbidden("resourceVersionMatch", told)


def _forbidden(option: str, told: str) -> StatusError:
    cause = Cause("FieldValueForbidden", option, f"Forbidden: {told}")
    return invalid("ListOptions", "meta.k8s.io", "", [(cause, f"{option}: {cause.message}")])
