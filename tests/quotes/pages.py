"""Pages, what is quoted on them, and what a page says that looks like a measured number."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator
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

TABLES: set[tuple[str, str]] = set()
"""(page, how the heading of a table begins) of the tables whose cells are computed."""


def flat(text: str) -> str:
    """One line, so that a sentence is found wherever its lines break."""
    return re.sub(r"\s+", " ", text).strip()


Check = Callable[[list[str], list[list[str]]], None]


def computes(page: str, heading: str) -> Callable[[Check], Callable[[], None]]:
    """Makes a test of a check of the table whose heading begins so: it is given the heading and the lines."""
    TABLES.add((page, heading))

    def made(check: Check) -> Callable[[], None]:
        def test() -> None:
            text = (ROOT / page).read_text()
            lines = text[text.index("\n" + heading) + 1 :].split("\n\n")[0].splitlines()
            head, _, *body = (
                [cell.strip(" *") for cell in re.split(r"(?<!\\)\|", line.strip()[1:-1])] for line in lines
            )
            check(head, body)

        test.__name__, test.__doc__ = check.__name__, check.__doc__
        return test

    return made


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
