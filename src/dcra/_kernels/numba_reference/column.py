"""The primitives all kernels are written on, for either store.

grad(A, j, z, rows)             entry j of A' g(z), g the smoothed gradient of the losses
trial(A, j, dx, z, rows, loss)  total loss after x_j += dx; `loss` is the total now
shift(A, j, dx, z)              z += dx A_j
move_grad(A, j, dx, k, z, rows) shift(A, j, dx, z), then grad(A, k, z, rows), in one loop where that pays
entry(A, j, p)                  row and value of the p-th stored entry of column j
length(A, j)                    entries stored in column j: the unit of work
"""

from numba.extending import overload

from dcra._kernels.store import Dense

from . import dense, sparse
from .jit import OPTIONS

_INLINED = {**OPTIONS, "forceinline": True}


def grad(A, j, z, rows):
    return _module(A).grad(A, j, z, rows)


def trial(A, j, dx, z, rows, loss):
    return _module(A).trial(A, j, dx, z, rows, loss)


def shift(A, j, dx, z):
    _module(A).shift(A, j, dx, z)


def move_grad(A, j, dx, k, z, rows):
    return dense.move_grad(A, j, dx, k, z, rows) if isinstance(A, Dense) else _in_turn(A, j, dx, k, z, rows)


def _in_turn(A, j, dx, k, z, rows):
    shift(A, j, dx, z)
    return grad(A, k, z, rows)


def length(A, j):
    return _module(A).length(A, j)


def entry(A, j, p):
    return _module(A).entry(A, j, p)


def _module(A):
    return dense if isinstance(A, Dense) else sparse


def _pick(name):
    """The overload of a primitive: the store's type decides which module's function is compiled."""

    def choose(A, *args):
        return getattr(dense if A.instance_class is Dense else sparse, name)

    return choose


for _primitive in (grad, trial, shift, length, entry):
    overload(_primitive, jit_options=_INLINED, strict=False)(_pick(_primitive.__name__))


@overload(move_grad, jit_options=_INLINED, strict=False)
def _pick_move_grad(A, *args):
    return dense.move_grad if A.instance_class is Dense else _in_turn
