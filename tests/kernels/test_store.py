import numpy as np
import pytest

from dcra._kernels import seed, store
from dcra._kernels.face import exchanged
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


@pytest.mark.parametrize("sparse", [False, True])
def test_exchanging_an_array_is_packing_anew(sparse):
    """The quick way gives the very structure of the slow one; other shapes and types go the slow way."""
    case = Case(["l1", "huber"], sparse=sparse)
    table = 2.0 * case.model.rows.table
    rows = exchanged(case.model.rows, "table", table)
    model = exchanged(case.model, "rows", rows)
    fresh = type(model)(*model[:1], type(rows)(*rows), *model[2:])
    assert "packed" in vars(model)
    assert bytes(model.packed.value) == bytes(fresh.packed.value)
    assert model.packed[2:] == fresh.packed[2:]
    assert model.rows.table is table
    assert bytes(model.packed.value) != bytes(case.model.packed.value)
    for other in (table.astype(np.float32), table[:, :4], table[::-1]):
        wrong = exchanged(case.model.rows, "table", other)
        assert "packed" not in vars(wrong)
        with pytest.raises((TypeError, ValueError), match="must"):
            _ = wrong.packed
