"""Which form of an answer a client asks for in its Accept header."""

from __future__ import annotations

from enum import Enum
from functools import lru_cache
from typing import NamedTuple

from gitops_mc.sandbox.apiserver.answers import StatusError

_READABLE = frozenset({"application/json", "application/*", "*/*"})
_OFFERED = "application/json"


class Form(Enum):
    """What an answer about objects can look like. The values are the kinds that `as=` names."""

    OBJECT = ""
    PARTIAL = "PartialObjectMetadata"
    PARTIAL_LIST = "PartialObjectMetadataList"
    TABLE = "Table"


class Clause(NamedTuple):
    """One alternative of an Accept header."""

    media_type: str
    form: str
    """Kind, version and group that the object is to be converted to (`Table.v1.meta.k8s.io`); `""` for none."""


@lru_cache(maxsize=512)
def clauses(accept: str) -> tuple[Clause, ...]:
    """The alternatives in JSON, the best one first. An empty header takes anything."""
    found = []
    for text in (accept or "*/*").split(","):
        media_type, *parameters = (part.strip() for part in text.split(";"))
        given = dict(p.split("=", 1) for p in parameters if "=" in p)
        form = ".".join(given.get(key, "") for key in ("as", "v", "g")).strip(".")
        if media_type in _READABLE:
            found.append((_weight(given.get("q", "1")), Clause(media_type, form)))
    return tuple(clause for _, clause in sorted(found, key=lambda row: -row[0]))


def _weight(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


_FORMS = {"": Form.OBJECT} | {f"{form.value}.v1.meta.k8s.io": form for form in Form if form.value}


@lru_cache(maxsize=512)
def form_of(accept: str) -> Form:
    """The first alternative that can be served. Raises 406 when there is none, as a real server does."""
    for clause in clauses(accept):
        if clause.form in _FORMS:
            return _FORMS[clause.form]
    raise not_acceptable()


def not_acceptable() -> StatusError:
    return StatusError(406, "NotAcceptable", f"only the following media types are accepted: {_OFFERED}")


def not_one_object() -> StatusError:
    return StatusError(
        406, "NotAcceptable", "you requested PartialObjectMetadata, but the requested object is a list"
    )


def not_a_list() -> StatusError:
    """A real server fails at this."""
    return StatusError(500, None, "content is not a list")
