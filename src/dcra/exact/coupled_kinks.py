"""Kinks of a problem that has couplings besides: those of the squares that stand for them."""

from __future__ import annotations

from dataclasses import dataclass, fields

from dcra.exact.couplings_form import couplings_alone
from dcra.exact.kinks import EPS, MOST_ENTRIES, MOST_TANGENTS, KinkForm, kink_form, kink_rows
from dcra.exact.squares import Squares, has_couplings
from dcra.model.problem import Problem


@dataclass(frozen=True, eq=False)
class CoupledForm(KinkForm):
    """The sum of kinks of losses and squares; F may lie below it by the slack of the squares."""

    squares: Squares | None = None

    @property
    def slack(self) -> float:
        return 0.0 if self.squares is None else self.squares.slack

    def in_units(self, fun: float) -> float:
        """What values in our units must reach for F to reach `fun`."""
        value = (fun - self.constant + self.slack) / self.unit
        return value + 8 * EPS * (abs(value) + (abs(self.constant) + abs(fun)) / self.unit)

    def objective(self, value: float) -> float:
        """A bound in our units as one of F."""
        return super().objective(value) - self.slack


def squares_in(form: KinkForm) -> Squares | None:
    """What stands for couplings in a sum of kinks."""
    return form.squares if isinstance(form, CoupledForm) else None


def has_coupled_kinks(problem: Problem) -> bool:
    """Whether losses or constraints stand beside couplings, and their kinks may be laid out."""
    rows = kink_rows(problem)
    if rows is None or not has_couplings(problem) or couplings_alone(problem):
        return False
    return problem.n * (rows + 2 * MOST_TANGENTS * problem.n) <= MOST_ENTRIES


def coupled_form(problem: Problem, squares: Squares, mesh: tuple[float, ...]) -> CoupledForm:
    """The sum of kinks with squares for couplings; raises `Unfit` as `kink_form` does."""
    form = kink_form(squares.stand_in(problem), mesh)
    return CoupledForm(**{field.name: getattr(form, field.name) for field in fields(form)}, squares=squares)
