"""How the site is made: `make docs`. Nothing here, and nothing on a page, asks the network for anything."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))
os.environ.setdefault("OMP_NUM_THREADS", "1")

import dcra  # noqa: E402

project, author = "dcra", "The dcra developers"
copyright = author
version = release = dcra.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "plain_docstrings",
    "outside",
]
exclude_patterns = ["_build", "_extensions", "results"]
templates_path = ["_templates"]
highlight_language = "text"
smartquotes = False  # x'Qx is no quotation

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 4

autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

STUDIES = [re.escape(path.name) for path in (HERE.parent / "examples").glob("*.py")]
"""Scripts with command lines of their own, which are no part of the gallery."""

SECTIONS = ["regression", "hashing", "graphs", "clauses", "signals"]
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "subsection_order": [f"../examples/{name}" for name in SECTIONS],
    "within_subsection_order": "FileNameSortKey",
    "filename_pattern": r"/examples/\w+/\w+\.py",
    "ignore_pattern": rf"^({'|'.join(STUDIES)})$",
    "abort_on_example_error": True,
    "backreferences_dir": "gallery/uses",
    "doc_module": ("dcra",),
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 1e9,
    "download_all_examples": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "dcra"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_sidebars = {"index": [], "map": [], "ten-minutes": []}
html_theme_options = {
    "navbar_align": "left",
    "navbar_persistent": ["search-button"],
    "header_links_before_dropdown": 7,
    "secondary_sidebar_items": {"**": ["page-toc", "sg_download_links"], "index": []},
    "show_toc_level": 2,
    "show_prev_next": False,
    "footer_start": ["copyright"],
    "footer_end": [],
}
