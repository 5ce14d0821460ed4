"""Max-Cut, QUBO, Ising models, assignment, and bounds by the semidefinite relaxation."""

import itertools
import pickle

import numpy as np
import pytest
from scipy import sparse

import dcra
from dcra.apps.qap import (
    AssignmentProblem,
    AssignmentState,
    SwapTabu,
    _penalties,
    _write_out,
    assignment_cost,
    count_entries,
    exact_penalty,
    qap,
    qap_problem,
)
from dcra.apps.quadratic import ising, maxcut, qubo
from dcra.baselines.sdp_rounding import SdpRounding
from dcra.bounds import semidefinite
from dcra.bounds.semidefinite import Relaxation, SdpStage
from dcra.bounds.semidefinite_with_losses import MixedStage
from dcra.compiled.form import compile_problem
from dcra.engines.base import Starts
from dcra.model.problem import Problem
from dcra.model.term import Term

EDGES = [(0, 1, 2.0), (1, 2, 3.0), (2, 0, 4.0), (2, 3, 1.0)]


def weights(edges, n=4):
    W = np.zeros((n, n))
    for i, j, w in edges:
        W[i, j] = W[j, i] = w
    return W


def test_a_graph_in_all_its_forms():
    networkx = pytest.importorskip("networkx")
    graph = networkx.Graph()
    graph.add_weighted_edges_from([("a", "b", 2.0), ("b", "c", 3.0), ("c", "a", 4.0), ("c", "d", 1.0)])
    W = weights(EDGES)
    forms = [EDGES, W, np.triu(W), sparse.csr_array(W), graph]
    cuts = [maxcut(form, seed=0) for form in forms]
    assert [cut.weight for cut in cuts] == [8.0] * 5
    assert all(cut.upper_bound == 8.0 for cut in cuts)
    up, down = cuts[-1].sides
    assert sorted(up + down) == ["a", "b", "c", "d"]
    assert "cut 8" in str(cuts[0])


@pytest.mark.parametrize(
    ("graph", "match"),
    [
        ([(0, 0)], "no edge from a node to itself; node 0 has one$"),
        ([(0, 1), (1, 0)], r"each edge once; \(0, 1\) comes 2 times$"),
        ([(0, -1)], "nodes 0, 1, ...; got -1"),
        ([(0, 1, np.inf)], "finite weights"),
        ([], "at least one edge"),
        (sparse.csr_array((2, 3)), "square matrix; got shape"),
        (np.array([[0, 1], [2, 0]]), "its two triangles differ"),
        (np.eye(2), "its diagonal is not zero"),
        (
            [(0, 10**7)],
            r"`graph` must name one in 100 of .* got 2 of 0, ..., 10000000. networkx.Graph\(edges\)",
        ),
        (
            [[0, 1, 2], [1, 0, 3], [2, 3, 0]],
            r"comes 2 times; a list is read as edges, .* numpy.array\(graph\)",
        ),
        (np.ones((2, 3)), r"has one; an array of shape \(2, 3\) is read as edges, a matrix must be square"),
        (np.array(EDGES)[:3, :3], r"differ; a square array is read as a matrix, .* give graph.tolist\(\)"),
        (np.eye(4), "its diagonal is not zero$"),
    ],
)
def test_bad_graphs(graph, match):
    with pytest.raises(ValueError, match=match):
        maxcut(graph)


def test_edges_as_an_array_have_whole_numbers_for_nodes_too():
    assert maxcut(np.array(EDGES), seed=0).weight == 8.0
    assert maxcut(np.array(EDGES)[:3].tolist(), seed=0).weight == 7.0
    assert maxcut(weights(EDGES) > 0, seed=0).weight == 3.0
    up, down = maxcut([(3, 5)], seed=0).sides
    assert sorted(up + down) == [0, 1, 2, 3, 4, 5]


