"""A report as one HTML page that needs nothing else: no network, no files beside it."""

from __future__ import annotations

import base64
import html
import json
import re
from dataclasses import asdict
from importlib.resources import files
from typing import Any

from dcra.bench.report import Report
from dcra.bench.rows import packed, plain
from dcra.bench.sections import Figure, ReportTable, Section

SCRIPTS = ("scale.js", "table.js", "plot.js", "page.js")


def page(report: Report) -> str:
    """The whole page."""
    fields = {
        "title": html.escape(f"{report.title} - dcra"),
        "file": html.escape(f"{report.name}-rows.jsonl.gz"),
        "style": _asset("page.css"),
        "script": "\n".join(_asset(name) for name in SCRIPTS),
        "data": _data(report),
    }
    return re.sub(r"@(\w+)@", lambda place: fields[place[1]], _asset("page.html"))


def _data(report: Report) -> str:
    """The report as JSON without a <, which could end the element that holds it, or keep it from ending."""
    content = {
        "title": report.title,
        "lead": report.lead,
        "sections": [described(part) for part in report.sections],
        "rows": base64.b64encode(packed(report.rows)).decode(),
    }
    return json.dumps(plain(content), separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def described(part: Section) -> dict[str, Any]:
    """A section as plain data, with what kind it is; plots need no more than a few digits."""
    if isinstance(part, Figure):
        return {"kind": "figure", **_short(asdict(part))}
    return {"kind": "table" if isinstance(part, ReportTable) else "text", **asdict(part)}


def _short(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _short(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_short(one) for one in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _asset(name: str) -> str:
    return files("dcra.bench").joinpath("page", name).read_text(encoding="utf-8").rstrip("\n")
