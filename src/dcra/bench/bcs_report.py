"""The report of the compressed-sensing benchmark, from its rows alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import sqrt
from statistics import fmean

from dcra.apps.compressed_sensing.thresholds import amp_threshold, lp_threshold
from dcra.bench import bcs_paper
from dcra.bench.base import Row
from dcra.bench.sections import Cell, Figure, Heat, Panel, ReportTable, Section, Series, Text

Z = 1.96


def sections(rows: Sequence[Row], methods: Sequence[str]) -> list[Section]:
    """Table 2 for each mu, accuracy, phase diagrams, noise."""
    exact = [row for row in rows if row["noise"] == 0]
    noisy = [row for row in rows if row["noise"] > 0]
    biases = sorted({row["mu"] for row in exact})
    found: list[Section] = [_words()]
    for mu in biases:
        part = [row for row in exact if row["mu"] == mu]
        shown = _present(part, methods)
        found += [_objectives(mu, part, shown), _seconds(mu, part, shown), _accuracy(mu, part, shown)]
        found += [_recovery_maps(mu, part, shown), _objective_maps(mu, part, shown)]
    if noisy:
        found.append(_noise(noisy, _present(noisy, methods)))
    return found


def wilson(hits: int, count: int) -> tuple[float, float]:
    """The 95 % interval of a rate of which `hits` of `count` were seen."""
    if count == 0:
        return 0.0, 1.0
    centre = (hits + Z * Z / 2) / (count + Z * Z)
    half = Z / (count + Z * Z) * sqrt(hits * (count - hits) / count + Z * Z / 4)
    return max(0.0, centre - half), min(1.0, centre + half)


def _words() -> Text:
    return Text(
        "How to read this",
        [
            "y = A x with x in {0,1}^500 of density rho; A is normal with mean mu/N and variance 1/N. "
            "The objective is |Ax - y|_1 + .05 |x|_1. 'truth' is that of the true signal, 'coin' that "
            "of a random one; rows named 'paper' are its printed numbers, for an unknown set of alpha.",
            "recover is told nothing; amp is told rho; lp minimises the number of ones over the box. "
            "Every other method has the same seconds. Recovered means that every bit is right.",
        ],
    )


def _objectives(mu: int, rows: Sequence[Row], methods: Sequence[str]) -> ReportTable:
    return _by_rho(
        f"Table 2, mu = {mu}: mean objective", rows, methods, "fun", bcs_paper.OBJECTIVE.get(mu, {})
    )


def _seconds(mu: int, rows: Sequence[Row], methods: Sequence[str]) -> ReportTable:
    return _by_rho(f"Table 2, mu = {mu}: mean seconds", rows, methods, "wall", bcs_paper.SECONDS.get(mu, {}))


def _by_rho(
    title: str, rows: Sequence[Row], methods: Sequence[str], key: str, paper: dict[str, tuple[float, ...]]
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
    return ReportTable(title, ["rho", *map(str, rhos)], body, "Mean over alpha and instances.")


def _accuracy(mu: int, rows: Sequence[Row], methods: Sequence[str]) -> ReportTable:
    body: list[list[Cell]] = []
    for method in methods:
        own = [row for row in rows if row["method"] == method]
        hits = sum(bool(row["exact"]) for row in own)
        low, high = wilson(hits, len(own))
        errors = [fmean(row[key] for row in own) for key in ("mse", "hamming")]
        body.append([method, len(own), hits / len(own), low, high, *errors])
    columns = ["method", "instances", "exact recovery", "low", "high", "MSE", "Hamming distance"]
    return ReportTable(
        f"Recovery, mu = {mu}", columns, body, "low and high: 95 % interval of the rate (Wilson)."
    )


def _recovery_maps(mu: int, rows: Sequence[Row], methods: Sequence[str]) -> Figure:
    curves = threshold_curves(mu != 0)
    panels = [_map(rows, method, "exact", "share recovered", (0.0, 1.0), curves) for method in methods]
    caption = "Curves: thresholds for large N of the linear program and of message passing that knows rho."
    return Figure(f"Share of signals recovered, mu = {mu}", panels, caption)


def _objective_maps(mu: int, rows: Sequence[Row], methods: Sequence[str]) -> Figure:
    top = max(row["coin"] for row in rows)
    panels = [_map(rows, method, "fun", "objective", (0.0, top), ()) for method in methods]
    return Figure(f"Objective, mu = {mu}", panels, "The colour scale ends at the worst coin flip.")


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
    columns = ["noise", "method", "instances", "exact recovery", "low", "high", "Hamming distance"]
    caption = (
        "Gaussian errors of the given standard deviation, rho = .2, alpha = .6; 95 % intervals (Wilson)."
    )
    return ReportTable("Noisy measurements", columns, body, caption)


def _present(rows: Iterable[Row], methods: Sequence[str]) -> list[str]:
    seen = {row["method"] for row in rows}
    return [method for method in methods if method in seen]


def _values(rows: Iterable[Row], key: str) -> list[float]:
    return sorted({row[key] for row in rows})


def _mean(rows: Sequence[Row], rho: float, key: str) -> float | None:
    found = [float(row[key]) for row in rows if row["rho"] == rho]
    return fmean(found) if found else None
