"""What the pages on watching and on the webhook tell is what the code does."""

from __future__ import annotations

import hashlib
import hmac
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from gitops_mc.adapters.telemetry_events import BURST, EACH, SAME_WITHIN, WAITS
from gitops_mc.adapters.telemetry_rows import PREFIX, ROWS
from gitops_mc.web.probes import SILENT_LIMIT
from gitops_mc.web.serving import AT_ONCE, IDLE_LIMIT
from gitops_mc.web.signatures import knows_secret
from gitops_mc.web.webhook import BODY_WITHIN, DRAINED, LARGEST_BODY, Rates
from tests.docs.observing import OBSERVING, WEBHOOK, tables, with_tables


@pytest.mark.parametrize("page", [OBSERVING, WEBHOOK], ids=lambda page: page.name)
def test_the_tables_are_those_of_the_code(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text == with_tables(text, tables()[page]), "python -m tests.docs.observing writes them anew"


def test_every_metric_that_the_page_names_is_one_that_there_is() -> None:
    known = {row.full for row in ROWS}
    named = set(re.findall(rf"{PREFIX}[a-z_]+", OBSERVING.read_text(encoding="utf-8")))
    assert named <= known


def test_the_numbers_of_the_pages_are_those_that_hold() -> None:
    webhook, observing = WEBHOOK.read_text(encoding="utf-8"), OBSERVING.read_text(encoding="utf-8")
    rates = Rates()
    assert f"| body | {LARGEST_BODY >> 20} MiB, read within {BODY_WITHIN:.0f} seconds;" in webhook
    assert f"at most {DRAINED >> 20} MiB" in webhook
    assert f"{rates.overall.burst} at once, then {1 / rates.overall.seconds_each:.0f} a second" in webhook
    assert f"{rates.fleet.burst} at once, then one every {rates.fleet.seconds_each:.0f} seconds" in webhook
    assert f"closed after {IDLE_LIMIT:.0f} seconds" in webhook
    assert f"| {AT_ONCE}; beyond them" in webhook
    assert f"within the last {SILENT_LIMIT / 60:.0f} minutes" in observing
    assert f"gets {BURST} Events at once" in observing
    assert (EACH, SAME_WITHIN.total_seconds(), WAITS.total_seconds()) == (300, 3600, 600)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl here")
def test_the_signature_that_the_script_makes_is_accepted() -> None:
    script = WEBHOOK.read_text(encoding="utf-8").split("```sh\n")[1].split("curl")[0]
    made = subprocess.run(
        ["sh", "-c", f'{script}printf %s "$signature"'],
        env={"SECRET": "s3", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        check=True,
    ).stdout
    assert made.decode() == hmac.new(b"s3", b"{}", hashlib.sha256).hexdigest()
    assert knows_secret([(b"x-signature-256", made)], b"{}", [b"s3"])
