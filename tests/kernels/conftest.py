"""Small random models over losses, stores and dtypes."""

import numpy as np
import pytest

from dcra._kernels import library, store

HUGE = 1e30
# slope, k, e, lo, hi before smoothing; the slope is set by store.smoothed
LOSSES = {
    "l1": (store.TABLE, (1, 0, 0, -1, 1)),
    "squared": (store.TABLE, (1, 0.5, 0, -HUGE, HUGE)),
    "huber": (store.TABLE, (1, 1, 0, -1, 1)),
    "hinge": (store.TABLE, (1, 0, 0, 0, 1)),
    "quantile": (store.TABLE, (1, 0, 0, -0.3, 0.7)),
    "insensitive": (store.TABLE, (1, 0, 0.5, -1, 1)),
    "linear": (store.TABLE, (1, 0, 0, 1, 1)),
    "logistic": (store.LOGISTIC, (0.5 * 4 / 4, 2, 0.5, 0, 0)),
    "capped": (store.CAPPED, (1, 1.5, 0, -2, 2)),
}
CONVEX = [name for name in LOSSES if name != "capped"]


@pytest.fixture(autouse=True)
def the_library():
    if not library.available():
        pytest.skip(library.why_not())


def loss_value(name, z):
    """The losses once more, by their definitions."""
    return {
        "l1": lambda: np.abs(z),
        "squared": lambda: z**2,
        "huber": lambda: np.where(np.abs(z) <= 1, z**2 / 2, np.abs(z) - 0.5),
        "hinge": lambda: np.maximum(z, 0),
        "quantile": lambda: np.maximum(0.7 * z, -0.3 * z),
        "insensitive": lambda: np.maximum(np.abs(z) - 0.5, 0),
        "linear": lambda: z,
        "logistic": lambda: 0.5 * np.logaddexp(0, 2 * z),
        "capped": lambda: 2 * np.minimum(np.abs(z), 1.5),
    }[name]()


class Case:
    """A model together with the plain arrays it was built from."""

    def __init__(self, losses, rows=6, n=6, seed=0, dtype=np.float64, sparse=False, weight=None, delta=0.5):
        draw = np.random.default_rng(seed)
        self.losses, self.n, self.r = losses, n, rows * len(losses)
        self.A = draw.standard_normal((self.r, n)) * (draw.random((self.r, n)) < 0.7)
        self.b = draw.standard_normal(self.r).astype(dtype)
        self.c = draw.standard_normal(n)
        self.weight = None if weight is None else np.resize(weight, self.r)
        self.start = np.arange(len(losses) + 1) * rows
        self.dtype = np.dtype(dtype)
        self.model = store.smoothed(self._build(sparse), delta)

    def _build(self, sparse):
        dense = store.Dense(np.ascontiguousarray(self.A.T, self.dtype))
        A = to_sparse(self.A, self.dtype) if sparse else dense
        kind, table = zip(*(LOSSES[name] for name in self.losses), strict=True)
        return store.build(A, table, c=self.c, start=self.start, kind=kind, weight=self.weight, n_rows=self.r)

    def objective(self, x):
        z = self.A @ np.asarray(x, float) - self.b
        w = np.ones(self.r) if self.weight is None else self.weight
        parts = [
            w[lo:hi] @ loss_value(name, z[lo:hi])
            for name, lo, hi in zip(self.losses, self.start[:-1], self.start[1:], strict=True)
        ]
        return sum(parts) + self.c @ x

    def point(self, seed=0, spins=True):
        x = np.random.default_rng(seed).uniform(-1, 1, self.n)
        x = (np.where(x < 0, -1, 1) if spins else x).astype(self.dtype)
        return x, (self.A @ x - self.b).astype(self.dtype)


def to_sparse(A, dtype):
    column, row = np.nonzero(A.T)
    ptr = np.concatenate([[0], np.cumsum(np.bincount(column, minlength=A.shape[1]))])
    return store.Sparse(ptr.astype(np.int64), row.astype(np.int32), A.T[column, row].astype(dtype))


@pytest.fixture(autouse=True)
def _wrapping_integers():
    """Without the compiler, the random state is NumPy scalars, which warn where they wrap around."""
    with np.errstate(over="ignore"):
        yield


@pytest.fixture(params=["dense", "sparse", "float32"])
def variant(request):
    """Options of `Case` for each store and dtype."""
    return {
        "dense": {},
        "sparse": {"sparse": True},
        "float32": {"dtype": np.float32},
    }[request.param]
