"""The problem: minimise sum_t w_t f_t(A_t x - b_t) + c'x + x'Qx over binary x."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from dcra._array import Array, Host, device_of, is_array, is_jax, is_numpy, namespace, to_numpy
from dcra.messages import shown, suggest
from dcra.model.checks import LARGEST, refuse_huge, refuse_masked
from dcra.model.constraints import Constraints, StatedRows
from dcra.model.logic import least_variables
from dcra.model.numbers import as_numbers
from dcra.model.operators import MatrixFree, Operator, watched
from dcra.model.quadratic import Quadratic, as_quadratic, lattice_step
from dcra.model.soft import SoftRows, split
from dcra.model.term import Term, vector
from dcra.model.watch import Watch
from dcra.named import load

CONFLICT_SECONDS = 5.0
"""What it may take to find out which constraints contradict each other, where some do."""

Domain = Literal["spin", "binary"]
DOMAINS: dict[str, tuple[float, float]] = {"spin": (-1.0, 1.0), "binary": (0.0, 1.0)}


class Problem:
    """Binary optimisation under losses that need not be smooth.

    minimise  sum_t w_t f_t(A_t x - b_t) + c'x + x'Qx + constant   over x in {-1,1}^n or {0,1}^n.

    Parameters
    ----------
    terms : Term or sequence of them
    linear : (n,) array, optional
        c.
    quadratic : (n, n) array, scipy.sparse matrix or LinearOperator, optional
        Q. Where it is not symmetric, (Q + Q')/2 is used, which gives the same values.
    constant : float
    domain : {"spin", "binary"}
    constraints : constraint, or sequence or mapping of them
        What x must satisfy besides: SciPy's LinearConstraint, `exactly`, `at_most`, `at_least`, `clause`,
        `one_of`, `implies`, or what it should satisfy at a price: `soft` of one of them. Keys of a mapping
        are their names. With constraints alone, any point that satisfies them is an answer.

    A subclass is a kind of problem: an ordinary one to every method, whose `specialist` knows better ways.

    Examples
    --------
    >>> import dcra
    >>> problem = dcra.Problem(
    ...     [dcra.Term("l1", [[1.0, 1.0, 1.0]], [2.0])],
    ...     quadratic=[[0, 1, 0], [0, 0, 0], [0, 0, 0]],
    ...     domain="binary",
    ...     constraints=dcra.at_most(2),
    ... )
    >>> problem.objective([1, 0, 1]), problem.objective([1, 1, 0])
    (0.0, 1.0)
    """

    constraint_kind: ClassVar[str] = "linear"
    variable_names: tuple[Any, ...] = ()
    """Names of the variables, where a file or a model has given them."""
    maximises: bool = False
    """Whether what was stated is the negative of this, to be maximised."""
    specialist: ClassVar[str] = ""
    """'module:object' of what "auto" asks first, a `dcra.search.specialists.Specialist`; none by default."""
    prover: ClassVar[str] = ""
    """'module:function' that "exact" asks for a plan first, given its engine and the compiled problem."""

    def __init__(
        self,
        terms: Term | Iterable[Term] = (),
        *,
        linear: Array | None = None,
        quadratic: Any = None,
        constant: float = 0.0,
        domain: str = "spin",
        constraints: Any = (),
    ) -> None:
        self.terms = _listed(terms)
        if not isinstance(domain, str) or domain not in DOMAINS:
            raise ValueError(suggest("domain", domain, DOMAINS) + _domain_of(domain))
        hard, wishes = split(constraints)
        if not self.terms and linear is None and quadratic is None:
            linear = np.zeros(_mentioned((*hard.values(), *(one.constraint for one in wishes.values()))))
        self.quadratic: Quadratic | None = None if quadratic is None else as_quadratic(quadratic)
        self.domain = domain
        if self.terms:
            self.n = self.terms[0].operator.shape[1]
        else:
            self.n = _length(linear) if self.quadratic is None else self.quadratic.n
        for i, term in enumerate(self.terms):
            if term.operator.shape[1] != self.n:
                raise ValueError(
                    f"all terms must have {self.n} columns like the first; term {i} has shape "
                    f"{term.operator.shape}"
                )
        if self.quadratic is not None and self.quadratic.n != self.n:
            raise ValueError(
                f"`quadratic` must have shape ({self.n}, {self.n}) to match `A` of shape "
                f"{self.terms[0].operator.shape}; got {self.quadratic.kept.shape}"
            )
        self.like = self._reference()
        self.home = self._home()
        self.linear = None if linear is None else vector("linear", linear, self.n, self.like)
        if self.linear is not None:
            refuse_huge("linear", self.linear, LARGEST / self.n)
        self.constant = float(constant)
        if not np.isfinite(self.constant):
            raise ValueError(f"`constant` must be finite; got {constant!r}")
        refuse_huge("constant", self.constant, LARGEST)
        self.constraints = self._checked(hard)
        self.soft = SoftRows(wishes, self.n, DOMAINS[domain]) if wishes else None
        if self.soft is not None:
            self.terms += tuple(self.soft.terms(self.like))

    def __repr__(self) -> str:
        parts = [f"{type(t.loss).__name__}{t.operator.shape}" for t in self.terms]
        parts += ["linear"] if self.linear is not None else []
        parts += ["quadratic"] if self.quadratic is not None else []
        rows = "" if self.constraints is None else f", {len(self.constraints)} constraints"
        return f"Problem({' + '.join(parts)}, {self.n} {self.domain} variables{rows})"

    @property
    def n_rows(self) -> int:
        """Rows of all terms together."""
        return sum(term.operator.shape[0] for term in self.terms)

    @property
    def n_constraints(self) -> int:
        """How many constraints x must satisfy, of the kind that `constraint_kind` names."""
        return 0 if self.constraints is None else len(self.constraints)

    @property
    def entries(self) -> int:
        """Entries of Q and all A_t together: the cost of one pass."""
        own = 0 if self.quadratic is None else self.quadratic.entries
        return own + sum(term.operator.entries for term in self.terms)

    @property
    def convex(self) -> bool:
        """Whether all losses are, so that a lower bound can be given."""
        return all(term.loss.convex for term in self.terms)

    def objective(self, x: Array) -> Any:
        """F(x) in float64: a float for x of shape (n,), an array of shape (k,) for (k, n)."""
        x = self.check_point("x", x)
        total = self.relaxed_objective(x)
        return float(total) if x.ndim == 1 else to_numpy(total)

    def relaxed_objective(self, x: Array) -> Any:
        """F anywhere: x of shape (..., n) in float64 and our array library, not checked."""
        xp = namespace(x)
        total = xp.zeros(x.shape[:-1], dtype=xp.float64, device=device_of(x)) + self.constant
        for term in self.terms:
            total = total + term.value(x)
        if self.linear is not None:
            total = total + x @ self.linear
        if self.quadratic is not None:
            total = total + self.quadratic.value(x)
        return total

    def by_name(self, x: Array) -> dict[Any, int]:
        """The values of a point by the names of the variables; x0, x1, ... where they have none."""
        names = self.variable_names or tuple(f"x{j}" for j in range(self.n))
        return dict(zip(names, to_numpy(x).astype(int).tolist(), strict=True))

    def violation(self, x: Array) -> Any:
        """By how much the worst constraint is violated, 0 within the slack of its row.

        A float for x of shape (n,), (k,) for (k, n).
        """
        x = to_numpy(self.check_point("x", x))
        if self.constraints is None:
            return 0.0 if x.ndim == 1 else np.zeros(len(x))
        worst = self.constraints.violation(x)
        return float(worst) if x.ndim == 1 else worst

    @property
    def value_at_ones(self) -> float:
        """F(e), for which no further pass over A is needed."""
        total = self.constant + (
            0.0 if self.linear is None else float(namespace(self.linear).sum(self.linear))
        )
        if self.quadratic is not None:
            total += float(namespace(self.like).sum(self.quadratic.row_sums))
        return total + sum(float(t.value_at(t.operator.row_sums - t.b)) for t in self.terms)

    def check_point(self, name: str, x: Array) -> Array:
        """`x` in float64 and our array library, or an error if it is not a point of the domain."""
        xp = namespace(self.like)
        refuse_masked(name, x)
        if is_array(x) and not is_numpy(x):
            x = to_numpy(x)
        try:
            host = np.asarray(x, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise TypeError(f"`{name}` must hold numbers; got {shown(x)}") from error
        if host.ndim not in (1, 2) or host.shape[-1] != self.n:
            raise ValueError(f"`{name}` must have shape ({self.n},) or (k, {self.n}); got {host.shape}")
        low, high = DOMAINS[self.domain]
        if not np.all((host == low) | (host == high)):
            wrong = host[(host != low) & (host != high)][0]
            raise ValueError(
                f"`{name}` must hold only {low:g} and {high:g} for the {self.domain} domain; found {wrong:g}"
            )
        return host if is_numpy(self.like) else xp.asarray(host, device=device_of(self.like))

    def replace(self, **changes: Any) -> Problem:
        """The same kind of problem with other parts, named as in the constructor, checked again."""
        twin = copy(self)
        for known in ("integer_valued", "value_step"):
            twin.__dict__.pop(known, None)
        Problem.__init__(twin, **(self._parts() | changes))
        if "constraints" not in changes and twin.n == self.n:
            twin.soft = self.soft  # terms of the objective already
        return twin

    def as_searched(self) -> Problem:
        """What method "auto" is given: itself, but for kinds with a lighter form for their specialist."""
        return self

    def narrowable(self) -> Problem:
        """What variables can be fixed in: itself, but for kinds whose penalties are for all of them."""
        return self

    def _parts(self) -> dict[str, Any]:
        return {
            "terms": self.terms,
            "linear": self.linear,
            "quadratic": self.quadratic,
            "constant": self.constant,
            "domain": self.domain,
            "constraints": () if self.constraints is None else self.constraints.stated(),
        }

    def watched(self, watch: Watch) -> Problem:
        """The same problem; where A or Q is known by products alone, these look at the clock."""
        slow = [isinstance(t.operator, MatrixFree) for t in self.terms]
        coupled = self.quadratic is not None and self.quadratic.matrix_free
        if not any(slow) and not coupled:
            return self
        twin = copy(self)
        twin.terms = tuple(t.watched(watch) if s else t for t, s in zip(self.terms, slow, strict=True))
        if self.quadratic is not None and coupled:
            twin.quadratic = Quadratic(watched(self.quadratic.kept, watch))
        return twin

    def on_host(self) -> Problem:
        """The same problem in NumPy arrays; A is shared where the memory is the same."""
        if is_numpy(self.like):
            return self
        return self.replace(
            terms=[Term(t.loss, t.operator.on_host(), to_numpy(t.b), _on_host(t.weight)) for t in self.terms],
            linear=None if self.linear is None else to_numpy(self.linear),
            quadratic=None if self.quadratic is None else self.quadratic.operator.on_host(),
        )

    def to_spin(self) -> Problem:
        """The same problem over {-1,1}^n, by x = (s + 1)/2."""
        if self.domain == "spin":
            return self
        linear = None if self.linear is None else 0.5 * self.linear
        offset = 0.0 if self.linear is None else 0.5 * float(namespace(self.linear).sum(self.linear))
        quadratic = None
        if self.quadratic is not None:
            quadratic = self.quadratic.scaled(0.25)
            sums = self.quadratic.row_sums
            linear = 0.5 * sums if linear is None else linear + 0.5 * sums
            offset += 0.25 * float(namespace(sums).sum(sums))
        return self.replace(
            terms=[self._spin_term(term) for term in self.terms],
            linear=linear,
            quadratic=quadratic,
            constant=self.constant + offset,
            domain="spin",
            constraints=self._spin_constraints(),
        )

    def _spin_term(self, term: Term) -> Term:
        """f(A (s + 1)/2 - b) as a term in s."""
        shift = term.residual(_move(np.ones(self.n), self.like))  # A e - b
        return Term(term.loss, term.operator.scaled(0.5).A, 0.5 * (term.b - shift), term.weight)

    def _spin_constraints(self) -> Any:
        """G x in [low, high] as G s in [2 low - G e, 2 high - G e]."""
        if self.constraints is None:
            return ()
        rows, ones = self.constraints, self.constraints.activity(np.ones(self.n))
        return StatedRows(rows.G, 2 * rows.low - ones, 2 * rows.high - ones, rows.names, 2 * rows.slack)

    @cached_property
    def integer_valued(self) -> bool:
        """Whether F is known to be an integer at every point of the domain."""
        from dcra.model.integrality import has_whole_values

        return has_whole_values(self)

    @cached_property
    def value_step(self) -> float | None:
        """What all values of F differ by whole multiples of; None with losses, or where nothing is known."""
        if self.terms or self.quadratic is None:
            return None
        linear = None if self.linear is None else to_numpy(self.linear)
        return lattice_step(self.quadratic, linear, self.domain)

    def _checked(self, given: dict[str, Any]) -> Constraints | None:
        """The constraints as rows; contradictions that are plain to see are refused."""
        if not given:
            return None
        from dcra.model.infeasibility import Contradiction, refuse_contradictions

        constraints = Constraints(given, self.n, DOMAINS[self.domain])
        try:
            refuse_contradictions(constraints)
        except Contradiction as error:
            clash = load("dcra.exact.conflicts:conflict_names")(constraints, CONFLICT_SECONDS)
            if len(clash) < 2:
                raise
            names = ", ".join(f"`{name}`" for name in clash)
            raise Contradiction(f"{error}. What cannot hold together: {names}") from None
        return constraints

    def _home(self) -> Array:
        """An array that lies where answers belong: beside A or Q, which may be JAX's and pass for NumPy's."""
        form = self.quadratic
        found = [term.A for term in self.terms if is_jax(term.A)]
        found += [form.home] if form is not None and form.home is not None else []
        return found[0] if found else self.like

    def _reference(self) -> Array:
        """An array whose library, device and float type all answers take."""
        operators = [t.operator for t in self.terms]
        operators += [] if self.quadratic is None else [self.quadratic.kept]
        libraries = {_library(operator) for operator in operators}
        if len(libraries) > 1:
            raise TypeError(f"all terms must use one array library; got {', '.join(sorted(libraries))}")
        matrices = [t.operator.A for t in self.terms if not isinstance(t.operator, MatrixFree)]
        if self.quadratic is not None and self.quadratic.like is not None:
            matrices.append(self.quadratic.like)
        if libraries <= {"numpy"}:
            return np.empty((0, 0), np.result_type(*(A.dtype for A in matrices)) if matrices else np.float64)
        wide = [A for A in matrices if A.dtype == namespace(A).float64]
        return (wide or matrices)[0][:0, :0]


def _listed(terms: Any) -> tuple[Term, ...]:
    listed = tuple(terms) if isinstance(terms, Iterable) else (terms,)
    for term in listed:
        if not isinstance(term, Term):
            raise TypeError(f"`terms` must hold dcra.Term objects; got {type(term).__name__}")
    return listed


def _domain_of(values: Any) -> str:
    """A hint where the values of a variable are given in place of the domain's name."""
    given = list(values) if isinstance(values, set | frozenset | list | tuple) else []
    meant = [name for name, ends in DOMAINS.items() if given in ([*ends], [*reversed(ends)])]
    return f"; did you mean {meant[0]!r}?" if meant else ""


def _mentioned(constraints: tuple[Any, ...]) -> int:
    """Number of variables of a problem that has constraints alone."""
    n = max((least_variables(one) for one in constraints), default=0)
    if n == 0:
        raise ValueError(
            "a problem needs `terms`, `linear` or `quadratic`, or `constraints` that say how many variables "
            "there are; got none of them. `linear=np.zeros(n)` says it, too"
        )
    return n


def _length(linear: Any) -> int:
    """Number of variables of a problem that has no terms."""
    shape = np.shape(linear if is_array(linear) else as_numbers("linear", linear))
    if len(shape) != 1 or shape[0] == 0:
        raise ValueError(f"`linear` must have shape (n,), n at least 1; got {tuple(shape)}")
    return int(shape[0])


def _library(operator: Operator) -> str:
    """Name of A's array library; sparse matrices and LinearOperators are NumPy's."""
    return str(namespace(operator.like).__name__).rpartition(".")[2]


def _on_host(weight: float | Array) -> float | Host:
    return weight if isinstance(weight, float) else to_numpy(weight)


def _move(x: Host, like: Array) -> Array:
    xp = namespace(like)
    return xp.asarray(x, dtype=xp.float64, device=device_of(like))
