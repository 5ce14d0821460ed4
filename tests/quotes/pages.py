"""Pages, what is quoted on them, and what a page says that looks like a measured number."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
QUOTES = ROOT / "docs" / "results" / "quotes"

PAGES = ["README.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))]
APART = ("docs/bibliography.md", "docs/changelog.md", "docs/contributing.md")
"""Pages without numbers of ours: titles of others, and what is included from elsewhere."""

WHYS = ("promise", "constant", "definition", "arithmetic", "published")

UNITS = r"(?:ms|us|µs|s|%|per cent|[kMG]i?B|seconds?|minutes?|hours?)\b|%"
MEASURED = re.compile(rf"(?<![\w.^])(?:\d[\d,]*)?\.\d+|(?<![\w.])\d[\d,]*\s?(?:{UNITS})|±")
"""What a number that was measured looks like: a fraction, or one with a unit."""

NOT_PROSE = re.compile(
    r"^(`{3,}|:{3,}).*?^\1$|^ {4}(?! *[-*]).*?$|`[^`]*`|\]\([^)]*\)|\$[^$]*\$|</?[a-z][^>\n]*>",
    re.DOTALL | re.MULTILINE,
)
"""Code, directives, formulas and addresses."""

Lines = list[list[str]]
Make = Callable[[list[str], Lines], Lines]


class Table(NamedTuple):
    """How lines are made of a heading and those that stand there; in which columns the lowest is bold."""

    page: str
    heading: str
    make: Make
    bold: Sequence[range]


TABLES: dict[tuple[str, str], Table] = {}
"""By page, and how the heading begins: the tables whose cells are computed."""


def flat(text: str) -> str:
    """One line, so that a sentence is found wherever its lines break."""
    return re.sub(r"\s+", " ", text).strip()


def computes(page: str, heading: str, bold: Sequence[range] = ()) -> Callable[[Make], Callable[[], None]]:
    """Makes a test of a function that makes the lines of the table whose heading begins so.

    It is given the heading and the lines that stand there, for their names. In each of the ranges of columns
    `bold` the lowest number of a line is bold.
    """

    def made(make: Make) -> Callable[[], None]:
        TABLES[page, heading] = table = Table(page, heading, make, bold)

        def test() -> None:
            text = (ROOT / page).read_text()
            begin, end = where(table, text)
            assert text[begin:end] == written(table, text)

        test.__name__, test.__doc__ = make.__name__, make.__doc__
        return test

    return made


def where(table: Table, text: str) -> tuple[int, int]:
    """Where the lines of a table stand on its page, below the heading and the line of dashes."""
    heading = text.index("\n" + table.heading) + 1
    begin = heading + re.match(r"(\|.*\n){2}", text[heading:]).end()
    return begin, begin + re.match(r"(\|.*\n)*", text[begin:] + "\n").end()


def written(table: Table, text: str) -> str:
    """The lines of a table as its page is to have them."""
    begin, end = where(table, text)
    head = cells(text[text.index("\n" + table.heading) + 1 :].split("\n", 1)[0])
    lines = table.make(head, [cells(line) for line in text[begin:end].splitlines()])
    return "".join(f"| {' | '.join(emphasised(line, table.bold))} |\n" for line in lines)


def cells(line: str) -> list[str]:
    return [cell.strip(" *") for cell in re.split(r"(?<!\\)\|", line.strip()[1:-1])]


def emphasised(line: list[str], bold: Sequence[range]) -> list[str]:
    """The lowest of each part of a line in bold, be it there more than once."""
    line = list(line)
    for part in bold:
        values = {k: float(line[k].split(" (")[0].replace(",", "")) for k in part if line[k].strip("-")}
        for k, value in values.items():
            if value == min(values.values()):
                number, _, count = line[k].partition(" (")
                line[k] = f"**{number}**" + (f" ({count}" if count else "")
    return line


def mark_tables() -> None:
    """Have TABLES filled: the tests beside this mark what they compute."""
    for path in Path(__file__).parent.glob("test_*.py"):
        import_module(f".{path.stem}", __package__)


class Entry(NamedTuple):
    """A quote, or a sentence that is stated, of a page."""

    page: str
    says: str
    about: dict[str, Any]


def entries(kind: str) -> list[Entry]:
    """All entries of one kind: "quote" or "stated"."""
    found: list[Entry] = []
    for path in sorted(QUOTES.glob("*.toml")):
        page = "README.md" if path.stem == "README" else f"docs/{path.stem}.md"
        listed = tomllib.loads(path.read_text()).get(kind, [])
        found += [Entry(page, flat(about["says"]), about) for about in listed]
    return found


def blocks(text: str) -> Iterator[str]:
    """Paragraphs, items and tables of a page, without code."""
    text = NOT_PROSE.sub(lambda match: "\n" if "\n" in match[0] else " ", text)
    for part in re.split(r"\n\s*\n|\n(?=(?:[*-]|\d\.) )|\n(?=#)|(?<=\n)(?=\|)(?<!\|\n)", text):
        if part.strip() and not part.startswith("#"):
            yield part