def test_an_empty_cut_weighs_zero():
    cut = maxcut([(0, 1, -1.0)], seed=0)
    assert str(cut).startswith("cut 0, upper bound 0,")
    assert not np.signbit([cut.weight, cut.upper_bound]).any()


def test_graphs_of_another_kind():
    for graph in (5, "ab", {(0, 1): 2.0}):
        with pytest.raises(TypeError, match="networkx graph, a matrix, or edges"):
            maxcut(graph)
    networkx = pytest.importorskip("networkx")
    with pytest.raises(ValueError, match="undirected"):
        maxcut(networkx.DiGraph([(0, 1)]))
    with pytest.raises(ValueError, match="node 'a' has one"):
        maxcut(networkx.Graph([("a", "a")]))
    with pytest.raises(TypeError, match=r"numbers for weights; edge \('a', 'b'\) has 'heavy'"):
        maxcut(networkx.Graph([("a", "b", {"weight": "heavy"})]))


@pytest.mark.parametrize(
    ("graph", "match"),
    [
        ([(0.7, 1.2), (1, 2)], "whole numbers 0, 1, ... for nodes; got 0.7"),
        ([("a", "b"), ("b", "c")], r"got 'a'. networkx.Graph\(edges\) takes labels of any kind"),
        ([(0, np.nan)], "for nodes; got nan"),
        ([(0, 1, "3")], r"`graph` must have numbers for weights; edge \(0, 1\) has '3'"),
        ([(0, 1, None)], "has None"),
        ([0, 1], r"edges \(i, j\) or \(i, j, weight\); got 0"),
        ([(0, 1, 2, 3)], r"edges \(i, j\) or \(i, j, weight\); got \(0, 1, 2, 3\)$"),
        ([[0, 1, 2, 3]] * 4, r"got \[0, 1, 2, 3\]; a list is read as edges"),
        (np.array([[0, 1j], [1j, 0]]), "`graph` must hold real numbers; got dtype complex128"),
    ],
)
def test_edges_of_what_is_no_number(graph, match):
    with pytest.raises(TypeError, match=match):
        maxcut(graph)


def test_qubo_and_ising():
    assert qubo({(0, 0): -1.0, (0, 1): 3.0, (1, 1): -2.0}, seed=0).fun == -2.0
    assert qubo(np.array([[-1, 3], [0, -2]]), constant=5.0, seed=0).fun == 3.0
    assert ising({0: 1.0, 2: -1.0}, {(0, 1): -1.0}, seed=0).fun == -3.0
    assert ising(None, np.array([[0.0, 1.0], [0.0, 0.0]]), seed=0).fun == -1.0
    assert qubo([[1, 2], [3, -4]], {0: -9.0}, seed=0).fun == -8.0
    assert qubo({(3, 7): -1.0}, {2: 0.5}, seed=0).x.size == 8
    for Q, linear, match in (
        ({}, None, "`Q` must hold at least one entry"),
        (np.ones((2, 3)), None, r"`Q` must be square, of shape \(n, n\); got \(2, 3\)"),
        (np.eye(2), np.ones(3), r"`linear` must have shape \(2,\); got \(3,\)"),
        (np.eye(2), {"a": 1.0}, r"`linear` must have keys in \[0, 2\), the rows of `Q`; got 'a'"),
        ({(0, 10**7): 1.0}, None, r"^`Q` must name one in 100 .* got 2 of 0, ..., 10000000. .* strings: str"),
    ):
        with pytest.raises(ValueError, match=match):
            qubo(Q, linear)
    with pytest.raises(ValueError, match=r"`h` must have keys in \[0, 2\), the rows of `J`; got 2"):
        ising({2: 1.0}, np.eye(2))
    with pytest.raises(ValueError, match=r"`J` and `h` must name one in 100 .* got 3 of 0, ..., 10000000"):
        ising({10**7: 1.0}, {(0, 1): 1.0})


