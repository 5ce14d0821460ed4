"""Small files of every format, as `dcra.io.write` and others write them: what the mutator starts from."""

from __future__ import annotations

import gzip
import lzma
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from scipy import sparse

import dcra
from dcra.apps.maxsat import ClauseProblem, Clauses
from dcra.apps.quadratic import cut_problem
from dcra.io import qaplib

LP = """\
\\ a model
maximize
 obj: 3 x + 2 y + 4 z + 1
subject to
 weight: 2 x + 3 y + 3 z <= 5
 either: x + y >= 1
bounds
 x <= 1
binary
 x y z
end
"""

MPS = """\
NAME          small
ROWS
 N  COST
 L  WEIGHT
 G  EITHER
COLUMNS
    M1        'MARKER'                 'INTORG'
    X         COST        -3.0   WEIGHT       2.0
    X         EITHER       1.0
    Y         COST        -2.0   WEIGHT       3.0
    Y         EITHER       1.0
    M2        'MARKER'                 'INTEND'
RHS
    RHS       WEIGHT       5.0   EITHER       1.0
RANGES
    RNG       WEIGHT       2.5
BOUNDS
 BV BND       X
 UP BND       Y            1
ENDATA
"""

SYMMETRIC = """\
%%MatrixMarket matrix coordinate integer symmetric
% a comment
3 3 4
1 1 2
2 1 -3
3 2 5
3 3 1
"""

RIGHT_HAND_SIDE = "%%MatrixMarket matrix array real general\n3 1\n1\n2.5\n-3\n"

PART_OF = {"a_b.mtx": "a.mtx", "s_b.mtx": "s.mtx", "s_Q.mtx": "s.mtx", "sym_b.mtx": "sym.mtx"}
"""Files that are read as parts of another."""


def samples() -> dict[str, bytes]:
    """Name and content of each sample."""
    rng = np.random.default_rng(0)
    A, b = np.rint(4 * rng.standard_normal((5, 4))), np.rint(3 * rng.standard_normal(5))
    term = dcra.Term("huber", A, b)
    thin = dcra.Term("l1", sparse.csc_array(np.where(np.abs(A) > 3, A, 0.0)), b, 2.0)
    rows = [dcra.exactly(2), dcra.at_most(1, [0, 1])]
    clauses = Clauses.of([[1, -2], [2, 3, -4], [-1], [4]], [3, 1, 2, 5], hard=[[1, 2], [-3, -4, 1]])
    plain = Clauses.of([[1, -2], [2, 3, -4], [-1], [4]])
    qubo = dcra.Problem(linear=[1.0, 0, -2, 3], quadratic=np.triu(A[:4], 1), domain="binary")
    cut = cut_problem(4, np.array([0, 1, 2, 0]), np.array([1, 2, 3, 3]), np.array([1.0, 2, 1, -1]))
    market = dcra.Problem([dcra.Term("l1", np.abs(A[:2]), np.array([5.0, 7]))], domain="binary")
    made = {
        "a.npz": dcra.Problem([term], linear=np.ones(4), domain="binary", constraints=rows),
        "s.npz": dcra.Problem([thin, term], quadratic=sparse.csc_array(A[:4]), constant=1.5),
        "a.mtx": dcra.Problem([term]),
        "s.mtx": dcra.Problem([dcra.Term("l1", thin.A, b)], quadratic=sparse.csc_array(A[:4])),
        "a.cnf": ClauseProblem(plain),
        "a.wcnf": ClauseProblem(clauses),
        "a.rudy": cut,
        "a.sparse": qubo,
        "a.qubo": qubo,
        "a.coo": qubo,
        "a.marketsplit": market,
    }
    found: dict[str, bytes] = {}
    with TemporaryDirectory() as folder:
        for name, problem in made.items():
            dcra.io.write(Path(folder, name), problem)
        qaplib.write_matrices(Path(folder, "a.qaplib"), np.abs(A[:3, :3]), np.abs(A[1:4, :3]))
        for path in Path(folder).iterdir():
            found[path.name] = path.read_bytes()
    old = b"c by hand\np wcnf 4 3 10\n10 1 -2 0\n3 2 3 0\n10 -4 0\n"
    found |= {"old.wcnf": old, "sym.mtx": SYMMETRIC.encode(), "sym_b.mtx": RIGHT_HAND_SIDE.encode()}
    found |= {"a.lp": LP.encode(), "a.mps": MPS.encode()}
    found |= {"graph": found["a.rudy"], "matrices": found["a.qaplib"], "market": found["a.marketsplit"]}
    found |= {
        f"{name}.gz": gzip.compress(found[name], mtime=0) for name in ("a.mtx", "a.cnf", "a.rudy", "a.mps")
    }
    return found | {"a.wcnf.xz": lzma.compress(found["a.wcnf"])}
