"""Sentences with numbers say what the rows in docs/results say, and no measured number is without rows."""

from __future__ import annotations

import re

import pytest

from .measures import MEASURES, RESULTS, rows_of
from .pages import APART, MEASURED, PAGES, ROOT, TABLES, WHYS, blocks, entries, flat, mark_tables
from .requote import pattern, quoting, restated

mark_tables()

QUOTED, STATED = entries("quote"), entries("stated")


@pytest.mark.parametrize("quote", QUOTED, ids=lambda quote: f"{quote.page}: {quote.says}")
def test_a_sentence_says_what_its_rows_say(quote):
    numbers = MEASURES[quote.about["measure"]](rows_of(quote.about["rows"]), **quote.about.get("of", {}))
    assert quote.says.format(*numbers) in flat((ROOT / quote.page).read_text())


def test_every_quote_names_rows_that_are_published():
    for quote in QUOTED:
        assert (RESULTS / quote.about["rows"] / "rows.jsonl.gz").exists()
        assert "{" in quote.says


def test_what_is_stated_stands_there_and_says_why():
    for one in STATED:
        assert one.says in flat((ROOT / one.page).read_text()), one.page
        assert one.about["why"] in WHYS


def answered(page, text):
    """Where the page has computed tables, quotes and statements, from and to."""
    for heading in (heading for name, heading in TABLES if name == page):
        begin = text.index("\n" + heading)
        yield begin, text.find("\n\n", begin) % (len(text) + 1)
    known = [pattern(quote.says, loose=False) for quote in QUOTED if quote.page == page]
    stated = [one.says.split() for one in STATED if one.page == page]
    known += [re.compile(r"\s+".join(map(re.escape, words))) for words in stated]
    yield from (match.span() for one in known for match in one.finditer(text))


def unanswered(page):
    """Measured numbers of a page that neither rows nor an entry answer for, with what is around them."""
    text = (ROOT / page).read_text()
    for begin, end in list(answered(page, text)):
        text = text[:begin] + re.sub(r"[\d±]", "x", text[begin:end]) + text[end:]
    for rest in map(flat, blocks(text)):
        yield from (rest[max(0, m.start() - 60) : m.end() + 20] for m in MEASURED.finditer(rest))


@pytest.mark.parametrize("page", [page for page in PAGES if page not in APART])
def test_somebody_answers_for_every_number(page):
    assert list(unanswered(page)) == []


def test_numbers_that_are_up_to_date_stay_as_they_are():
    texts = {page: (ROOT / page).read_text() for page in PAGES}
    assert all(quoting(quote, texts[quote.page]) == texts[quote.page] for quote in QUOTED)
    stale = "at 93 % (of 1,204 rows) and 5 %"
    quote = QUOTED[0]._replace(says="(of {:,} rows) and 7 %", about={"measure": "count", "rows": "table1"})
    assert quoting(quote, stale) == f"at 93 % (of {len(rows_of('table1')):,} rows) and 5 %"
    assert restated(quote.says, stale) == "(of {:,} rows) and 5 %"
