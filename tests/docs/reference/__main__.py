"""Write docs/reference and the man page anew, and the tables of other pages that are made from code: `make reference`."""

from __future__ import annotations

from tests.docs import rule_pages
from tests.docs.observing import tables, with_tables
from tests.docs.reference.pages import pages
from tests.docs.runbooks import INDEX, alerts_table
from tests.release import man

if __name__ == "__main__":
    for page, text in pages().items():
        page.parent.mkdir(exist_ok=True)
        page.write_text(text, encoding="utf-8")
    for page, found in {**tables(), INDEX: {"alerts": alerts_table()}}.items():
        page.write_text(with_tables(page.read_text(encoding="utf-8"), found), encoding="utf-8")
    for page, lines in rule_pages.facts().items():
        page.write_text(with_tables(page.read_text(encoding="utf-8"), lines), encoding="utf-8")
    rule_pages.INDEX.write_text(rule_pages.rules_page(), encoding="utf-8")
    rule_pages.READING_INDEX.write_text(rule_pages.reading_page(), encoding="utf-8")
    man.write()
