"""The built site in a real browser: `make docs` builds it and runs this.

Pages are served by this process alone, so that a request to anybody else can be seen.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pytest

SITE = Path(__file__).parents[2] / "docs" / "_build" / "html"
pytestmark = pytest.mark.skipif(not (SITE / "index.html").exists(), reason="the site is not built: make docs")

PAGES = [
    "index.html",
    "ten-minutes.html",
    "map.html",
    "guides.html",
    "gallery/index.html",
    "gallery/graphs/karate_club.html",
    "reference/generated/dcra.minimize.html",
    "related.html",
    "bibliography.html",
    "quadratic.html",
    "overview.html",
]
CARDS = ("Regression", "Hashing", "Quadratic and graphs", "Max-SAT and constraints", "Signals")
WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
LIGHT = """() => ["body", "main p"].map(place => {
    const style = getComputedStyle(document.querySelector(place));
    const colour = place === "body" ? style.backgroundColor : style.color;
    return colour.match(/\\d+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0);
})"""
"""How light the paper and the ink are, of 765."""


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *words: Any) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def home() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(SITE)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def visit(browser: Any, home: str) -> Iterator[Any]:
    """Open a page; in the end nothing was asked of others, nothing was missing, and no script complained."""
    wrong: list[str] = []
    opened: list[Any] = []

    def go(path: str, width: int = 1400, scheme: str = "light") -> Any:
        tab = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        tab.set_default_timeout(120_000)
        opened.append(tab)
        tab.on("pageerror", lambda error: wrong.append(f"{path}: {error}"))
        tab.on("request", lambda request: judged(request.url))
        tab.on("response", lambda answer: wrong.append(answer.url) if answer.status >= 400 else None)
        tab.goto(home + path)
        return tab

    def judged(url: str) -> None:
        if not url.startswith((home, "data:", "blob:")):
            wrong.append(url)

    yield go
    for tab in opened:
        tab.close()
    assert wrong == []


def test_the_landing_page_has_formula_picture_code_and_cards(visit):
    tab = visit("index.html")
    tab.wait_for_selector("mjx-container")
    assert tab.evaluate("document.querySelector('main img').naturalWidth") > 400
    code = tab.inner_text("main div.highlight-python pre")
    assert len([line for line in code.splitlines() if line]) <= 10
    assert "dcra.minimize" in code
    titles = [card.inner_text() for card in tab.query_selector_all(".sd-card-title")]
    assert set(CARDS) <= set(titles)


@pytest.mark.parametrize("card", CARDS)
def test_an_example_near_a_problem_is_three_clicks_away(visit, card):
    tab = visit("index.html")
    tab.locator(".sd-card", has=tab.locator(".sd-card-title", has_text=card)).get_by_text("Examples").click()
    tab.wait_for_selector(".sphx-glr-thumbcontainer")
    tab.locator(".sphx-glr-thumbcontainer a").first.click()
    tab.wait_for_selector("img.sphx-glr-single-img")
    script = tab.locator("a[download][href$='.py']").first.get_attribute("href")
    assert "dcra" in tab.request.get(urljoin(tab.url, script)).text()


def test_the_search_finds_minimize(visit):
    tab = visit("search.html?q=minimize")
    tab.wait_for_selector("ul.search li a")
    found = [link.get_attribute("href") for link in tab.query_selector_all("ul.search li a")]
    assert any("dcra.minimize.html" in href for href in found[:10])


def test_the_reference_of_minimize_has_parameters_returns_and_an_example(visit):
    tab = visit("reference/generated/dcra.minimize.html")
    text = tab.inner_text("main")
    for word in ("Parameters", "Returns", "Examples", "time_limit", "constraints", ">>> "):
        assert word in text
    assert "Examples that use it" in text


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark(visit, scheme):
    tab = visit("index.html", scheme=scheme)
    paper, ink = tab.evaluate(LIGHT)
    assert (paper > 600 and ink < 250) if scheme == "light" else (paper < 150 and ink > 450)


@pytest.mark.parametrize("width", [400, 1400])
def test_nothing_is_wider_than_the_window(visit, width):
    tab = visit("index.html", width)
    home = tab.url.removesuffix("index.html")
    for path in PAGES:
        tab.goto(home + path)
        assert tab.evaluate(WIDE) <= 0, path


def test_results_open_as_pages(visit):
    tab = visit("measured.html")
    tab.locator(".sd-card", has=tab.locator("a[href='results/table1.html']")).click()
    tab.wait_for_selector("h1")
    assert tab.url.endswith("results/table1.html")
