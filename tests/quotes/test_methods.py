"""What docs/methods.md says of the families without a number."""

from __future__ import annotations

import numpy as np

from dcra.bench.compare import grouped

from .measures import chosen, rows_of
from .pages import ROOT, flat


def page():
    return flat((ROOT / "docs/methods.md").read_text())


def test_where_another_method_ends_lower_than_auto():
    """On these families alone, and sweeps alone."""
    lower = set()
    for family, rows in grouped(rows_of("families"), "family").items():
        means = {m: np.mean([row["fun"] for row in part]) for m, part in grouped(rows, "method").items()}
        lower |= {(family, m) for m, mean in means.items() if mean < means["auto"] * (1 - 1e-9)}
    families = sorted({family for family, _ in lower})
    assert {method for _, method in lower} == {"sweep"}
    assert f"On {' and '.join(f'`{name}`' for name in families)} sweeps alone end lower than `auto`" in page()


def test_who_finds_planted_answers():
    assert "Planted answers were found by all but the exact solvers." in page()
    rows = chosen(rows_of("families"), family="planted")
    assert {row["method"] for row in rows if not row["recovered"]} == {"milp", "gurobi"}
