"""Max-SAT: satisfy all hard clauses, and soft ones of as much weight as possible.

minimise the weight of the false soft clauses; clauses of any length, weighted or not.
"""

from dcra.apps.maxsat.clauses import Clauses, random_clauses
from dcra.apps.maxsat.output import Reporter, final_lines
from dcra.apps.maxsat.problem import ClauseProblem, QuadraticForm, quadratic_form
from dcra.apps.maxsat.search import ClauseAnneal, ClauseWalk
from dcra.apps.maxsat.solve import MaxSatResult, solve

__all__ = [
    "ClauseAnneal",
    "ClauseProblem",
    "ClauseWalk",
    "Clauses",
    "MaxSatResult",
    "QuadraticForm",
    "Reporter",
    "final_lines",
    "quadratic_form",
    "random_clauses",
    "solve",
]
