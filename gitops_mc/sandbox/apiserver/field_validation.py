"""What becomes of fields that a kind does not have: `fieldValidation` of a write.

`Strict` refuses them, `Warn`, which holds where nothing is said, names each in a Warning header, `Ignore` is silent. A
built-in kind of this server is open, so that nothing in it is unknown. Fields named twice are not looked for.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from gitops_mc.app.ports import Response
from gitops_mc.sandbox.apiserver.answers import Cause, StatusError, bad_request, invalid
from gitops_mc.sandbox.apiserver.schema import undeclared
from gitops_mc.sandbox.apiserver.writing import Writing

DIRECTIVES = ("", "Ignore", "Strict", "Warn")


def check_directive(directive: str, verb: str) -> None:
    """Raises 422 for a directive that there is not."""
    if directive in DIRECTIVES:
        return
    supported = ", ".join(f'"{known}"' for known in DIRECTIVES)
    detail = f'Unsupported value: "{directive}": supported values: {supported}'
    cause = Cause("FieldValueNotSupported", "fieldValidation", detail)
    raise invalid(f"{verb.capitalize()}Options", "meta.k8s.io", "", [(cause, f"fieldValidation: {detail}")])


def check_new(writing: Writing, body: dict[str, Any]) -> None:
    """Raises 400 for an object that was sent with unknown fields, where they are refused."""
    if writing.query.get("fieldValidation") == "Strict" and (told := _told(writing, body)):
        kind = writing.resource.kind
        raise bad_request(
            f'{kind} in version "{writing.resource.version}" cannot be handled as a {kind}: {_strictly(told)}'
        )


def check_patched(writing: Writing, body: dict[str, Any]) -> None:
    """Raises 422 for an object that a patch gave unknown fields to, where they are refused."""
    if writing.query.get("fieldValidation") == "Strict" and (told := _told(writing, body)):
        whole = json.dumps(json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False))
        detail = f"Invalid value: {whole}: {_strictly(told)}"
        cause = Cause("FieldValueInvalid", "patch", detail)
        raise StatusError(422, "Invalid", f' "" is invalid: patch: {detail}', details={}, causes=[cause])


def note_dropped(writing: Writing, body: dict[str, Any]) -> None:
    """Warn of the unknown fields of an object that has lost something by pruning."""
    if writing.query.get("fieldValidation") != "Ignore":
        writing.warnings.extend(_told(writing, body))


def with_warnings(answer: Response, warnings: Sequence[str]) -> Response:
    """The answer with a Warning header (RFC 7234) that has one entry each."""
    if not warnings:
        return answer
    return Response(answer.status, answer.body, {**answer.headers, "warning": warning_header(warnings)})


def warning_header(warnings: Sequence[str]) -> str:
    return ", ".join(f"299 - {json.dumps(text)}" for text in warnings)


def _told(writing: Writing, body: dict[str, Any]) -> list[str]:
    """Those of metadata come first, as that is read first."""
    paths = sorted(
        undeclared(body, writing.resource.schema), key=lambda p: (not p.startswith("metadata."), p)
    )
    return [f'unknown field "{path}"' for path in paths]


def _strictly(told: Sequence[str]) -> str:
    return f"strict decoding error: {', '.join(told)}"
