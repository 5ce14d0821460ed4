"""The quadratic term: values, domains, spin form, and every method against brute force."""

import itertools

import array_api_strict
import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, aslinearoperator

import dcra
from dcra.auto.annealing import Annealing
from dcra.bounds.dual import rounded_up
from dcra.compiled.form import compile_problem
from dcra.engines import DCRA, Starts, Sweep
from dcra.model.operators import MatrixFree
from dcra.model.problem import Problem
from dcra.model.quadratic import Quadratic, as_quadratic, lattice_step
from dcra.model.term import Term
from dcra.search.state import Limits

N = 9
DOMAINS = {"spin": (-1.0, 1.0), "binary": (0.0, 1.0)}
STORAGES = {"dense": np.asarray, "sparse": sparse.csr_array, "operator": aslinearoperator}


def all_points(domain, n=N):
    return np.array(list(itertools.product(DOMAINS[domain], repeat=n)))


def make(domain="spin", *, storage="dense", losses=False, whole=True, seed=0, linear=True):
    rng = np.random.default_rng(seed)
    Q = rng.integers(-5, 6, (N, N)).astype(float) if whole else rng.standard_normal((N, N))
    terms = [Term("l1", rng.standard_normal((4, N)), rng.standard_normal(4))] if losses else []
    c = rng.integers(-4, 5, N).astype(float) if linear else None
    return Q, Problem(terms, linear=c, quadratic=STORAGES[storage](Q), constant=1.5, domain=domain)


def reference(Q, problem, X):
    value = np.einsum("ki,ij,kj->k", X, Q, X) + problem.constant
    if problem.linear is not None:
        value = value + X @ problem.linear
    for term in problem.terms:
        value = value + np.abs(X @ term.A.T - term.b).sum(axis=1)
    return value


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("losses", [False, True])
def test_values_in_both_domains(domain, storage, losses):
    Q, problem = make(domain, storage=storage, losses=losses, whole=False)
    X = all_points(domain)
    np.testing.assert_allclose(problem.objective(X), reference(Q, problem, X))
    ones = problem.objective(np.ones(N))
    assert problem.value_at_ones == pytest.approx(ones)
    S = 2 * X - 1 if domain == "binary" else X
    np.testing.assert_allclose(problem.to_spin().objective(S), problem.objective(X), atol=1e-9)


@pytest.mark.parametrize("storage", ["dense", "sparse"])
@pytest.mark.parametrize("domain", DOMAINS)
def test_the_spin_form_has_the_same_values(domain, storage):
    Q, problem = make(domain, storage=storage)
    compiled = compile_problem(problem)
    X = all_points(domain)
    S = compiled.encode(X)
    value = compiled.quadratic.value(S) + compiled.linear(S)
    np.testing.assert_allclose(compiled.value_scale * value + compiled.offset, reference(Q, problem, X))
    assert compiled.quadratic_tables.exact
    s = S[5]
    g = compiled.quadratic_tables.fields(s)
    assert compiled.quadratic_tables.value(s, g) == pytest.approx(value[5])
    flipped = s.copy()
    flipped[2] *= -1
    rise = compiled.quadratic.value(flipped) + compiled.linear(flipped) - value[5]
    assert -s[2] * g[2] == pytest.approx(rise)


@pytest.mark.parametrize("method", ["auto", "flip", "anneal", "tabu", "enumerate", "sweep", "dcra"])
@pytest.mark.parametrize("losses", [False, True])
@pytest.mark.parametrize(("domain", "storage"), [("spin", "dense"), ("binary", "sparse")])
def test_methods_find_the_optimum_of_small_problems(method, losses, domain, storage):
    Q, problem = make(domain, storage=storage, losses=losses, seed=3)
    best = reference(Q, problem, all_points(domain)).min()
    result = dcra.solve(problem, method=method, seed=0, n_jobs=1)
    slack = 0.05 * abs(best) if method in ("sweep", "dcra") else 1e-9  # these relax, and promise nothing
    assert best - 1e-9 <= result.fun <= best + slack
    assert result.lower_bound <= best + 1e-9


