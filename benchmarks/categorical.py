"""Choices of groups beside exact solvers at equal CPU time: graph colouring and assignments of 25 x 25.

    python benchmarks/categorical.py [seconds] [--seeds 5] [--kinds colouring assignment ...]

Prints, for each kind, the mean objective over the instances (their seeds are 0, 1, ...), and the worst ratio
of `auto` to the least that any rival has for the same instance. All methods have the same CPU seconds of
their process, building a rival's model not counted: CP-SAT twice, with one worker and with eight; Gurobi
with one thread, where the model is within the limits of its free licence (else "-"); linear assignments by
`scipy.optimize.linear_sum_assignment`.
"""

from __future__ import annotations

import argparse
import importlib.util
import threading
import time
from math import inf

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment

import dcra

COLOURS = 5


class Instance:
    """Minimise x'Qx + c'x + constant, Q above the diagonal, one of each group up."""

    def __init__(self, pairs: dict, linear: np.ndarray, groups: list) -> None:
        self.pairs, self.linear, self.groups = pairs, linear, groups

    @property
    def problem(self) -> dcra.Problem:
        n = self.linear.size
        Q = None
        if self.pairs:
            (i, j), w = np.array(list(self.pairs)).T, list(self.pairs.values())
            Q = sparse.coo_array((np.array(w, float), (i, j)), shape=(n, n)).tocsc()
            Q = Q.toarray() if Q.nnz > 0.1 * n * n else Q
        rules = dcra.one_of(self.groups)
        return dcra.Problem(quadratic=Q, linear=self.linear, domain="binary", constraints=rules)

    def value(self, x: np.ndarray) -> float:
        return sum(w for (i, j), w in self.pairs.items() if x[i] and x[j]) + float(self.linear @ x)


def colouring(seed: int, n: int = 100, degree: float = 16.0, weighted: bool = False) -> Instance:
    """Edges of one colour cost 1, or up to 9; vertices prefer colours, a little, where weighted."""
    rng = np.random.default_rng(seed)
    up = np.argwhere(np.triu(rng.random((n, n)) < degree / (n - 1), 1))
    costs = rng.integers(1, 10, len(up)) if weighted else np.ones(len(up), int)
    at = np.arange(n * COLOURS).reshape(n, COLOURS)
    pairs = {
        (at[u, k], at[v, k]): int(w) for (u, v), w in zip(up, costs, strict=True) for k in range(COLOURS)
    }
    linear = rng.integers(0, 4, n * COLOURS) if weighted else np.zeros(n * COLOURS)
    return Instance(pairs, linear.astype(float), list(at))


def assignment(seed: int, n: int = 25, density: float = 1.0, quadratic: bool = True) -> Instance:
    """Flows times distances of random places beside costs of the places themselves."""
    rng = np.random.default_rng(seed)
    at = np.arange(n * n).reshape(n, n)
    linear = rng.integers(0, 100, n * n).astype(float)
    pairs = {}
    if quadratic:
        flow = np.triu(rng.integers(1, 10, (n, n)) * (rng.random((n, n)) < density), 1)
        spots = rng.integers(0, 10, (n, 2))
        far = np.abs(spots[:, None] - spots).sum(axis=-1)
        for i, j in np.argwhere(flow):
            for k, m in np.argwhere(far):
                a, b = sorted((int(at[i, k]), int(at[j, m])))
                pairs[a, b] = pairs.get((a, b), 0) + int(flow[i, j] * far[k, m])
    return Instance(pairs, linear, [*at, *at.T])


def schedule(seed: int, jobs: int = 40, machines: int = 6) -> Instance:
    """Jobs on machines: costs of the places, and costs of any sign for sharing a machine."""
    rng = np.random.default_rng(seed)
    at = np.arange(jobs * machines).reshape(jobs, machines)
    share = np.triu(rng.integers(-9, 20, (jobs, jobs)), 1)
    pairs = {(at[i, k], at[j, k]): int(share[i, j]) for i, j in np.argwhere(share) for k in range(machines)}
    return Instance(pairs, rng.integers(0, 30, jobs * machines).astype(float), list(at))


KINDS = {
    "colouring, 100 vertices, degree 16": colouring,
    "colouring, 100 vertices, degree 16, weighted": lambda seed: colouring(seed, weighted=True),
    "colouring, 40 vertices, degree 10, weighted": lambda seed: colouring(seed, 40, 10.0, True),
    "scheduling, 40 jobs on 6 machines": schedule,
    "assignment 25 x 25, flows of all pairs": assignment,
    "assignment 25 x 25, a fifth of the flows": lambda seed: assignment(seed, density=0.2),
    "assignment 25 x 25, linear": lambda seed: assignment(seed, quadratic=False),
}


