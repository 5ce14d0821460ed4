"""The page in a real browser: it draws, sorts, hides, zooms, and asks nobody for anything."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dcra.bench.html import page
from dcra.bench.report import Report
from dcra.bench.rows import line_of
from dcra.bench.sections import Figure, Panel, ReportTable, Series, Text

from .test_report import FIGURE

MISSING = "\N{EN DASH}"

TABLE = ReportTable(
    "Numbers",
    ["name", "size", "value"],
    [["b", 10, 0.123456789], ["a", 9, None], ["c", 100, 2.5]],
    "Defined here.",
    best="max",
    best_from=1,
)
TABS = [
    ReportTable("One", ["k"], [["v"]], group="Both", tab="Short"),
    ReportTable("The other", ["k"], [["w"]], group="Both"),
]
BITS = Series("a", [16, 32, 64, 96], [1, 2, 3, 4])
TWO_FIGURES = [
    Figure("Left", [Panel("Left", "bits", "y", [BITS], x_ticks=[16, 32, 64, 96])], group="Pictures", tab="L"),
    Figure("Right", [Panel("Right", "bits", "y", [BITS])], group="Pictures", tab="R"),
]
LONG = ReportTable("Lines", ["k"], [[i] for i in range(40)])
ROWS = [{"instance": "i", "method": "m", "seed": 0, "fun": 1.5}]


@pytest.fixture(scope="module")
def file(tmp_path_factory: Any) -> Path:
    made: Path = tmp_path_factory.mktemp("page") / "report.html"
    text = Text("In short", ["All is well & <good>."])
    made.write_text(page(Report("x", "Title", "Lead.", [text, TABLE, FIGURE, *TABS], ROWS)), encoding="utf-8")
    return made


@pytest.fixture
def tab(browser: Any, file: Path) -> Iterator[Any]:
    made = browser.new_page(viewport={"width": 1200, "height": 900}, color_scheme="light")
    wrong: list[str] = []
    made.on("console", lambda message: wrong.append(message.text))
    made.on("pageerror", lambda error: wrong.append(str(error)))
    made.on(
        "request", lambda request: wrong.append(request.url) if "report.html" not in request.url else None
    )
    made.goto(file.as_uri())
    made.wait_for_selector("path.curve")
    yield made
    made.close()
    assert [one for one in wrong if not one.startswith(("data:", "blob:"))] == []


def column(tab: Any, index: int) -> list[str]:
    return [cell.inner_text() for cell in tab.query_selector_all(f"#part1 tbody td:nth-child({index})")]


def drag(tab: Any, panel: Any, start: tuple[float, float], end: tuple[float, float]) -> None:
    box = panel.query_selector("svg").bounding_box()
    for step, (x, y) in enumerate((start, end)):
        tab.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"], steps=1 + 4 * step)
        (tab.mouse.up if step else tab.mouse.down)()


def test_everything_is_drawn(tab):
    assert tab.inner_text("h1") == "Title"
    assert tab.inner_text(".prose p") == "All is well & <good>."
    assert len(tab.query_selector_all(".panel")) == 2
    assert len(tab.query_selector_all("rect.cell")) == 5
    assert len(tab.query_selector_all("polygon.band")) == 2
    assert tab.query_selector('path.curve.strong[data-name="a"]').get_attribute("d").count("L") == 2
    assert len(tab.query_selector_all('circle[data-name="b"]')) == 2  # a gap leaves points alone
    assert "NaN" not in tab.inner_html("main")
    assert [link.inner_text() for link in tab.query_selector_all("nav a")] == [
        *("In short", "Numbers", "Some <curves>", "Both")
    ]


def test_tables_are_sorted_by_their_headings(tab):
    assert column(tab, 3) == ["0.1235", MISSING, "2.5"]
    size = tab.query_selector("th:nth-child(2) button")
    size.click()
    assert column(tab, 2) == ["9", "10", "100"]
    assert tab.query_selector("th:nth-child(2)").get_attribute("aria-sort") == "ascending"
    size.click()
    assert column(tab, 2) == ["100", "10", "9"]
    size.click()
    assert column(tab, 1) == ["b", "a", "c"]
    tab.query_selector("th:nth-child(3) button").click()
    assert column(tab, 3) == ["0.1235", "2.5", MISSING]
    assert [cell.inner_text() for cell in tab.query_selector_all("td.best")] == ["10", "100", "9"]


def test_tables_of_a_group_are_tabs(tab):
    first, second = tab.query_selector_all("[role=tab]")
    assert (first.inner_text(), second.inner_text()) == ("Short", "The other")
    assert tab.is_hidden('[aria-label="The other"] table')
    second.click()
    assert tab.is_visible('[aria-label="The other"] table')
    assert second.get_attribute("aria-selected") == "true"
    assert tab.is_hidden('[role=tabpanel][aria-label="One"]')


def test_the_legend_hides_and_shows(tab):
    first = tab.query_selector(".legend button")
    first.click()
    assert first.get_attribute("aria-pressed") == "false"
    assert tab.query_selector('path[data-name="a"]') is None
    first.click()
    assert tab.query_selector('path[data-name="a"]') is not None
    first.dblclick()
    pressed = [button.get_attribute("aria-pressed") for button in tab.query_selector_all(".legend button")]
    assert pressed == ["true", "false", "false"]
    first.dblclick()
    assert tab.query_selector('[data-name="c"]') is not None


def test_dragging_zooms_and_a_double_click_shows_all(tab):
    panel = tab.query_selector(".panel")
    panel.scroll_into_view_if_needed()
    before = panel.query_selector("path.curve").get_attribute("d")
    drag(tab, panel, (0.4, 0.3), (0.7, 0.6))
    assert "zoomed" in panel.get_attribute("class")
    assert panel.query_selector("path.curve").get_attribute("d") != before
    panel.query_selector(".reset").click()
    assert panel.query_selector("path.curve").get_attribute("d") == before
    drag(tab, panel, (0.4, 0.3), (0.7, 0.6))
    panel.query_selector("svg").dblclick()
    assert "zoomed" not in panel.get_attribute("class")
    tab.keyboard.down("Control")
    tab.mouse.wheel(0, -100)
    tab.keyboard.up("Control")
    tab.wait_for_selector(".panel.zoomed")


def test_hovering_tells_the_numbers(tab):
    spot = tab.query_selector('circle[data-name="c"]')
    spot.scroll_into_view_if_needed()
    spot.hover()
    tip = tab.query_selector(".tip.on").inner_text().splitlines()
    assert tip == ["c", "x: 1", "y: 1.5", "from 0.5 to 2"]
    shown, point = tab.query_selector(".tip.on").bounding_box(), spot.bounding_box()
    assert 0 < point["y"] - (shown["y"] + shown["height"]) < 20
    assert 0 < shown["x"] - point["x"] < 30
    tab.query_selector("rect.cell:nth-child(2)").hover()
    assert tab.query_selector(".tip.on").inner_text().splitlines()[0] == "rate: 1"


def test_light_and_dark(browser, file, tab):
    def paper(of: Any) -> str:
        return str(of.evaluate("getComputedStyle(document.body).backgroundColor"))

    light = paper(tab)
    tab.click("#theme")
    dark = paper(tab)
    assert dark != light
    tab.click("#theme")
    assert paper(tab) == light
    other = browser.new_page(color_scheme="dark")
    other.goto(file.as_uri())
    assert paper(other) == dark
    other.close()


def test_rows_can_be_taken_away(tab):
    with tab.expect_download() as waiting:
        tab.click("#download")
    assert waiting.value.suggested_filename == "x-rows.jsonl.gz"
    assert gzip.decompress(Path(waiting.value.path()).read_bytes()) == line_of(ROWS[0])


def test_a_phone_needs_no_sideways_scrolling(browser, file):
    phone = browser.new_page(viewport={"width": 360, "height": 740}, has_touch=True)
    phone.goto(file.as_uri())
    phone.wait_for_selector("path.curve")
    assert phone.evaluate("document.documentElement.scrollWidth") == 360
    assert phone.query_selector(".panel svg").bounding_box()["width"] > 280
    phone.close()


@pytest.fixture(scope="module")
def wide(browser: Any, tmp_path_factory: Any) -> Iterator[Any]:
    """A page with more sections than fit in a line, at the width of a common screen."""
    file = tmp_path_factory.mktemp("wide") / "report.html"
    texts = [Text(f"A section with a long name, number {i}", ["Words."]) for i in range(14)]
    parts = [*TWO_FIGURES, LONG, *texts]
    file.write_text(page(Report("x", "Title", "Lead.", parts, ROWS)), encoding="utf-8")
    made = browser.new_page(viewport={"width": 1400, "height": 700})
    made.goto(file.as_uri())
    yield made
    made.close()


def test_no_entry_of_the_navigation_is_cut_off(wide):
    inside = wide.query_selector("nav").bounding_box()
    for link in wide.query_selector_all("nav a"):
        box = link.bounding_box()
        assert box["x"] >= inside["x"]
        assert box["x"] + box["width"] <= inside["x"] + inside["width"] + 0.5
        assert box["y"] + box["height"] <= inside["y"] + inside["height"] + 0.5


def test_figures_of_a_group_are_tabs(wide):
    left, right = wide.query_selector_all("[role=tab]")
    assert (left.inner_text(), right.inner_text()) == ("L", "R")
    assert wide.is_visible('[role=tabpanel][aria-label="Left"] svg')
    assert wide.is_hidden('[role=tabpanel][aria-label="Right"]')
    right.click()
    wide.wait_for_selector('[aria-label="Right"] path.curve')
    assert wide.is_hidden('[role=tabpanel][aria-label="Left"]')
    left.click()


def test_given_ticks_are_the_ticks(wide):
    texts = wide.query_selector_all(
        '[role=tabpanel][aria-label="Left"] .panel svg text[text-anchor="middle"]'
    )
    assert [text.text_content() for text in texts][:4] == ["16", "32", "64", "96"]


def test_forty_lines_are_shown_whole(wide):
    frame = wide.query_selector('.scroll[aria-label="Lines"]')
    assert frame.evaluate("node => node.scrollHeight - node.clientHeight") == 0