@pytest.mark.parametrize("rows", [[(0, 1, 2.0)], [[0, 1, 2.0], [1, 2, 3.0]], [(0, 1, 2.0)] * 3])
def test_triples_are_neither_a_matrix_nor_a_dict(rows):
    match = r"got a list of triples: write \{\(0, 1\): 2.0\}, or numpy.array\(Q\) if it is a matrix"
    with pytest.raises(TypeError, match=match):
        qubo(rows)
    assert qubo([[0, 1, 2.0], [0, 0, 3.0], [0, 0, -1.0]], seed=0).fun == -1.0
    with pytest.raises(TypeError, match=r"`Q` must be a matrix or a dict \{\(i, j\): value\}; got None"):
        qubo(None)


def test_options_that_are_none_are_named():
    calls = (lambda **o: maxcut(EDGES, **o), lambda **o: qubo(np.eye(2), **o))
    for call in (*calls, lambda **o: ising(None, np.eye(2), **o)):
        with pytest.raises(TypeError, match=r"`\*\*options` must be one of .*; did you mean 'time_limit'"):
            call(timelimit=1)
        with pytest.raises(TypeError, match=r"`constraints` go into dcra.Problem\(quadratic=.*, constraints"):
            call(constraints=dcra.exactly(1))


def brute_force(F, D):
    return min(assignment_cost(F, D, np.array(p)) for p in itertools.permutations(range(len(F))))


@pytest.mark.usefixtures("compiled_loops")
@pytest.mark.parametrize("method", ["auto", "anneal"])
def test_assignments_against_brute_force(method):
    rng = np.random.default_rng(0)
    F, D = rng.integers(-2, 9, (2, 6, 6)).astype(float)
    answer = qap(F, D, method=method, starts=4, seed=0)
    assert sorted(answer.permutation) == list(range(6))
    assert answer.cost == pytest.approx(brute_force(F, D))
    assert answer.cost == pytest.approx(assignment_cost(F, D, answer.permutation))
    assert answer.result.method == {"auto": "auto", "anneal": "anneal, swaps"}[method]


def test_assignment_as_a_problem():
    rng = np.random.default_rng(1)
    F, D = rng.integers(0, 9, (2, 3, 3)).astype(float)
    problem = qap_problem(F, D)
    points = np.array(list(itertools.product((0.0, 1.0), repeat=9)))
    assert problem.objective(points).min() == pytest.approx(brute_force(F, D))


@pytest.mark.usefixtures("compiled_loops")
def test_large_assignments_are_known_by_products():
    rng = np.random.default_rng(2)
    F, D = rng.integers(0, 9, (2, 5, 5)).astype(float)
    free = AssignmentProblem(F, D, most_entries=10)
    assert free.quadratic.matrix_free
    X = rng.integers(0, 2, (6, 25)).astype(float)
    np.testing.assert_allclose(free.objective(X), qap_problem(F, D).objective(X))
    assert qap(F, D, starts=2, seed=0).cost == pytest.approx(brute_force(F, D))


@pytest.mark.parametrize("share", [0.2, 0.9])
def test_dense_and_sparse_assignments_are_written_out_alike(share):
    rng = np.random.default_rng(6)
    F, D = rng.integers(1, 9, (2, 5, 5)) * (rng.random((2, 5, 5)) < share) * 1.0
    problem, X = qap_problem(F, D, 3.0), rng.integers(0, 2, (20, 25)).astype(float)
    P = X.reshape(-1, 5, 5)
    cost = np.einsum("ij,kl,bik,bjl->b", F, D, P, P)
    off = ((P.sum(1) - 1) ** 2).sum(1) + ((P.sum(2) - 1) ** 2).sum(1)
    np.testing.assert_allclose(problem.objective(X), cost + 3.0 * off)
    assert problem.quadratic.operator.sparse == (share < 0.5)