@pytest.mark.parametrize("engine", [Sweep(block=4), DCRA()])
def test_array_code_finds_it_too(engine):
    Q, problem = make("binary", losses=True, seed=5)
    best = reference(Q, problem, all_points("binary")).min()
    compiled = compile_problem(problem, loops=False)
    assert not compiled.tabulated
    assert dcra.solve(problem, method=engine, seed=0, n_jobs=1).fun <= best + 0.1 * abs(best)


def test_products_alone_are_enough():
    rng = np.random.default_rng(0)
    Q = rng.standard_normal((40, 40))
    operator = LinearOperator((40, 40), matvec=lambda x: Q @ x, rmatvec=lambda x: Q.T @ x, dtype=float)
    free = Problem(quadratic=Quadratic(MatrixFree(operator).symmetric()), domain="binary")
    plain = Problem(quadratic=Q, domain="binary")
    X = rng.integers(0, 2, (5, 40)).astype(float)
    np.testing.assert_allclose(free.objective(X), plain.objective(X))
    result = dcra.solve(free, starts=4, seed=0)
    assert result.lower_bound == -np.inf
    assert result.fun <= 0.9 * dcra.solve(plain, starts=4, seed=0).fun


def test_same_seed_same_answer_at_any_number_of_jobs():
    rng = np.random.default_rng(1)
    Q = sparse.random_array((80, 80), density=0.05, rng=rng)
    problem = Problem(quadratic=Q)
    one, two = (dcra.solve(problem, starts=10, seed=4, n_jobs=jobs) for jobs in (1, 2))
    assert np.array_equal(one.x, two.x)


def test_inputs_stay_as_they_are():
    Q = np.random.default_rng(0).standard_normal((30, 30))
    before = Q.copy()
    Q.flags.writeable = False
    dcra.solve(Problem(quadratic=Q), starts=2, seed=0)
    np.testing.assert_array_equal(Q, before)


def test_a_point_to_start_from_is_never_lost():
    rng = np.random.default_rng(2)
    problem = Problem(quadratic=rng.standard_normal((60, 60)))
    best = dcra.solve(problem, starts=8, seed=0)
    again = dcra.solve(problem, starts=1, seed=1, x0=best)
    assert again.fun <= best.fun


def test_float32_and_huge_weights():
    rng = np.random.default_rng(3)
    Q = rng.standard_normal((50, 50))
    small = dcra.solve(Problem(quadratic=Q.astype(np.float32)), starts=4, seed=0)
    assert small.x.dtype == np.float32
    for scale in (1e200, 1e-200):
        large = dcra.solve(Problem(quadratic=scale * Q), starts=4, seed=0)
        assert large.fun == pytest.approx(scale * dcra.solve(Problem(quadratic=Q), starts=4, seed=0).fun)


def test_minimize_takes_a_quadratic_term():
    rng = np.random.default_rng(4)
    A, b, Q = rng.standard_normal((5, 8)), rng.standard_normal(5), rng.standard_normal((8, 8))
    result = dcra.minimize(A, b, quadratic=Q, domain="binary", seed=0)
    X = all_points("binary", 8)
    best = (np.abs(X @ A.T - b).sum(1) + np.einsum("ki,ij,kj->k", X, Q, X)).min()
    assert result.fun == pytest.approx(best)
    assert result.status == "optimal"


@pytest.mark.parametrize(
    ("Q", "error", "match"),
    [
        (np.zeros((2, 3)), ValueError, r"`quadratic` must be square"),
        (np.zeros(3), ValueError, r"`quadratic` must be a matrix"),
        (np.array([[0.0, np.nan], [0.0, 0.0]]), ValueError, r"`quadratic` must be finite"),
        (np.zeros((2, 2), complex), TypeError, r"`quadratic` must be real"),
        ("abc", TypeError, r"`quadratic` must"),
    ],
)
def test_bad_quadratics(Q, error, match):
    with pytest.raises(error, match=match):
        as_quadratic(Q)


