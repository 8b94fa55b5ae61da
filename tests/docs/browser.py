"""The site in a real browser: what is wider than its window, and what is asked of others. `python -m tests.docs.browser FOLDER` takes pictures."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from html import unescape
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.docs.readme import ROOT

GET_BROWSER = "there is no Chromium on the PATH (chromium, chromium-browser, google-chrome): apt-get install chromium brings one"
WIDTHS = (1280, 390)
"""A desktop, and a phone."""
_PROBE = """<!doctype html><title>probe</title><body><script>
const pages = %s, widths = %s, found = [];
const outside = frame => frame.contentWindow.performance.getEntriesByType("resource")
  .map(entry => entry.name).filter(name => !name.startsWith(location.origin));
const wide = (frame, width) => {
  const inside = frame.contentDocument, over = [];
  if (inside.documentElement.scrollWidth > width) over.push("the page");
  for (const box of inside.querySelectorAll(".md-content p, .md-content h1, .md-content h2, .md-content h3, .md-content li")) {
    const place = box.getBoundingClientRect();
    if (place.width > 0 && place.right > width + 1 && !box.closest(".md-typeset__scrollwrap, pre")) over.push(box.textContent.slice(0, 60));
  }
  return over;
};
const look = (page, width) => new Promise(done => {
  const frame = document.createElement("iframe");
  frame.style = `border: 0; width: ${width}px; height: 900px`;
  frame.onload = () => setTimeout(() => {
    found.push({page, width, wide: wide(frame, width), outside: outside(frame)});
    frame.remove();
    done();
  }, 150);
  frame.src = page;
  document.body.append(frame);
});
(async () => {
  for (const width of widths) for (const page of pages) await look(page, width);
  const told = document.createElement("pre");
  told.id = "told";
  told.textContent = JSON.stringify(found);
  document.body.replaceChildren(told);
})();
</script>"""


@dataclass(frozen=True)
class Seen:
    """One page at one width: what is wider than the window, and addresses outside that were asked."""

    page: str
    width: int
    wide: tuple[str, ...]
    outside: tuple[str, ...]


def find_browser() -> str | None:
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def looked_at(browser: str, site: Path, profile: Path) -> tuple[Seen, ...]:
    """Every page of the site at every width."""
    pages = sorted(page.relative_to(site).as_posix() for page in site.rglob("*.html"))
    (site / "probe.html").write_text(_PROBE % (json.dumps(pages), json.dumps(WIDTHS)), encoding="utf-8")
    try:
        with _served(site) as address:
            patience = 1_000 * len(pages) * len(WIDTHS)
            dom = _run(
                browser, profile, "--dump-dom", f"--virtual-time-budget={patience}", f"{address}/probe.html"
            )
    finally:
        (site / "probe.html").unlink()
    told = re.search(r'<pre id="told">(.*?)</pre>', dom, flags=re.DOTALL)
    if told is None:
        raise RuntimeError("the browser did not look at every page")
    found = json.loads(unescape(told[1]))
    return tuple(Seen(s["page"], s["width"], tuple(s["wide"]), tuple(s["outside"])) for s in found)


def pictures(
    browser: str, site: Path, profile: Path, folder: Path, pages: Sequence[str], *, height: int = 1600
) -> None:
    """A PNG of the top of each page, at every width."""
    folder.mkdir(parents=True, exist_ok=True)
    with _served(site) as address:
        for page in pages:
            for width in WIDTHS:
                name = folder / f"{page.replace('/', '-').removesuffix('.html')}-{width}.png"
                frame = f'<body style="margin:0"><iframe src="{page}" style="border:0;width:{width}px;height:{height}px"></iframe>'
                (site / "probe.html").write_text(frame, encoding="utf-8")
                size = f"--window-size={max(width, 500)},{height}"
                _run(
                    browser,
                    profile,
                    f"--screenshot={name}",
                    size,
                    "--virtual-time-budget=4000",
                    f"{address}/probe.html",
                )
    (site / "probe.html").unlink()


@contextmanager
def _served(site: Path) -> Iterator[str]:
    handler = partial(_Quiet, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name that it has above
        """Nothing: what is served is no news."""


def _run(browser: str, profile: Path, *arguments: str) -> str:
    fixed = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={profile}")
    alone = ("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--disable-background-networking")
    done = subprocess.run(
        [browser, *fixed, *alone, *arguments], capture_output=True, text=True, timeout=300, check=True
    )
    return done.stdout


if __name__ == "__main__":
    found = find_browser()
    if found is None:
        sys.exit(GET_BROWSER)
    built, target = ROOT / "build" / "site", Path(sys.argv[1])
    chosen = sys.argv[2:] or sorted(page.relative_to(built).as_posix() for page in built.rglob("*.html"))
    pictures(found, built, target / "profile", target, chosen)