@pytest.mark.parametrize("density", [0.1, 0.45])
def test_what_is_written_out_holds_no_zeros(density):
    """Flows between few facilities, distances between all places: blocks of zeros would be n^4 entries."""
    n = 12
    F, D = np.random.default_rng(8).integers(1, 9, (2, n, n)).astype(float)
    F[np.random.default_rng(9).random((n, n)) > density] = 0
    assert _write_out(F, D, 1.0).nnz <= np.count_nonzero(F) * np.count_nonzero(D) + 2 * n**3


def test_auto_searches_a_stated_assignment_as_qap_does():
    """The same steps, and couplings that are never written out; another method looks at them."""
    rng = np.random.default_rng(10)
    F, D = rng.integers(0, 9, (2, 20, 20)).astype(float)
    problem = qap_problem(F, D)
    result, known = dcra.solve(problem, starts=2, seed=3), qap(F, D, starts=2, seed=3)
    assert "quadratic" not in problem.__dict__
    assert np.array_equal(result.x, known.result.x)
    assert result.fun == known.cost
    assert not problem.quadratic.matrix_free
    flipped = dcra.solve(problem, starts=1, seed=3, method="flip")
    assert flipped.fun == problem.objective(flipped.x)
    assert pickle.loads(pickle.dumps(problem.replace(constraints=()).as_searched())).n == 400


@pytest.mark.parametrize("change", ["linear", "quadratic", "soft", "penalty"])
def test_what_is_no_assignment_any_more_is_not_searched_as_one(change):
    """Another objective, or a penalty that does not suffice: the best permutation is not the best point."""
    rng = np.random.default_rng(11)
    F, D = rng.integers(1, 9, (2, 3, 3)).astype(float)
    problem = qap_problem(F, D, 40.0 if change == "penalty" else None)
    changed = {
        "linear": lambda: problem.replace(linear=problem.linear + 300 * rng.standard_normal(9)),
        "quadratic": lambda: problem.replace(quadratic=rng.standard_normal((9, 9)), linear=None),
        "soft": lambda: problem.replace(constraints=dcra.soft(dcra.exactly(0, [3, 4]), weight=1e4)),
        "penalty": lambda: problem,
    }[change]()
    points = np.array(list(itertools.product((0.0, 1.0), repeat=9)))
    result = dcra.solve(changed, seed=0)
    assert result.fun == pytest.approx(changed.objective(points).min())
    assert result.lower_bound <= changed.objective(points).min() + 1e-9


def test_swaps_answer_where_there_is_no_time_to_write_out_penalties(monkeypatch):
    monkeypatch.setattr("dcra.costs.COUPLING_SECONDS", 1.0)
    F, D = np.random.default_rng(7).integers(0, 9, (2, 6, 6)).astype(float)
    answer = qap(F, D, method="anneal", time_limit=0.5, seed=0)
    assert answer.result.method == "swaps"
    assert answer.cost == pytest.approx(assignment_cost(F, D, answer.permutation))


@pytest.mark.parametrize(("limit", "count"), [(None, 7), (1e9, 7), (11.0, 3), (5.0, 1), (3.0, 0)])
def test_there_are_as_many_penalties_as_can_be_written_out(monkeypatch, limit, count):
    monkeypatch.setattr("dcra.costs.slowdown", lambda: 1.0)
    F, D = np.random.default_rng(7).integers(1, 9, (2, 6, 6)).astype(float)
    monkeypatch.setattr("dcra.costs.COUPLING_SECONDS", 1.0 / count_entries(F, D))
    weights = _penalties(F, D, limit)
    assert len(weights) == count
    assert weights == sorted(weights)
    assert not weights or weights[-1] == exact_penalty(F, D)


def test_swaps_without_compiled_loops():
    rng = np.random.default_rng(3)
    F, D = rng.integers(0, 9, (2, 6, 6)).astype(float)
    problem = qap_problem(F, D)
    state = SwapTabu().start(compile_problem(problem, loops=False), Starts(0, 0, 20))
    while not state.done:
        state.advance(10**6)
    costs = problem.objective((state.candidates() + 1) / 2)
    assert costs.min() == pytest.approx(brute_force(F, D))