def test_shapes_must_agree():
    with pytest.raises(
        ValueError, match=r"`quadratic` must have shape \(3, 3\) to match `A` of shape \(2, 3\)"
    ):
        Problem([Term("l1", np.ones((2, 3)), 0.0)], quadratic=np.eye(2))
    with pytest.raises(ValueError, match=r"`linear` must have shape \(2,\)"):
        Problem(quadratic=np.eye(2), linear=np.ones(3))
    with pytest.raises(ValueError, match="needs `terms`, `linear` or `quadratic`"):
        Problem()


@pytest.mark.parametrize("domain", DOMAINS)
def test_values_lie_on_the_lattice(domain):
    Q, problem = make(domain, seed=7)
    step = problem.value_step
    values = reference(Q, problem, all_points(domain))
    steps = (values - values[0]) / step
    np.testing.assert_allclose(steps, np.rint(steps), atol=1e-9)
    least = values.min()
    assert rounded_up(problem, least - 1e-9 * step) == pytest.approx(least)
    assert rounded_up(problem, least - 0.5 * step) == pytest.approx(least)
    assert rounded_up(problem, least - 1.5 * step) == pytest.approx(least - step)


def test_fractions_have_no_lattice():
    assert lattice_step(as_quadratic(np.array([[0, 0.3], [0.3, 0]])), None, "spin") is None


@pytest.mark.parametrize("domain", DOMAINS)
def test_whole_values_are_recognised(domain):
    assert Problem(quadratic=np.array([[1.0, 2.0], [0.0, 3.0]]), domain=domain).integer_valued
    assert not Problem(quadratic=np.array([[0.5, 2.3], [0.0, 3.0]]), domain=domain).integer_valued


def test_torch_in_torch_out():
    torch = pytest.importorskip("torch")
    Q = torch.tensor([[0.0, 1.0], [1.0, 0.0]], dtype=torch.float64)
    result = dcra.solve(Problem(quadratic=Q), seed=0)
    assert isinstance(result.x, torch.Tensor)
    assert result.fun == -2.0


def test_repr_names_the_quadratic():
    assert "quadratic" in repr(Problem(quadratic=np.eye(3)))


@pytest.mark.parametrize("n", [1, 30])
def test_nothing_to_decide(n):
    result = dcra.solve(Problem(quadratic=np.zeros((n, n))), starts=2, seed=0)
    assert result.fun == 0.0
    assert -1e-6 * n <= result.lower_bound <= 0.0


def test_a_time_limit_and_a_target():
    rng = np.random.default_rng(0)
    problem = Problem(quadratic=sparse.random_array((300, 300), density=0.02, rng=rng))
    known = dcra.solve(problem, starts=2, seed=0).fun
    clock = iter(np.arange(0.0, 1e6, 0.01))
    from dcra.search.driver import run
    from dcra.search.state import Limits, Search

    compiled = compile_problem(problem)
    search = Search(compiled, Limits(time_limit=5.0, clock=lambda: float(next(clock))), 0, 0.0)
    result = run(search, Annealing(compiled))
    assert result.status in ("time_limit", "optimal")
    assert result.seconds <= 5.1
    assert dcra.solve(problem, target=known, seed=0, starts=50).status in ("target", "optimal")


def test_turning_halves_lowers_the_value():
    n, rng = 200, np.random.default_rng(0)
    J = sparse.random_array((n, n), density=0.05, rng=rng).tocsc()
    compiled = compile_problem(Problem(quadratic=J, linear=rng.standard_normal(n)))
    form, c = compiled.quadratic, np.asarray(compiled.c)
    for start, g in ((np.ones(n), np.zeros(n)), (np.where(c > 0, -1.0, 1.0), c)):
        s = form.turned(start, g, compiled.like)
        assert set(np.unique(s)) == {-1.0, 1.0}
        assert form.value(s) + g @ s < min(0.0, form.value(start) + g @ start)


