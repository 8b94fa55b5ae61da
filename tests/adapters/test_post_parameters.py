"""Of every service that Apprise knows: no parameter names a file of this machine, and a new one is refused until it was looked at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from apprise.manager_plugins import NotificationManager

from gitops_mc.adapters.post import ApprisePost
from gitops_mc.adapters.post_parameters import FILES, TEXTS, refused
from gitops_mc.app.notifying import NotSentError
from gitops_mc.core.render.notices import Message, Mood

MESSAGE = Message("prod: halted", "- edge-1 failed", Mood.FAILURE)
TOKEN = "s3cr3t-t0ken-of-the-channel"


def services() -> dict[str, Any]:
    known: Any = NotificationManager()  # type: ignore[no-untyped-call]
    known.load_modules()
    return {service.__name__: service for service in known.plugins()}


SERVICES = services()


def texts_of(service: Any) -> set[str]:
    said = service.template_args.items()
    return {name for name, each in said if (each.get("type") or "") in ("", "string", "list:string")}


def test_every_text_that_a_service_declares_was_looked_at() -> None:
    """Where this fails, Apprise has a new one. Does its value name a file, in the code of the service? FILES; else TEXTS."""
    assert len(SERVICES) > 100
    found = {name for service in SERVICES.values() for name in texts_of(service)}
    assert found - FILES - TEXTS == set()
    assert not FILES & TEXTS


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_what_a_service_declares_is_let_in_but_for_files_and_nothing_else_is(name: str) -> None:
    service = SERVICES[name]
    scheme = "x"
    files = FILES & texts_of(service)
    declared = [n for n in service.template_args if n not in files]
    query = "&".join(f"{n}=1" for n in declared)
    assert refused(f"{scheme}://host/?{query}", service) == ()
    for each in files:
        assert refused(f"{scheme}://host/?{each}=/etc/passwd", service) == (f"{each}=",)
    prefixes = {said["prefix"] for said in service.template_kwargs.values()}
    for sign in "+-:":
        assert (refused(f"{scheme}://host/?{sign}X-Any=1", service) == ()) is (sign in prefixes)
    assert refused(f"{scheme}://host/?to=a&brand-new=/etc/passwd", service) == ("the 2. of 2",)


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("Template=/etc/passwd", "template="),
        ("image=no;TEMPLATE=/etc/passwd", "template="),
        ("%74emplate=/etc/passwd", "template="),
        ("+template=/etc/passwd", "the 1. of 1"),
        (" template =/etc/passwd", "template="),
        ("image=no&template", "template="),
        ("image=a?template=b&template=/etc/passwd", "template="),
        (TOKEN, "the 1. of 1"),
        (f"{TOKEN}=", "the 1. of 1"),
    ],
)
def test_however_it_is_spelt_it_is_refused_and_what_may_be_the_token_is_not_shown(
    query: str, shown: str
) -> None:
    with pytest.raises(NotSentError) as error:
        ApprisePost().send(f"workflows://h.example.com:443/wf/sig?{query}", MESSAGE)
    assert f"parameters that are not let in: {shown}" in error.value.message
    assert TOKEN not in error.value.message + str(error.value.hint)


@pytest.mark.parametrize(
    "address",
    [
        "workflows://h.example.com:443/wf/sig?template=FILE",
        "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ?template=FILE",
        "fcm://project@device?keyfile=FILE",
        "mailto://me:pass@example.com?pgp=encrypt&pgppub=FILE",
        "ntfy://topic?attach=FILE",
        "https://hooks.slack.com/services/T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ?template=FILE",
    ],
)
def test_no_file_of_the_pod_is_read_for_an_address(tmp_path: Path, address: str) -> None:
    file = tmp_path / "held.json"
    file.write_text('{"type": "service_account"}')
    with pytest.raises(NotSentError) as told:
        ApprisePost().send(address.replace("FILE", str(file)), MESSAGE)
    assert "not let in" in told.value.message
    assert "service_account" not in told.value.message