@pytest.mark.parametrize(
    ("F", "D", "match"),
    [
        (np.ones((2, 3)), np.eye(2), "`flow` must be a square matrix"),
        (np.eye(2), np.eye(3), "must have one shape"),
        (np.eye(2), np.array([[0, np.nan], [0, 0]]), "`distance` must be finite"),
    ],
)
def test_bad_assignment_data(F, D, match):
    with pytest.raises(ValueError, match=match):
        qap(F, D)


@pytest.mark.parametrize("D", ["b", [["1", "2"], ["3", "4"]], [[1, 2], [3]], 1j * np.eye(2), None])
def test_assignment_data_of_another_kind(D):
    with pytest.raises(TypeError, match="`distance` must be a dense matrix of real numbers; got"):
        qap(np.eye(2), D)


def random_graph(n, seed, density=0.5):
    rng = np.random.default_rng(seed)
    W = np.triu(rng.random((n, n)) < density, 1).astype(float)
    return W + W.T


@pytest.mark.usefixtures("compiled_loops")
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("domain", ["spin", "binary"])
@pytest.mark.parametrize("fields", [False, True])
def test_bounds_hold_and_are_close(seed, domain, fields):
    rng = np.random.default_rng(seed)
    Q = rng.standard_normal((12, 12))
    c = 2 * rng.standard_normal(12) if fields else None
    problem = Problem(quadratic=Q, linear=c, domain=domain)
    low = -1.0 if domain == "spin" else 0.0
    least = problem.objective(np.array(list(itertools.product((low, 1.0), repeat=12)))).min()
    compiled = compile_problem(problem)
    stage = SdpStage(compiled)
    trivial = stage.bound
    while not stage.done:
        stage.advance(10_000)
    assert trivial < stage.bound <= least + 1e-9
    assert stage.bound >= least - 0.25 * abs(least)
    assert stage.passing is not None
    relaxed = compiled.value_scale * stage.passing.relaxation.value() + compiled.offset
    assert stage.bound == pytest.approx(relaxed, rel=0.01)


def test_a_bound_is_put_into_units_of_the_objective_once_for_each_proof(rng, monkeypatch):
    """It takes all couplings: as often as there is a little work, it took most of the time."""
    calls = []
    real = semidefinite.smooth_size
    monkeypatch.setattr(semidefinite, "smooth_size", lambda problem: calls.append(1) or real(problem))
    stage = SdpStage(compile_problem(dcra.Problem(quadratic=rng.standard_normal((30, 30)))))
    steps = 0
    while not stage.done:
        stage.advance(1)
        steps += 1
    assert len(calls) == stage.rounds < steps / 10


def test_bounds_prove_easy_cuts():
    grid = [(6 * i + j, 6 * i + j + 1) for i in range(6) for j in range(5)]
    grid += [(6 * i + j, 6 * i + j + 6) for i in range(5) for j in range(6)]
    cut = maxcut(grid, starts=4, seed=0)  # bipartite: cut whole, and the relaxation knows it
    assert cut.weight == cut.upper_bound == 60.0
    assert cut.result.status == "optimal"


@pytest.mark.parametrize("seed", range(4))
def test_random_planes_keep_their_promise(seed):
    W = random_graph(14, seed)
    row, col = np.nonzero(np.triu(W))
    from dcra.apps.quadratic import cut_problem

    compiled = compile_problem(cut_problem(14, row, col, np.ones(row.size)))
    state = SdpRounding(planes=4000, tol=1e-9).start(compiled, Starts(0, 0, 1))
    while not state.done:
        state.advance(100_000)
    cuts = -compiled.problem.objective(state.cuts(np.random.default_rng(0)))
    relaxed = -(compiled.value_scale * state.relaxation.value() + compiled.offset)
    assert np.mean(cuts) >= 0.878 * relaxed - 3 * np.std(cuts) / np.sqrt(cuts.size)
    best = maxcut(W, seed=0).weight
    assert relaxed >= best - 1e-6
    assert np.max(cuts) >= 0.878 * best


