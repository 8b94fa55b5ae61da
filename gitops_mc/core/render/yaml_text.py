"""JSON values as YAML that every reader understands alike: kubectl's YAML 1.1, YAML 1.2, and this product's own.

Strings are quoted unless no reader could take them for anything else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from gitops_mc.core.model import JsonObject

_PLAIN = re.compile(r"[A-Za-z_/][A-Za-z0-9_./@-]*")
_END = "\n"
_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null", "inf", "nan"})
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]")


_BLOCK = re.compile(r"(?![ \n\t])[\t\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd]+")


@dataclass(frozen=True, slots=True)
class Block:
    """A text of whole lines, to be written as people write them: a block behind `|`. One for which `fits_block` holds."""

    text: str


@dataclass(frozen=True, slots=True)
class Octal:
    """A number that people write in octal: the mode of a file."""

    number: int


def fits_block(text: str) -> bool:
    """Whether a block says exactly this text to every reader: printable, not indented itself, at most one line end at its
    end.
    """
    return _BLOCK.fullmatch(text) is not None and not text.endswith(_END * 2)


def yaml_documents(objects: Iterable[JsonObject]) -> str:
    """One document an object, each behind `---`."""
    return "".join("---\n" + "".join(f"{line}\n" for line in _block(value, "")) for value in objects)


def yaml_lines(value: Any) -> tuple[str, ...]:
    """One value, as it would stand in a document."""
    return tuple(_block(value, ""))


def _block(value: Any, indent: str) -> Iterator[str]:
    """The lines of a value that stands by itself."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _under(f"{indent}{_scalar(str(key))}:", inner, indent + "  ")
    elif isinstance(value, list) and value:
        for inner in value:
            yield from _item(inner, indent)
    else:
        yield indent + _scalar(value)


def _under(head: str, value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, Block):
        yield f"{head} |{'' if value.text.endswith(_END) else '-'}"
        yield from (f"{indent}{line}" if line else "" for line in value.text.removesuffix(_END).split(_END))
    elif isinstance(value, dict | list) and value:
        yield head
        yield from _block(value, indent)
    else:
        yield f"{head} {_scalar(value)}"


def _item(value: Any, indent: str) -> Iterator[str]:
    """A list's item: the first line of what it holds stands behind the dash."""
    lines = _block(value, indent + "  ")
    yield f"{indent}- {next(lines)[len(indent) + 2 :]}"
    yield from lines


def _scalar(value: Any) -> str:
    match value:
        case str():
            return _string(value)
        case dict():
            return "{}"
        case list():
            return "[]"
        case float():
            return _float(value)
        case Octal(number):
            return f"0{number:o}"
        case _:
            return json.dumps(value)


def _string(text: str) -> str:
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        return text
    return _UNPRINTABLE.sub(
        lambda match: f"\\u{ord(match.group()):04x}", json.dumps(text, ensure_ascii=False)
    )


def _float(value: float) -> str:
    """With a point before an exponent: YAML 1.1 reads no number without one."""
    text = json.dumps(value, allow_nan=False)
    mantissa, e, exponent = text.partition("e")
    return text if not e or "." in mantissa else f"{mantissa}.0e{exponent}"
