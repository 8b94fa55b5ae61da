"""What differs in one object, part by part."""

from __future__ import annotations

import gzip
from base64 import b64encode

from gitops_mc.core.diff import ABSENT, FieldChange
from gitops_mc.core.ignition import ChangeKind, effective_of, merge
from gitops_mc.core.ignition import MergeOrder as Order
from gitops_mc.core.model import JsonObject
from gitops_mc.core.policy import ObjectPattern, Sensitive
from gitops_mc.core.render.parts import Part, entry_parts, field_parts

NOTHING = Sensitive()


def file(source: str, path: str = "/etc/a", **more: object) -> JsonObject:
    return {"path": path, "contents": {"source": source}, **more}


def config(
    *files: JsonObject, units: list[JsonObject] | None = None, arguments: list[str] | None = None
) -> JsonObject:
    return {
        "metadata": {"name": "a"},
        "spec": {
            "config": {"storage": {"files": list(files)}, "systemd": {"units": units or []}},
            "kernelArguments": arguments or [],
        },
    }


def parts(before: JsonObject | None, after: JsonObject | None, sensitive: Sensitive = NOTHING) -> list[Part]:
    old, new = (
        merge((), Order.ALPHABETICAL) if body is None else effective_of(body) for body in (before, after)
    )
    return list(entry_parts(old, new, sensitive))


def test_a_file_is_shown_decoded_and_line_by_line() -> None:
    (part,) = parts(config(file("data:,one%0Atwo%0A")), config(file("data:,one%0Athree%0A")))
    assert part == Part("file /etc/a", ChangeKind.CHANGED, (), ("@@ -1,2 +1,2 @@", " one", "-two", "+three"))


def test_a_mode_is_written_as_people_write_it() -> None:
    (part,) = parts(config(file("data:,a", mode=420)), config(file("data:,a", mode=384)))
    assert (part.details, part.diff) == (("mode: 0644 -> 0600",), ())


def test_another_encoding_of_the_same_content_is_told_as_a_change() -> None:
    (part,) = parts(config(file("data:,a%0A")), config(file("data:;base64,YQo=")))
    assert part.details == ("the same content in another encoding: to the operator that is a change",)
    assert part.diff == ()


def test_gzip_is_unpacked() -> None:
    packed = file("data:;base64," + b64encode(gzip.compress(b"b\n", mtime=0)).decode())
    packed["contents"]["compression"] = "gzip"
    (part,) = parts(config(file("data:,a%0A")), config(packed))
    assert part.diff == ("@@ -1 +1 @@", "-a", "+b")


def test_binary_content_is_told_by_its_size() -> None:
    (part,) = parts(config(file("data:;base64,AAEC")), config(file("data:;base64,AAECAw==")))
    assert part.details == ("binary: 3 bytes -> 4 bytes",)


def test_content_that_cannot_be_decoded_is_shown_as_written() -> None:
    (part,) = parts(config(file("https://a.example/x")), config(file("data:,a")))
    assert part.details == ('contents: "https://a.example/x" -> 1 bytes',)


def test_a_missing_end_of_line_and_control_characters_are_visible() -> None:
    (part,) = parts(None, config(file("data:,a%1B%5B31m%0D")))
    assert part.diff == ("@@ -0,0 +1 @@", "+a\\x1b[31m\\x0d", "\\ No newline at end of file")


def test_content_too_long_to_compare_is_told_by_its_lines() -> None:
    (part,) = parts(config(file("data:," + "a%0A" * 5_000)), config(file("data:," + "b%0A" * 5_000)))
    assert part.diff == ("@@ too long to be shown line by line: 5000 lines before, 5000 after @@",)


def test_units_drop_ins_and_kernel_arguments_are_parts_of_their_own() -> None:
    before = [{"name": "a.service", "enabled": True, "contents": "x\n"}]
    after = [
        {
            "name": "a.service",
            "enabled": False,
            "contents": "y\n",
            "dropins": [{"name": "d.conf", "contents": "z\n"}],
        }
    ]
    found = parts(
        config(units=before, arguments=["quiet"]), config(units=after, arguments=["quiet", "nosmt=force"])
    )
    assert [(p.name, p.change.value) for p in found] == [
        ("unit a.service", "changed"),
        ("drop-in d.conf of unit a.service", "added"),
        ("kernel argument nosmt=force", "added"),
    ]
    assert found[0].details == ("enabled: true -> false",)
    assert found[0].diff == ("@@ -1 +1 @@", "-x", "+y")


SENSITIVE = Sensitive(
    paths=("/etc/a",),
    units=("a.service",),
    modules=(ObjectPattern("log*", "/auth"), ObjectPattern("*", "/list/0/key")),
    kernel_arguments=True,
)


def test_of_sensitive_entries_only_the_size_is_told() -> None:
    before = config(
        file("data:,ab%0A", mode=420), units=[{"name": "a.service", "contents": "abc"}], arguments=["k=ab"]
    )
    after = config(
        file("data:,abcd%0A", mode=384),
        units=[{"name": "a.service", "contents": "abcde", "dropins": [{"name": "d", "contents": "abcdef"}]}],
        arguments=["k=abc"],
    )
    found = parts(before, after, SENSITIVE)
    assert [(p.name, p.details, p.diff, p.sensitive) for p in found] == [
        ("file /etc/a", ("changed, 5 bytes", "mode: 0644 -> 0600"), (), True),
        ("unit a.service", ("changed, 5 bytes",), (), True),
        ("drop-in d of unit a.service", ("added, 6 bytes",), (), True),
        ("kernel argument", ("removed, 4 bytes",), (), True),
        ("kernel argument", ("added, 5 bytes",), (), True),
    ]


def test_a_sensitive_file_in_another_encoding_has_not_changed_its_content() -> None:
    (part,) = parts(config(file("data:,a%0A")), config(file("data:;base64,YQo=")), SENSITIVE)
    assert part.details == ("the same content in another encoding: to the operator that is a change",)


def test_the_checksum_of_a_sensitive_file_is_not_shown() -> None:
    after = file("data:,b")
    after["contents"]["verification"] = {"hash": "sha512-abc"}
    (part,) = parts(config(file("data:,a")), config(after), SENSITIVE)
    assert part.details == ("changed, 1 bytes",)


def test_a_field_is_sensitive_if_it_is_holds_or_is_inside_what_is_marked() -> None:
    changes = [
        FieldChange("spec.config.auth", ABSENT, {"a": "abc"}),
        FieldChange("spec.config.auth.password", "abc", "abcd"),
        FieldChange("spec.config.authority", "a", "b"),
        FieldChange("spec.config.list", [{"key": "abc"}], [{"key": "abd"}]),
        FieldChange("spec.config", {"list": []}, ABSENT),
    ]
    found = list(field_parts(changes, SENSITIVE, module="logcenter"))
    assert [p.sensitive for p in found] == [True, True, False, True, True]
    assert "abc" not in str([p for p in found if p.sensitive])
    other = list(field_parts(changes[:2], SENSITIVE, module="other"))
    assert [p.sensitive for p in other] == [False, False]


def test_fields_with_structure_are_shown_as_yaml_line_by_line() -> None:
    change = FieldChange("spec.nodeSelector", {"matchLabels": {"a": ""}}, {"matchLabels": {"b": ""}})
    (part,) = field_parts([change], NOTHING)
    assert part.diff == ("@@ -1,2 +1,2 @@", " matchLabels:", '-  a: ""', '+  b: ""')
