"""Links that lead out of the folder of pages: to pages of results, and to the README and its neighbours.

Pages of results are whole HTML files already: they are copied as they are, and a link to one opens it.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform

PAGES = {"README": "overview", "CONTRIBUTING.md": "contributing", "CITATION.cff": "citing"}
"""Files outside, and the pages that show them."""


class LinksOutside(SphinxTransform):
    """Downloads of results become links, and files outside the pages that show them."""

    default_priority = 400

    def apply(self, **kwargs: Any) -> None:
        for link in list(self.document.findall(addnodes.download_reference)):
            target = link["reftarget"]
            if target.startswith("results/"):
                link.replace_self(nodes.reference("", "", *link.children, refuri=target, internal=True))
        for link in self.document.findall(addnodes.pending_xref):
            name = str(link.get("reftarget", "")).rpartition("/")[2]
            if link.get("reftype") == "myst" and name in PAGES:
                link["refdomain"], link["reftarget"] = "doc", PAGES[name]
                link["reftargetid"] = link.get("reftargetid")


def setup(app: Any) -> dict[str, bool]:
    app.add_transform(LinksOutside)
    app.connect("build-finished", copy_results)
    return {"parallel_read_safe": True}


def copy_results(app: Any, error: Exception | None) -> None:
    if error is None:
        (Path(app.outdir) / "results").mkdir(exist_ok=True)
        for page in (Path(app.srcdir) / "results").glob("*.html"):
            shutil.copy(page, Path(app.outdir) / "results" / page.name)
