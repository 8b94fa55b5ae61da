"""Previews as pages to be looked at: the page itself, and the comment as a forge shows it, in a sheet of no forge in particular.

`python -m tests.docs.preview_pages` takes the pictures of docs/ anew.
"""

from __future__ import annotations

import sys
import tempfile
from html import escape
from pathlib import Path

from markdown_it import MarkdownIt

from gitops_mc.core.preview.model import Preview
from gitops_mc.core.render.preview.markdown import preview_markdown
from gitops_mc.core.render.preview.page import preview_html
from tests.core.preview_worlds import redactor, world
from tests.docs.browser import GET_BROWSER, find_browser, pictures
from tests.docs.readme import ROOT

PICTURES = ROOT / "docs" / "assets"
_SHEET = """
body { margin: 0; padding: 16px; font: 14px/1.5 system-ui, "DejaVu Sans", sans-serif; color: #1f2328; background: #fff; }
main { max-width: 900px; margin: 0 auto; border: 1px solid #d1d9e0; border-radius: 6px; padding: 16px; overflow-wrap: break-word; }
h2 { font-size: 21px; border-bottom: 1px solid #d1d9e0; padding-bottom: 6px; margin-top: 0; } h3 { font-size: 17px; } h4 { font-size: 14px; }
table { display: block; max-width: 100%; overflow: auto; border-collapse: collapse; } td, th { border: 1px solid #d1d9e0; padding: 6px 13px; }
pre { padding: 12px; overflow: auto; background: #f6f8fa; border-radius: 6px; } code { font-size: 85%; background: #eff1f3; border-radius: 4px; padding: 2px 4px; }
pre code { background: none; padding: 0; }
"""


def comment_page(markdown: str) -> str:
    """What a forge makes of a comment."""
    body = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(markdown)
    return f'<!doctype html><meta charset="utf-8"><title>{escape("comment")}</title><style>{_SHEET}</style><main class="md-content">{body}</main>'


def write_pages(preview: Preview, folder: Path, name: str) -> None:
    """`NAME.html`, and `NAME-comment.html`."""
    knows = redactor(preview)
    (folder / f"{name}.html").write_text(preview_html(preview, knows), encoding="utf-8")
    comment = comment_page(preview_markdown(preview, knows))
    (folder / f"{name}-comment.html").write_text(comment, encoding="utf-8")


if __name__ == "__main__":
    browser = find_browser()
    if browser is None:
        sys.exit(GET_BROWSER)
    with tempfile.TemporaryDirectory() as made:
        site = Path(made)
        write_pages(world("everything"), site, "preview")
        pictures(
            browser, site, site / "profile", PICTURES, ("preview.html", "preview-comment.html"), height=960
        )