def test_rounding_is_a_method():
    W = random_graph(20, 0)
    result = maxcut(W, method="sdp-rounding", starts=2, seed=0).result
    assert result.method == "sdp-rounding"
    with pytest.raises(ValueError, match="needs a quadratic objective and nothing else"):
        dcra.solve(Problem([Term("l1", np.ones((1, 2)), 0.0)]), method="sdp-rounding")


def test_the_relaxation_does_not_depend_on_how_it_is_cut_up():
    compiled = compile_problem(Problem(quadratic=random_graph(20, 1), linear=np.ones(20)))
    one, two = Relaxation(compiled.quadratic_tables), Relaxation(compiled.quadratic_tables)
    while one.passes < 5:
        one.advance(1)
    while two.passes < 5:
        two.advance(10**9)
    np.testing.assert_array_equal(one.V, two.V)


@pytest.mark.usefixtures("compiled_loops")
@pytest.mark.parametrize("loss", ["l1", "squared", "hinge", "huber", "logistic"])
@pytest.mark.parametrize("domain", ["spin", "binary"])
def test_bounds_hold_with_losses_beside(loss, domain):
    rng = np.random.default_rng(1)
    A, b = rng.standard_normal((8, 10)), rng.standard_normal(8)
    weight = rng.random(8) * (rng.random(8) < 0.8)
    problem = Problem([Term(loss, A, b, weight)], quadratic=rng.standard_normal((10, 10)), domain=domain)
    low = -1.0 if domain == "spin" else 0.0
    least = problem.objective(np.array(list(itertools.product((low, 1.0), repeat=10)))).min()
    stage = MixedStage(compile_problem(problem))
    trivial = stage.bound
    while not stage.done:
        stage.advance(10_000)
    assert trivial < stage.bound <= least + 1e-9
    assert stage.bound >= least - 0.25 * abs(least) - 0.5


def test_the_first_starts_of_a_swap_search_are_short():
    M = np.ones((4, 4))
    moves = [AssignmentState(M, M, Starts(0, first, 1), loops=False).moves for first in (0, 1, 5, 50)]
    assert moves == [250, 500, 8000, 8000]


def test_a_time_limit_of_an_assignment_is_checked():
    with pytest.raises(ValueError, match="`time_limit` must be"):
        qap(np.ones((3, 3)), np.ones((3, 3)), time_limit=-1.0)


def test_labels_of_any_kind():
    Q = {("a", "a"): -1.0, ("a", ("b", 1)): 3.0, (("b", 1), ("b", 1)): -2.0}
    found = qubo(Q, seed=0)
    assert found.fun == -2
    assert found.names == ("a", ("b", 1))
    assert found.values == {"a": 0, ("b", 1): 1}
    assert found.to_dict()["names"] == ["a", "('b', 1)"]
    biased = qubo(Q, {"a": -5.0, "c": 1.0}, seed=0)
    assert biased.values == {"a": 1, "c": 0, ("b", 1): 0}
    spins = ising({"x": 1.0}, {("x", "y"): -2.0}, seed=0)
    assert (spins.fun, spins.values) == (-3, {"x": -1, "y": -1})
    assert qubo({(0, 0): -1, (0, 1): 3, (1, 1): -2}, {0: -4.0}, seed=0).values == {0: 1, 1: 0}
    with pytest.raises(TypeError, match=r"`Q` must have pairs \(i, j\) for keys; got 'a'"):
        qubo({"a": 1.0, "b": 2.0})
    with pytest.raises(TypeError, match=r"`J` must have pairs \(i, j\) for keys; got 'a'"):
        ising({("a", "b"): 1.0}, {"a": 1.0})
    with pytest.raises(TypeError, match=r"`Q` must hold real numbers; \('a', 'b'\) has '1'"):
        qubo({("a", "b"): "1"})
    with pytest.raises(TypeError, match=r"`h` must hold real numbers; 'a' has None"):
        ising({"a": None}, {("a", "b"): 1.0})
    with pytest.raises(TypeError, match=r"`h` must be a dict of labels, as `J` is; got \[1.0, 2.0\]"):
        ising([1.0, 2.0], {("a", "b"): 1.0})
    with pytest.raises(TypeError, match="`J` must be a matrix or a dict"):
        ising([1.0, 2.0])


