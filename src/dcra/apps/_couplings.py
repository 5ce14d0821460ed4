"""Couplings and fields as users state them, matrices or dicts, made into a problem."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import numpy as np
from scipy import sparse

from dcra.messages import shown
from dcra.model.problem import Problem
from dcra.named import load

MANY, SPARSE = 1_000_000, 100
"""Where there are more positions than both of these, in all and for each one named, they are no positions."""


def check_options(given: Collection[str], problem: str) -> None:
    """Refuse keywords that `dcra.solve` lacks; `problem` says what stands beside constraints."""
    from dcra.solving.options import check_keywords

    if "constraints" in given:
        raise TypeError(f"`constraints` go into dcra.Problem({problem}, constraints=...), for dcra.solve")
    check_keywords(given)


def is_model(Q: Any) -> bool:
    """Whether it is a binary quadratic model of dimod."""
    return hasattr(Q, "vartype") and hasattr(Q, "to_numpy_vectors")


def problem_of_model(bqm: Any, vartype: str, other: Any, constant: float) -> Problem:
    """The problem of a binary quadratic model, which has its own linear part and offset."""
    if other is not None or constant:
        raise TypeError("a binary quadratic model has its own linear part and offset; give it alone")
    model = bqm.change_vartype(vartype, inplace=False)
    problem: Problem = load("dcra.interop.dimod:problem_of")(model)
    problem.variable_names = tuple(model.variables)
    return problem


def problem_of(Q: Any, h: Any, constant: float, domain: str, names: tuple[str, str]) -> Problem:
    """x'Qx + h'x + constant; messages call Q and h by their names in the call."""
    quadratic, linear = names
    _check_kind(quadratic, Q)
    labels, (Q, h) = _indexed(Q, h, quadratic, linear)
    Q = _matrix(Q, h, names)
    h = _vector(h, Q, names)
    try:
        problem = Problem(quadratic=Q, linear=h, constant=constant, domain=domain)
    except (TypeError, ValueError) as error:
        text = str(error).replace("`quadratic`", f"`{quadratic}`").replace("`linear`", f"`{linear}`")
        raise type(error)(text) from error
    problem.variable_names = labels
    return problem


def is_number(value: Any) -> bool:
    """Whether it is a real number; a string that reads like one is none."""
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return not isinstance(value, str | bytes)


def count_positions(names: str, used: Collection[int], labels: str) -> int:
    """How many positions there are up to the largest one used; refused where hardly any is used."""
    n, named = 1 + max(used, default=-1), len(set(used))
    if n > MANY and n > SPARSE * named:
        raise ValueError(
            f"{names} must name one in {SPARSE} of the positions up to the largest, for all of them are "
            f"added; got {named} of 0, ..., {n - 1}. {labels}"
        )
    return n


def _check_kind(name: str, Q: Any) -> None:
    if Q is None:
        raise TypeError(f"`{name}` must be a matrix or a dict {{(i, j): value}}; got None")
    rows = Q if isinstance(Q, list) else []
    triples = all(isinstance(row, tuple | list) and len(row) == 3 for row in rows)
    if rows and triples and (len(rows) != 3 or isinstance(rows[0], tuple)):
        i, j, value = rows[0]
        raise TypeError(
            f"`{name}` must be a matrix or a dict {{(i, j): value}}; got a list of triples: write "
            f"{{({i!r}, {j!r}): {value!r}}}, or numpy.array({name}) if it is a matrix"
        )


def _indexed(Q: Any, h: Any, quadratic: str, linear: str) -> tuple[tuple[Any, ...], tuple[Any, Any]]:
    """Labels in the order they come, and both dicts over their places; no labels where all are indices."""
    _check_entries(quadratic, Q, pairs=True)
    _check_entries(linear, h, pairs=False)
    if isinstance(Q, dict) and h is not None and not isinstance(h, dict) and not _all_indices(_keys(Q)):
        raise TypeError(f"`{linear}` must be a dict of labels, as `{quadratic}` is; got {shown(h)}")
    if not isinstance(Q, dict) or not isinstance(h, dict | type(None)):
        return (), (Q, h)
    keys = [*(h or {}), *_keys(Q)]
    if _all_indices(keys):
        return (), (Q, h)
    labels = tuple(dict.fromkeys(keys))
    place = {label: i for i, label in enumerate(labels)}
    pairs: dict[tuple[int, int], float] = {}
    for (u, v), value in Q.items():
        pairs[place[u], place[v]] = pairs.get((place[u], place[v]), 0.0) + value
    pairs.setdefault((len(labels) - 1, len(labels) - 1), 0.0)
    return labels, (pairs, None if h is None else {place[v]: value for v, value in h.items()})


def _keys(Q: dict[Any, Any]) -> list[Any]:
    return [key for pair in Q for key in pair]


def _all_indices(keys: Iterable[Any]) -> bool:
    return all(isinstance(key, int | np.integer) and key >= 0 for key in keys)


def _check_entries(name: str, entries: Any, pairs: bool) -> None:
    """Refuse a dict whose keys are not pairs, where they should be, or whose values are no numbers."""
    for key, value in entries.items() if isinstance(entries, dict) else ():
        if pairs and not (isinstance(key, tuple) and len(key) == 2):
            raise TypeError(f"`{name}` must have pairs (i, j) for keys; got {key!r}")
        if not is_number(value):
            raise TypeError(f"`{name}` must hold real numbers; {key!r} has {value!r}")


def _matrix(Q: Any, h: Any, names: tuple[str, str]) -> Any:
    """A matrix from {(i, j): value}, each key counting once; anything else as it is."""
    if not isinstance(Q, dict):
        return Q
    name, linear = names
    used = [*_keys(Q), *(h if isinstance(h, dict) else ())]
    if not used:
        raise ValueError(f"`{name}` must hold at least one entry; got an empty dict")
    both = f"`{name}` and `{linear}`" if isinstance(h, dict) else f"`{name}`"
    n = count_positions(both, used, "Where the numbers are labels, write strings: str(i)")
    row, col = (np.asarray([pair[k] for pair in Q], np.int64) for k in (0, 1))
    return sparse.coo_array((np.asarray(list(Q.values()), np.float64), (row, col)), shape=(n, n)).tocsc()


def _vector(h: Any, Q: Any, names: tuple[str, str]) -> Any:
    """An array from {i: value}, as long as Q has rows; anything else as it is."""
    if not isinstance(h, dict):
        return h
    n, (quadratic, linear) = (np.shape(Q) or (0,))[0], names
    for key in h:
        if not (_all_indices([key]) and key < n):
            raise ValueError(f"`{linear}` must have keys in [0, {n}), the rows of `{quadratic}`; got {key!r}")
    values = np.zeros(n)
    values[list(h)] = list(h.values())
    return values
