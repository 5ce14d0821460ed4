"""A rota as weighted partial Max-SAT: shifts that must be staffed, people with wishes.

    python examples/maxsat_schedule.py --people 12 --shifts 20

Hard: every shift has somebody, nobody works two shifts in a row. Soft: wishes, by weight. Writes the clauses
to a .wcnf file on request, for other solvers.
"""

from __future__ import annotations

import argparse

import numpy as np

import dcra
from dcra.apps import maxsat


def rota(people: int, shifts: int, seed: int) -> maxsat.Clauses:
    """Variable p * shifts + s + 1: person p works shift s."""
    rng = np.random.default_rng(seed)
    works = np.arange(1, people * shifts + 1).reshape(people, shifts)
    hard = [works[:, s].tolist() for s in range(shifts)]
    hard += [[-int(works[p, s]), -int(works[p, s + 1])] for p in range(people) for s in range(shifts - 1)]
    wishes = rng.integers(1, 10, works.shape)
    off = [[-int(works[p, s])] for p in range(people) for s in range(shifts)]
    return maxsat.Clauses.of(off, wishes.ravel(), hard)


def main() -> None:
    style = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=style)
    parser.add_argument("--people", type=int, default=12)
    parser.add_argument("--shifts", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--write", help="a .wcnf file for the clauses")
    options = parser.parse_args()
    clauses = rota(options.people, options.shifts, seed=0)
    if options.write:
        dcra.io.write(options.write, maxsat.ClauseProblem(clauses))
    answer = maxsat.solve(clauses, time_limit=options.seconds, seed=0)
    print(answer)
    for shift, on in enumerate(answer.assignment.reshape(options.people, options.shifts).T):
        print(f"shift {shift:2}: " + " ".join(str(p) for p in np.flatnonzero(on)))


if __name__ == "__main__":
    main()
