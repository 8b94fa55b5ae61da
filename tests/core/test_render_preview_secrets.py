"""What is sensitive by either revision appears in no format of a preview, in no encoding, however little room there is.

The witness knows nothing of the redactor: it decodes whatever in the output may be an encoding of something, and looks there.
"""

from __future__ import annotations

import base64
import binascii
import gzip
import json
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from html import unescape
from urllib.parse import quote, unquote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitops_mc.core.model import ClusterScope, JsonObject, Place, Problem
from gitops_mc.core.policy import ObjectPattern, Sensitive
from gitops_mc.core.preview.changed import PullChanges
from gitops_mc.core.preview.model import (
    Advice,
    AdviceKind,
    LivePreview,
    Preview,
    State,
    UnreadCluster,
    Verdict,
)
from gitops_mc.core.redact import Redactor
from gitops_mc.core.render.lines import text_of
from gitops_mc.core.render.preview.markdown import preview_markdown
from gitops_mc.core.render.preview.page import preview_html
from gitops_mc.core.render.preview.structure import preview_json
from gitops_mc.core.render.preview.text import preview_text
from tests.core.machine_configs import file, machine_config
from tests.core.preview_builder import (
    AT,
    Side,
    Told,
    Written,
    cluster_change,
    fleet,
    live_cluster,
    module,
    no_change,
    text_file,
)
from tests.core.preview_worlds import ON_BASE

BY_BASE = Sensitive(paths=("/etc/registry/**",))
BY_HEAD = Sensitive(modules=(ObjectPattern("logcenter", "/auth"),), kernel_arguments=True)
FORMATS: dict[str, Callable[[Preview, Redactor, int], str]] = {
    "markdown": preview_markdown,
    "text": lambda preview, knows, _: text_of(preview_text(preview, knows)),
    "json": lambda preview, knows, _: json.dumps(preview_json(preview, knows), ensure_ascii=False),
    "html": lambda preview, knows, _: preview_html(preview, knows),
}
letters = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"
words = st.text(alphabet=letters, min_size=14, max_size=40)
secrets = st.one_of(
    words,
    st.builds("{}+/{}==".format, words, words),
    st.builds('{}"<{}>&{}'.format, words, words, words),
    st.builds("{} ü {}".format, words, words),
    st.builds("{}\n{}".format, words, words),
    st.builds("{}`|*{}".format, words, words),
)
paddings = st.text(alphabet=letters, max_size=5)


