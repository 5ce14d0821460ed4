"""`python -m tests.quotes.requote` brings the numbers that pages quote up to date with their rows.

For after a benchmark was run again; names of pages limit it to these. Sentences stay as they are: read them,
for the new numbers may belie them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from string import Formatter

from .measures import MEASURES, rows_of
from .pages import QUOTES, ROOT, TABLES, Entry, entries, flat, mark_tables, where, written

NUMBER = r"[+-]?(?:\d[\d,]*\d|\d)?(?:\.\d+)?(?<=\d)"


def fields(says: str) -> list[str]:
    """The formats of the quoted numbers."""
    return [f"{{:{spec}}}" for _, field, spec, _ in Formatter().parse(says) if field is not None]


def pattern(says: str, *, loose: bool) -> re.Pattern[str]:
    """The sentence with a group for each quoted number; loosely, with any other number where it has one."""
    parts = []
    for text, field, _, _ in Formatter().parse(says):
        words = re.escape(text).replace(r"\ ", r"\s+")
        parts.append(re.sub(r"\d[\d,]*(?:\\\.\d+)?", lambda _: NUMBER, words) if loose else words)
        parts.append(f"({NUMBER})" if field is not None else "")
    return re.compile("".join(parts))


def located(says: str, page: str) -> re.Match[str] | None:
    """Where a page has the sentence, if it has it once."""
    for loose in (False, True):
        found = list(pattern(says, loose=loose).finditer(page))
        if len(found) == 1:
            return found[0]
    return None


def quoting(quote: Entry, page: str) -> str:
    """The page with the numbers of this quote's rows."""
    where = located(quote.says, page)
    if where is None:
        print(f"not found, or more than once: {quote.page}: {quote.says}")
        return page
    numbers = MEASURES[quote.about["measure"]](rows_of(quote.about["rows"]), **quote.about.get("of", {}))
    parts, end = [], 0
    for group, (field, number) in enumerate(zip(fields(quote.says), numbers, strict=False), 1):
        parts += [page[end : where.start(group)], field.format(number)]
        end = where.end(group)
    return "".join(parts) + page[end:]


def restated(says: str, page: str) -> str:
    """The sentence with the other numbers as the page has them now."""
    where = located(says, page)
    if where is None:
        return says
    text, begin = "", where.start()
    for group, field in enumerate(fields(says), 1):
        text += page[begin : where.start(group)] + field
        begin = where.end(group)
    return flat(text + page[begin : where.end()])


def retabled(page: str, text: str) -> str:
    """The page with the lines of its tables as their rows have them."""
    for table in (table for table in TABLES.values() if table.page == page):
        begin, end = where(table, text)
        text = text[:begin] + written(table, text) + text[end:]
    return text


def main(pages: Sequence[str]) -> None:
    """Rewrite the tables of pages and their sentences, then the lists of quotes."""
    quotes = entries("quote")
    for page in pages or sorted({entry.page for entry in (*quotes, *TABLES.values())}):
        own = [quote for quote in quotes if quote.page == page]
        text = retabled(page, (ROOT / page).read_text())
        for quote in own:
            text = quoting(quote, text)
        (ROOT / page).write_text(text)
        listed = QUOTES / f"{(ROOT / page).stem}.toml"
        says = listed.read_text() if own else ""
        for quote in own:
            says = says.replace(f'"{quote.says}"', f'"{restated(quote.says, text)}"', 1)
        if own:
            listed.write_text(says)


if __name__ == "__main__":
    mark_tables()
    main(sys.argv[1:])
