"""The report of the compressed-sensing benchmark, from its rows alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import sqrt
from statistics import fmean

from dcra.apps.compressed_sensing.thresholds import amp_threshold, lp_threshold
from dcra.bench import bcs_paper
from dcra.bench.base import Row
from dcra.bench.bcs_words import message, reading
from dcra.bench.compare import columns, grouped
from dcra.bench.sections import Cell, Figure, Heat, Panel, ReportTable, Section, Series

Z = 1.96


def sections(rows: Sequence[Row], methods: Sequence[str]) -> list[Section]:
    """A message, Table 2, accuracy and phase diagrams with a tab for each mu, noise, thresholds."""
    edge = [row for row in rows if row.get("edge")]
    rows = [row for row in rows if not row.get("edge")]
    exact = [row for row in rows if row["noise"] == 0]
    noisy = [row for row in rows if row["noise"] > 0]
    biases = sorted({row["mu"] for row in exact})
    found: list[Section] = [message(rows), reading(rows)]
    for make in (_objectives, _recovery_maps, _accuracy, _objective_maps, _seconds):
        for mu in biases:
            part = [row for row in exact if row["mu"] == mu]
            found.append(make(mu, part, _present(part, methods)))
    if noisy:
        found.append(_noise(noisy, _present(noisy, methods)))
    if edge:
        found.append(_edges(edge, _present(edge, methods)))
    return found


def wilson(hits: int, count: int) -> tuple[float, float]:
    """The 95 % interval of a rate of which `hits` of `count` were seen."""
    if count == 0:
        return 0.0, 1.0
    centre = (hits + Z * Z / 2) / (count + Z * Z)
    half = Z / (count + Z * Z) * sqrt(hits * (count - hits) / count + Z * Z / 4)
    return max(0.0, centre - half), min(1.0, centre + half)


def _objectives(mu: int, rows: Sequence[Row], methods: Sequence[str]) -> ReportTable:
    return _by_rho("mean objective", mu, rows, methods, "fun", bcs_paper.OBJECTIVE.get(mu, {}))


def _seconds(mu: int, rows: Sequence[Row], methods: Sequence[str]) -> ReportTable:
    return _by_rho("mean CPU seconds", mu, rows, methods, "cpu", bcs_paper.SECONDS.get(mu, {}))


def _by_rho(
    what: str,
    mu: int,
    rows: Sequence[Row],
    methods: Sequence[str],
    key: str,
    paper: dict[str, tuple[float, ...]],
) -> ReportTable:
    rhos = _values(rows, "rho")
    body: list[list[Cell]] = []
    for method in methods:
        own = [row for row in rows if row["method"] == method]
        body.append([method, *(_mean(own, rho, key) for rho in rhos)])
    if key == "fun":
        body += [[name, *(_mean(rows, rho, name) for rho in rhos)] for name in ("truth", "coin")]
    for name, printed in paper.items():
        known: dict[float, float] = dict(zip(bcs_paper.RHO, printed, strict=True))
        body.append([f"paper: {name}", *(known.get(rho) for rho in rhos)])
    alphas, counts = _values(rows, "alpha"), {row["number"] for row in rows}
    caption = (
        f"Mean over {len(alphas)} values of alpha from {alphas[0]:g} to {alphas[-1]:g} and {len(counts)} "
        "instances of each; a column for each density rho of the signal."
    )
    head = ["method", *(f"rho = {rho:g}" for rho in rhos)]
    title = f"Table 2, mu = {mu}: {what}"
    return ReportTable(title, head, body, caption, group=f"Table 2: {what}", tab=f"mu = {mu}")


def _accuracy(mu: int, rows: Sequence[Row], methods: Sequence[str]) -> ReportTable:
    body: list[list[Cell]] = []
    for method in methods:
        own = [row for row in rows if row["method"] == method]
        hits = sum(bool(row["exact"]) for row in own)
        low, high = wilson(hits, len(own))
        errors = [fmean(row[key] for row in own) for key in ("mse", "hamming")]
        body.append([method, len(own), hits / len(own), low, high, *errors])
    head = ["method", "instances", "exact recovery", "low", "high", "MSE", "Hamming distance"]
    caption = "low and high: 95 % interval of the rate (Wilson)."
    return ReportTable(f"Recovery, mu = {mu}", head, body, caption, group="Recovery", tab=f"mu = {mu}")


def _recovery_maps(mu: int, rows: Sequence[Row], methods: Sequence[str]) -> Figure:
    curves = threshold_curves(mu != 0)
    panels = [_map(rows, method, "exact", "share recovered", (0.0, 1.0), curves) for method in methods]
    caption = "Curves: thresholds for large N of the linear program and of message passing that knows rho."
    title = f"Share of signals recovered, mu = {mu}"
    return Figure(title, panels, caption, group="Phase diagrams: signals recovered", tab=f"mu = {mu}")


def _objective_maps(mu: int, rows: Sequence[Row], methods: Sequence[str]) -> Figure:
    top = max(row["coin"] for row in rows)
    curves = threshold_curves(mu != 0)
    panels = [_map(rows, method, "fun", "objective", (0.0, top), curves) for method in methods]
    caption = "The colour scale ends at the worst coin flip."
    group = "Phase diagrams: objective"
    return Figure(f"Objective, mu = {mu}", panels, caption, group=group, tab=f"mu = {mu}")


def threshold_curves(biased: bool) -> tuple[Series, Series]:
    """alpha against rho: above it, recovery succeeds for large N."""
    rhos = [i / 100 for i in range(1, 100)]
    return (
        Series("LP threshold", rhos, [lp_threshold(rho, biased) for rho in rhos]),
        Series("AMP threshold", rhos, [amp_threshold(rho) for rho in rhos]),
    )


def _map(
    rows: Sequence[Row],
    method: str,
    key: str,
    label: str,
    span: tuple[float, float],
    curves: Sequence[Series],
) -> Panel:
    own = [row for row in rows if row["method"] == method]
    x, y = _values(rows, "rho"), _values(rows, "alpha")
    z = [[_mean([row for row in own if row["alpha"] == alpha], rho, key) for rho in x] for alpha in y]
    return Panel(method, "rho", "alpha", curves, Heat(x, y, z, label, span))


def _noise(rows: Sequence[Row], methods: Sequence[str]) -> ReportTable:
    body: list[list[Cell]] = []
    for noise in _values(rows, "noise"):
        for method in methods:
            own = [row for row in rows if row["method"] == method and row["noise"] == noise]
            if not own:
                continue
            hits = sum(bool(row["exact"]) for row in own)
            wrong = [row["hamming"] for row in own]
            body.append([noise, method, len(own), hits / len(own), *wilson(hits, len(own)), fmean(wrong)])
    head = ["noise", "method", "instances", "exact recovery", "low", "high", "Hamming distance"]
    caption = (
        "Gaussian errors of the given standard deviation, rho = .2, alpha = .6; 95 % intervals (Wilson)."
    )
    return ReportTable("Noisy measurements", head, body, caption)


def _edges(rows: Sequence[Row], methods: Sequence[str]) -> ReportTable:
    """How many signals each method recovers where the linear program begins to."""
    body: list[list[Cell]] = []
    for (mu, rho), group in sorted(grouped(rows, "mu", "rho").items()):
        hits = columns({0: group}, methods, lambda own: sum(bool(row["exact"]) for row in own))[0]
        body.append([mu, rho, len(grouped(group, "instance")), *hits])
    caption = "Signals recovered, alpha at the threshold of the linear program and .02 and .04 to both sides."
    return ReportTable("At the thresholds", ["mu", "rho", "instances", *methods], body, caption)


def _present(rows: Iterable[Row], methods: Sequence[str]) -> list[str]:
    seen = {row["method"] for row in rows}
    return [method for method in methods if method in seen]


def _values(rows: Iterable[Row], key: str) -> list[float]:
    return sorted({row[key] for row in rows})


def _mean(rows: Sequence[Row], rho: float, key: str) -> float | None:
    found = [float(row[key]) for row in rows if row["rho"] == rho]
    return fmean(found) if found else None