def test_the_first_answer_of_a_cut_is_no_empty_one():
    problem = dcra.Problem(quadratic=np.ones((60, 60)), constant=0.0)
    result = dcra.solve(problem, starts=1, seed=0, n_jobs=1)
    assert result.history[0].fun < 0.5 * 60**2


class Steady:
    """A search with one second left of ten."""

    def __init__(self):
        self.limits = Limits(time_limit=10.0)
        self.seconds_left = 1.0


def test_the_last_run_is_sized_by_the_pace_of_its_own_kind():
    plan = Annealing(compile_problem(Problem(quadratic=np.ones((40, 40)) - np.eye(40))))
    plan.passes = 1e9
    plan.pace = {False: 0.01, True: 0.002}
    assert plan._passes(Steady(), gentle=False) == 90
    assert plan._passes(Steady(), gentle=True) == 450
    plan.pace = {True: 0.002}
    assert plan._passes(Steady(), gentle=False) == plan._passes(Steady(), gentle=True)


@pytest.mark.parametrize("first", [0, 7])
def test_the_lift_follows_fields_larger_than_its_curvature(first):
    Q = np.full((20, 20), 50.0) - 60.0 * np.eye(20)  # x = 0 or a single 1; all ones are worst
    problem = Problem(quadratic=Q, domain="binary")
    compiled = compile_problem(problem)
    state = DCRA().start(compiled, Starts(0, first, 3))
    while not state.done:
        state.advance(10**6)
    assert problem.objective(compiled.decode(state.candidates())).max() <= 0


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("lower", [1.0, 0.0])
def test_a_float32_matrix_is_symmetrised_as_it_is_stored(store, lower):
    """2^24 + 1 is no float32: half of it must not be rounded to one."""
    Q = np.array([[0, 2.0**24], [lower, 0]], np.float32)
    problem = Problem(quadratic=store(-Q))
    result = dcra.solve(problem, seed=0)
    assert result.fun == problem.objective([1, 1]) == result.lower_bound == -(2.0**24) - lower
    assert result.x.dtype == np.float32
    assert problem.to_spin().like.dtype == np.float32


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("library", [np, array_api_strict])
def test_q_that_is_not_symmetric_at_its_end(library, dtype, rng):
    """A few rows do not tell."""
    Q = rng.integers(-4, 5, (90, 90)).astype(dtype)
    Q = Q + Q.T
    Q[70, 80] += 1
    x = rng.choice([-1.0, 1.0], 90)
    problem = Problem(quadratic=library.asarray(Q))
    assert float(problem.objective(library.asarray(x))) == x @ Q.astype(np.float64) @ x
    held = problem.quadratic.operator.A
    assert bool(library.all(held == held.T))


def test_a_problem_with_other_parts_has_steps_of_its_own():
    problem = Problem(quadratic=[[0, 4], [0, 0]])
    assert dcra.solve(problem, seed=0).fun == -4
    result = dcra.solve(problem.replace(linear=[0.5, 0.3]), seed=0)
    assert (result.fun, result.status) == (-4.2, "optimal")


@pytest.mark.parametrize("seed", range(40))
def test_tenths_on_the_diagonal_leave_answers_proven(seed):
    rng = np.random.default_rng(seed)
    Q = np.triu(rng.integers(-3, 4, (6, 6)), 1).astype(float)
    d = rng.integers(1, 10, 6) / 10
    d[-1] += np.ceil(d.sum()) - d.sum()
    assert dcra.solve(Problem(quadratic=Q + Q.T + np.diag(d)), seed=0).status == "optimal"