def by_dcra(one: Instance, seconds: float, seed: int) -> float:
    problem, wall = one.problem, time.perf_counter
    time.perf_counter = time.process_time  # limits count CPU seconds
    try:
        result = dcra.solve(problem, time_limit=seconds, seed=seed, n_jobs=1)
    finally:
        time.perf_counter = wall
    assert result.feasible
    return one.value(np.asarray(result.x))


def by_cpsat(one: Instance, seconds: float, seed: int, workers: int) -> float:
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    x = [model.new_bool_var("") for _ in one.linear]
    for group in one.groups:
        model.add_exactly_one(x[i] for i in group)
    terms = [int(c) * v for c, v in zip(one.linear, x, strict=True) if c]
    for (i, j), w in one.pairs.items():
        both = model.new_bool_var("")
        if w > 0:
            model.add_bool_or(x[i].negated(), x[j].negated(), both)
        else:
            model.add_implication(both, x[i])
            model.add_implication(both, x[j])
        terms.append(w * both)
    model.minimize(sum(terms))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = workers
    solver.parameters.random_seed = seed
    solver.parameters.max_time_in_seconds = 20 * seconds
    begun, best, over = time.process_time(), [inf], threading.Event()

    class Watch(cp_model.CpSolverSolutionCallback):
        def on_solution_callback(self) -> None:
            if time.process_time() - begun <= seconds:
                best[0] = min(best[0], self.objective_value)

    def stop() -> None:
        while not over.wait(0.02):
            if time.process_time() - begun > seconds:
                solver.stop_search()

    thread = threading.Thread(target=stop)
    thread.start()
    solver.solve(model, Watch())
    over.set()
    thread.join()
    return best[0]


def by_gurobi(one: Instance, seconds: float, seed: int) -> float:
    import gurobipy as gp

    if one.linear.size > 200 and one.pairs:
        return inf  # beyond the free licence
    with gp.Env(params={"OutputFlag": 0}) as env, gp.Model(env=env) as model:
        model.Params.Threads, model.Params.Seed, model.Params.TimeLimit = 1, seed, 20 * seconds
        x = model.addMVar(one.linear.size, vtype="B")
        for group in one.groups:
            model.addConstr(x[np.asarray(group)].sum() == 1)
        objective = one.linear @ x
        if one.pairs:
            n = one.linear.size
            (i, j), w = np.array(list(one.pairs)).T, list(one.pairs.values())
            objective = objective + x @ sparse.coo_array((w, (i, j)), shape=(n, n), dtype=float).tocsr() @ x
        model.setObjective(objective)
        begun = time.process_time()

        def stop(model, where) -> None:
            if time.process_time() - begun > seconds:
                model.terminate()

        try:
            model.optimize(stop)
        except gp.GurobiError:
            return inf
        return one.value(np.round(x.X)) if model.SolCount else inf


def by_scipy(one: Instance, seconds: float, seed: int) -> float:
    if one.pairs:
        return inf
    n = int(np.sqrt(one.linear.size))
    costs = one.linear.reshape(n, n)
    return float(costs[linear_sum_assignment(costs)].sum())


RIVALS = {
    "CP-SAT, 1 worker": ("ortools", lambda *a: by_cpsat(*a, workers=1)),
    "CP-SAT, 8 workers": ("ortools", lambda *a: by_cpsat(*a, workers=8)),
    "Gurobi": ("gurobipy", by_gurobi),
    "linear_sum_assignment": ("scipy", by_scipy),
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("seconds", type=float, nargs="?", default=5.0)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), help="beginnings of names")
    parser.add_argument("--alone", action="store_true", help="`auto` without rivals")
    options = parser.parse_args()
    rivals = {name: solve for name, (package, solve) in RIVALS.items() if importlib.util.find_spec(package)}
    rivals = {} if options.alone else rivals
    by_dcra(colouring(0, 20), 0.1, 0)
    by_dcra(assignment(0, 5), 0.1, 0)
    print("| instances | auto | " + " | ".join(rivals) + " | worst ratio |")
    print("|---" * (3 + len(rivals)) + "|")
    for kind, make in KINDS.items():
        if not any(map(kind.startswith, options.kinds)):
            continue
        values = np.array([row(make(seed), rivals, options.seconds, seed) for seed in range(options.seeds)])
        least = np.min(values[:, 1:], axis=1, initial=inf)
        worst = np.max(np.where(least > 0, values[:, 0] / np.maximum(least, 1e-9), values[:, 0] - least + 1))
        means = [f"{mean:.1f}" if np.isfinite(mean) else "-" for mean in values.mean(axis=0)]
        print(f"| {kind} | " + " | ".join(means) + f" | {worst:.3f} |", flush=True)
        if options.alone:
            print(values[:, 0].tolist(), flush=True)


def row(one: Instance, rivals: dict, seconds: float, seed: int) -> list[float]:
    return [by_dcra(one, seconds, seed), *(solve(one, seconds, seed) for solve in rivals.values())]


if __name__ == "__main__":
    main()
