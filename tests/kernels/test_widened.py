"""Products of float32 matrices in float64, against NumPy's of the converted matrix."""

import numpy as np
import pytest

from dcra._kernels.widened import FEW, widened_product

rng = np.random.default_rng(3)
A = rng.standard_normal((7, 19)).astype(np.float32)


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("shape", [(19,), (1, 19), (FEW, 19), (0, 19)])
def test_products_are_those_of_the_converted_matrix(order, shape):
    X = rng.standard_normal(shape) * 1e20
    Z = widened_product(np.asarray(A, order=order), X)
    assert Z.dtype == np.float64
    np.testing.assert_allclose(Z, X @ A.astype(float).T, rtol=1e-13)


@pytest.mark.parametrize("order", "CF")
def test_read_only_arrays_and_empty_ones(order):
    B = np.asarray(A, order=order)
    B.flags.writeable = False
    np.testing.assert_allclose(widened_product(B, np.ones(19)), B.astype(float).sum(axis=1), rtol=1e-13)
    assert widened_product(np.zeros((0, 3), np.float32, order), np.ones(3)).shape == (0,)


def test_what_blas_does_better_or_loops_cannot_read():
    assert widened_product(A, np.ones((FEW + 1, 19))) is None
    assert widened_product(A[:, ::2], np.ones(10)) is None
    assert widened_product(A.astype(np.float64), np.ones(19)) is None
    assert widened_product(A, np.ones((1, 1, 19))) is None
    bytes_of = np.zeros(A.nbytes + 1, np.uint8)
    skewed = bytes_of[1:].view(np.float32).reshape(A.shape)
    assert widened_product(skewed, np.ones(19)) is None
