"""Snippets of the README and the docs are tests: a page is one test, its blocks run in order.

Pages show what compiled loops find: without them a page may ask for too much, and is skipped then.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from sybil import Sybil
from sybil.document import Document
from sybil.parsers.markdown import PythonCodeBlockParser

from dcra._kernels import library

SYBIL = Sybil(parsers=[PythonCodeBlockParser()], patterns=["*.md"])

NEEDS = {"scale.md": ["distributed"]}
"""Pages whose snippets need what the tests' extra does not bring."""


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> Page | None:
    if file_path.suffix != ".md":
        return None
    page: Page = Page.from_parent(parent, path=file_path)
    return page


class Page(pytest.File):
    def collect(self) -> Iterator[pytest.Item]:
        document = SYBIL.parse(self.path)
        if list(document.examples()):
            yield Snippets.from_parent(self, name="snippets", document=document)


class Snippets(pytest.Item):
    """The blocks of a page share their names; they may write files, into a folder of their own."""

    def __init__(self, *, document: Document, **options: object) -> None:
        super().__init__(**options)  # type: ignore[arg-type]
        self.document = document

    def runtest(self) -> None:
        for module in NEEDS.get(self.path.name, ()):
            pytest.importorskip(module, reason=f"the page needs {module}, which is not installed")
        with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder)
            try:
                for example in self.document.examples():
                    example.evaluate()
            except (AssertionError, ValueError):
                if library.available():
                    raise
                pytest.skip("needs the compiled loops")

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, self.path.name
