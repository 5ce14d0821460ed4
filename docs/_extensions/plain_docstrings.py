"""Docstrings of the package as reStructuredText.

They are written to be read in an editor: names stand in single backticks, formulas in plain characters, and
what is indented is a formula or code. To reStructuredText `|u|`, `f*` and `coef_` are markup; here they
become text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

CODE = re.compile(r"(``.+?``|`[^`]+`)")
MARKUP = re.compile(r"(\\|\*|\||(?<=\w)_(?!\w))")
LETTER = re.compile(r"^(\s*)([A-Za-z][.)])(?=\s|$)")
UNDERLINE = re.compile(r"-{3,}\s*")


def setup(app: Any) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", process, priority=100)  # before numpydoc, which is at 500
    return {"parallel_read_safe": True}


def process(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    lines[:] = list(restructured(lines))


def restructured(lines: list[str]) -> Iterator[str]:
    """The lines of a docstring, with `::` before what is indented in its prose."""
    sectioned, literal, doctest = False, False, False
    for i, line in enumerate(lines):
        sectioned = sectioned or (i + 1 < len(lines) and bool(UNDERLINE.fullmatch(lines[i + 1])))
        doctest = line.lstrip().startswith(">>>") or (doctest and bool(line.strip()))
        begins = line.startswith("    ") and i > 0 and not lines[i - 1].strip()
        if begins and not (sectioned or literal or doctest):
            literal = True
            yield from ("::", "")
        literal = literal and (not line.strip() or line.startswith("    "))
        yield line if literal or doctest or UNDERLINE.fullmatch(line.strip()) else escaped(line)


def escaped(line: str) -> str:
    """One line of prose: names in backticks are code, everything else is what it looks like."""
    parts = CODE.split(line)
    text = "".join(_code(part) if i % 2 else MARKUP.sub(r"\\\1", part) for i, part in enumerate(parts))
    return LETTER.sub(r"\1\\\2", text)  # a letter with a stop is no list


def _code(part: str) -> str:
    return "``" + part.strip("`") + "``"