def test_starts_and_fixings_by_name():
    Q = {("a", "b"): 1.0, ("a", "a"): -2.0, ("b", "c"): 3.0, ("c", "c"): -1.0}
    found = qubo(Q, fixed={"c": 0, "a": 0}, pool=4, seed=0)
    assert found.values["a"] == found.values["c"] == 0
    assert found.names == ("a", "b", "c")
    assert len(found.pool) == 2
    assert qubo(Q, fixed={2: 0}, seed=0).values["c"] == 0  # an index, where no name is a number
    assert qubo(Q, x0={"a": 0, "b": 1}, starts=1, method="random", seed=0).fun <= 0
    numbered = {(7, 7): -1.0, (7, -1): 3.0, (-1, -1): -2.0}
    assert qubo(numbered, fixed={7: 1}, seed=0).values == {7: 1, -1: 0}
    with pytest.raises(ValueError, match="`fixed` must name variables of the problem; it has none named 1"):
        qubo(numbered, fixed={1: 1})
    for name in ("fixed", "x0"):
        with pytest.raises(ValueError, match=f"`{name}` must .*; it has none named 'bb'; did you mean b"):
            qubo(Q, **{name: {"bb": 1}})


def test_models_of_dimod():
    dimod = pytest.importorskip("dimod")
    rng = np.random.default_rng(0)
    for vartype in ("SPIN", "BINARY"):
        pairs = {(u, v): float(rng.normal()) for u, v in ("ab", "bc", "ca", "cd")}
        bqm = dimod.BinaryQuadraticModel({v: float(rng.normal()) for v in "abcd"}, pairs, 0.5, vartype)
        best = dimod.ExactSolver().sample(bqm).first
        for solve, low in ((qubo, 0), (ising, -1)):
            found = solve(bqm, seed=0)
            assert found.fun == pytest.approx(best.energy)
            assert {v: x > low for v, x in found.values.items()} == {v: x > 0 for v, x in best.sample.items()}
    with pytest.raises(TypeError, match="has its own linear part and offset"):
        qubo(bqm, [1.0, 2.0, 3.0, 4.0])


def test_views_of_edges_are_edges():
    networkx = pytest.importorskip("networkx")
    assert maxcut(networkx.path_graph(4).edges, seed=1).weight == 3
    assert maxcut(networkx.DiGraph([(0, 1), (1, 2)]).edges(), seed=1).weight == 2


@pytest.mark.parametrize("form", [sparse.coo_array, sparse.csr_array, sparse.csc_matrix])
@pytest.mark.parametrize("dtype", [float, np.int8])
def test_stored_zeros_and_repeated_entries_of_sparse_graphs(form, dtype):
    zero = form(sparse.coo_array(([0, 1], ([0, 1], [1, 0])), shape=(2, 2), dtype=dtype))
    assert maxcut(zero, seed=0).weight == 1.0
    for places in (([0, 0], [1, 1]), ([0, 0, 1], [1, 1, 0])):
        weight = np.array([1, 2, 3][: len(places[0])], dtype)
        graph = sparse.coo_array((weight, places), shape=(2, 2))
        assert maxcut(graph, seed=0).weight == 3.0
        assert graph.nnz == len(weight)  # as it was given
    indices, indptr = np.array([1, 1]), np.array([0, 2, 2])
    repeated = sparse.csr_array((np.array([100, 100], dtype), indices, indptr), shape=(2, 2))
    assert maxcut(repeated, seed=0).weight == 200.0
    assert repeated.nnz == 2
