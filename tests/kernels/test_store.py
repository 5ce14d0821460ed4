import numpy as np
import pytest

from dcra._kernels import seed, store
from dcra._kernels.rng import reseed

from .conftest import Case


def test_compiled_seeding_equals_the_plain_one():
    rng = np.zeros(4, np.uint64)
    for key in [(0, 0), (1, 0), (0, 1), (2**63 + 5, 12345)]:
        reseed(rng, np.uint64(key[0]), np.uint64(key[1]))
        np.testing.assert_array_equal(rng, seed.state(*key))


def test_streams_differ():
    states = {tuple(seed.state(s, i)) for s in range(20) for i in range(20)}
    assert len(states) == 400


@pytest.mark.parametrize("weight", [None, (1, 2, 0.5)])
def test_column_norms(weight):
    dense = Case(["l1", "huber"], weight=weight)
    w = np.ones(dense.r) if weight is None else dense.weight
    expected = [(w[s] @ dense.A[s] ** 2) for s in (slice(0, 6), slice(6, 12))]
    np.testing.assert_allclose(dense.model.L, expected)
    np.testing.assert_allclose(Case(["l1", "huber"], weight=weight, sparse=True).model.L, expected)


def test_models_are_read_only_and_smoothing_changes_slopes_only():
    model = Case(["l1", "squared", "logistic"], delta=0.25).model
    np.testing.assert_allclose(model.rows.table[:, 0], [4, 1 / 0.75, 0.5])
    other = store.smoothed(model, [1, 2, 3])
    np.testing.assert_allclose(other.rows.table[:, 0], [1, 1 / 2.5, 0.5])
    assert other.A is model.A
    assert not any(a.flags.writeable for a in (*model.A, *model.rows, model.c, model.L))