def planted(secret: str, before: str, pad: str) -> Preview:
    """Sensitive where it is said to be, and copied by careless people to wherever else one may write something."""
    raw = secret.encode()
    blob = base64.b64encode(pad.encode() + raw + b"end").decode()
    packed = base64.b64encode(gzip.compress(raw + b"\n", mtime=0)).decode()

    def side(value: str, more: str) -> Side:
        config = machine_config(
            "60-worker-registry",
            files=[
                text_file("/etc/registry/auth", value),
                text_file("/etc/plain", f"first\nthe token is {secret}\n{more}\n"),
                text_file("/etc/blob", f"{blob}\n{more}\n"),
                text_file("/etc/wrapped", f"{base64.encodebytes(raw).decode()}{more}\n"),
                text_file("/etc/escaped", f"{json.dumps(secret)} {quote(secret, safe='')} {raw.hex()}\n{more}\n"),
                file("/etc/zipped", f"data:;base64,{packed}" if more == "old" else f"data:;base64,{packed[:-9]}", compression="gzip"),
                file("/etc/halves", f"data:;base64,{blob}" if more == "old" else "data:,new"),
                file("/etc/broken", f"data:;base64,{blob}%%%{more}"),
            ],
            units=[{"name": "a.service", "contents": f"[Service]\nEnvironment=TOKEN={secret}\nExecStart=/bin/{more}\n"}],
            kernel_arguments=[f"registry.key={value}"],
        )  # fmt: skip
        log = module(
            "logcenter", "v4.0.3", "edge-01", {"auth": {"password": value}, "note": f"{secret} {more}"}
        )
        return Side(
            (Written(config, "clusters/edge-01/registry.yaml"),), (Written(log, "clusters/edge-01/log.yaml"),)
        )

    change = cluster_change("edge-01", side(before, "old"), side(secret, "new"), Told("canary"))
    problem = Problem(
        Place("clusters/edge-01/a.yaml", 1, 1),
        "mc-mode",
        "spec",
        f"bad {secret}",
        f"not {blob}",
        ClusterScope("edge-01"),
    )
    pool = replace(
        change.pools[0], entries=tuple(replace(e, rule=f"rule {secret}") for e in change.pools[0].entries)
    )
    change = replace(change, pools=(pool, replace(pool, pool=f"pool {secret}")))
    live = LivePreview(
        AT,
        fleet("h", (live_cluster(change),)),
        fleet("b", (no_change("edge-01", "canary", plan=None, unknown=f"401 for {quote(secret, safe='')}"),)),
        unread=(UnreadCluster("edge-01", f"proxy said {secret}", AT - timedelta(hours=1)),),
        advice=(Advice(AdviceKind.NOTE, ("edge-01",), f"{raw.hex()} is held"),),
        halted=f"{base64.b64encode(raw).decode()} has failed",
    )
    cut = secret.split("\n", maxsplit=1)[0][: max(9, len(secret) // 2)]
    verdict = Verdict(State.OK, f"Reboots all for {secret}", (f"and because of {cut}…", f"x{secret}x"))
    return Preview("edge", ON_BASE, PullChanges((change,), 0, new_problems=(problem,)), live, verdict)


def knows(preview: Preview) -> Redactor:
    bodies: list[JsonObject] = [
        manifest.body
        for cluster in preview.changes.clusters
        for change in cluster.objects
        for manifest in (change.before, change.after)
        if manifest is not None
    ]
    return Redactor.of(BY_BASE.joined(BY_HEAD), bodies)


def readings(text: str) -> Iterator[str]:
    """The text, and everything that somebody could make out of it."""
    plain = unescape(text).replace("\u200b", "")
    yield from (
        text,
        plain,
        re.sub(r"\\(.)", r"\1", plain),
        unquote(plain),
        re.sub(r"\\(?:x(..)|u(....))", _letter, plain),
    )
    for run in re.findall(r"[A-Za-z0-9+/_-]{8,}", plain):
        for start in range(4):
            part = run[start:].translate(str.maketrans("-_", "+/"))
            data = base64.b64decode(part[: len(part) // 4 * 4])
            yield data.decode("utf-8", "replace")
            if data.startswith(b"\x1f\x8b"):
                yield _unzipped(data)
    for run in re.findall(r"[0-9a-fA-F]{8,}", plain):
        yield binascii.unhexlify(run[: len(run) // 2 * 2]).decode("utf-8", "replace")


def _letter(found: re.Match[str]) -> str:
    return chr(int(found[1] or found[2], 16)) if re.fullmatch("[0-9a-f]+", found[1] or found[2]) else ""


def _unzipped(data: bytes) -> str:
    reader = zlib.decompressobj(31)
    try:
        return reader.decompress(data).decode("utf-8", "replace")
    except zlib.error:
        return ""


def shown_of(secret: str, text: str) -> list[str]:
    """Where a beginning of one of its lines is still to be read."""
    parts = [line[:9] for line in secret.split("\n")]
    return [reading[:200] for reading in readings(text) for part in parts if part in reading]


@pytest.mark.parametrize("name", FORMATS)
@given(secret=secrets, before=words, pad=paddings, limit=st.sampled_from((900, 2_500, 6_000, 65_536)))
@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])
def test_no_secret_is_in_any_format(name: str, secret: str, before: str, pad: str, limit: int) -> None:
    preview = planted(secret, before, pad)
    shown = FORMATS[name](preview, knows(preview), limit)
    assert shown_of(secret, shown) == []
    assert shown_of(before, shown) == []


def test_the_witness_sees_what_is_not_redacted() -> None:
    secret = "Tr0ub4dorAndThree"
    preview = planted(secret, "beforeItWasThis99", "ab")
    shown = preview_markdown(preview, Redactor(Sensitive()))
    assert len(shown_of(secret, shown)) > 10


def test_what_either_revision_calls_sensitive_is_hidden_in_both() -> None:
    preview = planted("Tr0ub4dorAndThree", "beforeItWasThis99", "")
    bodies = [m.body for c in preview.changes.clusters for o in c.objects for m in (o.before, o.after) if m]
    for one, other in ((BY_BASE, BY_HEAD), (BY_HEAD, BY_BASE)):
        found = Redactor.of(one.joined(other), bodies)
        assert found.sensitive == Sensitive(BY_BASE.paths, (), BY_HEAD.modules, kernel_arguments=True)
        assert (
            found.redact("a beforeItWasThis99 b Tr0ub4dorAndThree")
            == "a [sensitive, 17 bytes] b [sensitive, 17 bytes]"
        )


def test_a_secret_that_was_cut_before_is_known_by_its_beginning() -> None:
    found = Redactor(Sensitive(), [b"Tr0ub4dorAndThree"])
    assert found.redact("token Tr0ub4dorAnd… and so on") == "token [sensitive, 17 bytes]… and so on"
    assert found.redact("Tr0ub4dorAnd, and so on…") == "Tr0ub4dorAnd, and so on…"
