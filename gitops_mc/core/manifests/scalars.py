"""What a YAML scalar means to kubectl, which reads YAML with go-yaml v2 and turns it into JSON.

The rules below are go-yaml's `resolve`, checked against kubectl 1.32 and 1.37. They are neither YAML 1.1 nor 1.2: `0o17` and
`017` are both 15, `yes` is true, `2024-01-01` stays a string, `1.0` becomes the JSON number 1.
"""

from __future__ import annotations

import base64
import re
from decimal import Decimal
from typing import Final, TypeAlias

Scalar: TypeAlias = str | int | float | bool | None

TAG_PREFIX: Final = "tag:yaml.org,2002:"


class ScalarError(ValueError):
    """The scalar has no JSON value; the message says why, as a sentence about the text."""


def _words(value: bool | None, *words: str) -> dict[str, bool | None]:  # noqa: FBT001 - the value itself
    return dict.fromkeys(words, value)


_NAMED: Final = {
    **_words(True, "y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"),  # noqa: FBT003
    **_words(False, "n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"),  # noqa: FBT003
    **_words(None, "", "~", "null", "Null", "NULL"),
}
_NOT_JSON: Final = frozenset(
    [".nan", ".NaN", ".NAN"] + [sign + word for sign in ("", "+", "-") for word in (".inf", ".Inf", ".INF")]
)
_FIRST: Final = frozenset("yYnNtTfFoO~+-.0123456789")
"""A plain scalar that begins with anything else is a string."""

_INTEGER: Final = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))")
_BASES: Final = (16, 2, 8, 10)
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_POINT_FLOAT: Final = re.compile(r"\.[0-9]+(?:_[0-9]+)*(?:[eE][-+]?[0-9]+(?:_[0-9]+)*)?")
_INT64: Final = 1 << 63
_MAX_DIGITS: Final = 70
"""Longer integers than this are read as floats at once; no 64 bit number needs as many digits, in any base."""


def resolve_plain(text: str) -> Scalar:
    """The JSON value of an untagged plain scalar. Raises ScalarError for infinity and not-a-number."""
    if text[:1] not in _FIRST:
        return text or None
    if text in _NAMED:
        return _NAMED[text]
    if text in _NOT_JSON:
        raise ScalarError(f"{text} has no JSON value")
    match text[0]:
        case ".":
            return _float(text.replace("_", ""), text) if _POINT_FLOAT.fullmatch(text) else text
        case "+" | "-" | "0" | "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9":
            return _number(text)
        case _:
            return text


def resolve_tagged(text: str, tag: str) -> Scalar:
    """The JSON value of a scalar with an explicit tag. Raises ScalarError for a tag or a text that does not fit."""
    name = tag.removeprefix(TAG_PREFIX)
    match name:
        case "str" | "!":
            return text
        case "binary":
            return _binary(text)
        case "int" | "float" | "bool" | "null":
            return _as_type(text, name)
        case _:
            raise ScalarError(f"the tag {tag} is not one that JSON has a value for")


def type_name(value: object) -> str:
    """The word for a value's JSON type, for messages."""
    return {
        str: "a string",
        bool: "a boolean",
        int: "a number",
        float: "a number",
        type(None): "null",
        dict: "a mapping",
        list: "a list",
    }[type(value)]


def _number(text: str) -> Scalar:
    plain = text.replace("_", "")
    if plain.startswith(("0b-", "0b+")):  # go-yaml takes a sign after the prefix as well
        plain = plain[2] + "0b" + plain[3:]
    whole = _INTEGER.fullmatch(plain)
    if whole is not None and len(plain) <= _MAX_DIGITS:
        sign, *digits = whole.groups()
        found, base = next((d, b) for d, b in zip(digits, _BASES, strict=True) if d is not None)
        value = -int(found, base) if sign == "-" else int(found, base)
        if -_INT64 <= value < _INT64:
            return value
        if sign == "" and value < 2 * _INT64:
            return float(value)
    return _float(plain, text) if _FLOAT.fullmatch(plain) else text


def _float(plain: str, text: str) -> Scalar:
    """A float as it comes out of JSON again: one that Go writes without a fraction is an integer as far as 64 bits go.
    Go and Python write the same, shortest, digits; the rest of a large number is zeros.
    """
    value = float(plain)
    if value in (float("inf"), float("-inf")):
        return text
    if not value.is_integer() or abs(value) > _INT64:
        return value
    whole = int(Decimal(repr(value)))
    return whole if -_INT64 <= whole < _INT64 else value


def _binary(text: str) -> str:
    try:
        return base64.b64decode("".join(text.split()), validate=True).decode()
    except ValueError as error:
        raise ScalarError("the !!binary value is not base64 of UTF-8 text, and JSON has no bytes") from error


def _as_type(text: str, name: str) -> Scalar:
    value = resolve_plain(text)
    fits = {
        "int": isinstance(value, int) and not isinstance(value, bool),
        "float": isinstance(value, int | float) and not isinstance(value, bool),
        "bool": isinstance(value, bool),
        "null": value is None,
    }[name]
    if not fits:
        raise ScalarError(f"the value cannot be read as !!{name}")
    return value
