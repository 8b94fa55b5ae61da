"""JSON merge patch (RFC 7386) and JSON patch (RFC 6902). Nothing given is changed; what is equal is shared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gitops_mc.sandbox.apiserver.answers import StatusError, bad_request
from gitops_mc.sandbox.apiserver.equality import same


def merge_patch(target: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch if isinstance(target, dict) else _without_nulls(patch)
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge_patch(result.get(key), value)
    return result


def _without_nulls(value: Any) -> Any:
    """Null members of objects go, inside of lists as well; null elements of lists stay."""
    match value:
        case dict():
            return {key: _without_nulls(item) for key, item in value.items() if item is not None}
        case list():
            return [_without_nulls(item) for item in value]
        case _:
            return value


def json_patch(target: Any, operations: Any) -> Any:
    """The document after all operations. Any that fails, a `test` included, fails the whole patch.

    The failure is 422 with the reason Invalid and one fixed message: kube-apiserver answers whatever its JSON patch
    library says with `NewGenericServerResponse(422, ...)` (apiserver/pkg/endpoints/handlers/patch.go, applyJSPatch).
    """
    if not isinstance(operations, list):
        raise bad_request("error decoding patch: a JSON patch is an array of operations")
    for operation in operations:
        if not isinstance(operation, dict) or operation.get("op") not in _OPERATIONS:
            raise _refused()
        target = _OPERATIONS[operation["op"]](target, operation)
    return target


def _refused() -> StatusError:
    return StatusError(
        422, "Invalid", "the server rejected our request due to an error in our request", details={}
    )


def _steps(pointer: Any) -> list[str]:
    if not isinstance(pointer, str) or (pointer and not pointer.startswith("/")):
        raise _refused()
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]


def _index(step: str, length: int) -> int:
    if step == "-":
        return length
    if not step.isdigit() or int(step) > length:
        raise _refused()
    return int(step)


def _get(node: Any, steps: list[str]) -> Any:
    for step in steps:
        if isinstance(node, dict) and step in node:
            node = node[step]
        elif isinstance(node, list) and (at := _index(step, len(node))) < len(node):
            node = node[at]
        else:
            raise _refused()
    return node


def _changed(node: Any, steps: list[str], change: Callable[[Any, str], Any]) -> Any:
    """A copy of `node` along `steps`, its innermost container changed by `change(container, last step)`."""
    if len(steps) == 1:
        return change(node, steps[0])
    if isinstance(node, dict) and steps[0] in node:
        return {**node, steps[0]: _changed(node[steps[0]], steps[1:], change)}
    if isinstance(node, list) and (at := _index(steps[0], len(node))) < len(node):
        return [*node[:at], _changed(node[at], steps[1:], change), *node[at + 1 :]]
    raise _refused()


def _add(target: Any, operation: dict[str, Any], value: Any = None) -> Any:
    value = operation.get("value") if value is None else value
    steps = _steps(operation.get("path"))

    def change(node: Any, step: str) -> Any:
        if isinstance(node, dict):
            return {**node, step: value}
        if isinstance(node, list):
            at = _index(step, len(node))
            return [*node[:at], value, *node[at:]]
        raise _refused()

    return _changed(target, steps, change) if steps else value


def _remove(target: Any, operation: dict[str, Any], pointer: str = "path") -> Any:
    def change(node: Any, step: str) -> Any:
        if isinstance(node, dict) and step in node:
            return {key: value for key, value in node.items() if key != step}
        if isinstance(node, list) and (at := _index(step, len(node))) < len(node):
            return [*node[:at], *node[at + 1 :]]
        raise _refused()

    steps = _steps(operation.get(pointer))
    if not steps:
        raise _refused()
    return _changed(target, steps, change)


def _replace(target: Any, operation: dict[str, Any]) -> Any:
    """A member of an object that is not there is set; an element of a list has to be there."""
    steps = _steps(operation.get("path"))

    def change(node: Any, step: str) -> Any:
        if isinstance(node, dict):
            return {**node, step: operation.get("value")}
        if isinstance(node, list) and (at := _index(step, len(node))) < len(node):
            return [*node[:at], operation.get("value"), *node[at + 1 :]]
        raise _refused()

    return _changed(target, steps, change) if steps else operation.get("value")


def _test(target: Any, operation: dict[str, Any]) -> Any:
    steps = _steps(operation.get("path"))
    try:
        found = _get(target, steps)
    except StatusError:
        if operation.get("value") is None:
            return target  # the library takes a missing member for null
        raise
    if not same(found, operation.get("value")):
        raise _refused()
    return target


def _move(target: Any, operation: dict[str, Any]) -> Any:
    value = _get(target, _steps(operation.get("from")))
    return _add(_remove(target, operation, "from"), operation, value)


def _copy(target: Any, operation: dict[str, Any]) -> Any:
    """A member that its object does not have is copied as null."""
    *above, last = _steps(operation.get("from")) or [""]
    holder = _get(target, above)
    absent = isinstance(holder, dict) and last not in holder
    value = None if absent else _get(holder, [last])
    return _add(target, {**operation, "value": value})


_OPERATIONS: dict[Any, Callable[[Any, dict[str, Any]], Any]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "test": _test,
    "move": _move,
    "copy": _copy,
}
