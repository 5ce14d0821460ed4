"""Supervised hashing as a scikit-learn estimator."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from dcra.apps._sharing import SharesExecutor
from dcra.apps.hashing.features import Features
from dcra.apps.hashing.linear_hash import LinearHash
from dcra.apps.hashing.relevance import relevance_table
from dcra.apps.hashing.rounds import Alternation, HashingModel, Report
from dcra.apps.hashing.starts import random_codes, random_coefficients, separated_codes
from dcra.apps.hashing.targets import Targets, TargetTable
from dcra.apps.hashing.xstep import XStep, check_solver
from dcra.engines.base import Engine
from dcra.losses import L1, Huber, Loss, SquaredL2
from dcra.messages import suggest

NUMBER = (int, float, np.integer, np.floating)
LOSSES = ("l1", "squared", "huber")
TARGETS = ("relevance", "labels", "features")
W_STEPS = ("accelerated", "huber-descent")
STARTS = ("separated", "random")


class SupervisedHashing(SharesExecutor, LinearHash):
    """Binary codes X (n, r) from which the labels can be read off linearly, and a hash function for queries.

    minimise  sum_i f(W x_i + w - y_i) + delta/2 |W|^2 + nu (|X - Phi P|^2 + ridge |P|^2)

    over signs X, W, the intercept w and P: the paper's model, where f is the l1 norm, nu = 0 and there is no
    intercept. y_i is the target of sample i (its labels, say), phi_i its features. Algorithm 3 alternates
    between W and X; all codes are found by one `dcra.minimize_batch` call, and no code is replaced by a worse
    one. A new sample gets the code sign(P'phi).

    Parameters
    ----------
    n_bits : int
        r.
    loss : {"l1", "squared", "huber"}
        f.
    threshold : float
        Where loss "huber" turns from squares to absolute values.
    delta : float, optional
        Weight of |W|^2 / 2, positive. The default for labels is n r/d, for targets of d numbers: just below
        the largest at which words of d classes are still fitted exactly. The more it is, the more codes must
        be as far apart as their targets are. The default for features, which have any scale, is 1.
    nu : float
        Weight of the tie between codes and hash function. At 0 samples with equal labels get equal codes.
    target : {"relevance", "labels", "features"}
        What the codes are to reproduce: which samples share labels, the labels (0 and 1, the paper's), or the
        samples themselves (no y needed). With one class per sample the first two are the same.
    fit_intercept : bool
    feature_map : {"rbf", "linear"} or transformer
        Samples are scaled to unit length, then "rbf" takes kernels to random samples (`AnchorKernel`); any
        scikit-learn transformer, `Nystroem` for example, can be given instead. It is fitted to at most 10,000
        samples. A constant is always added.
    n_anchors, sigma
        Of "rbf".
    ridge : float
        Of the hash function.
    max_rounds : int
    tol : float
        End when a round lowers the objective by less than this share.
    solver : str or Engine
        Of the X-step: "auto", "dcra", or any other method of `dcra.minimize`.
    w_step : {"accelerated", "huber-descent"}
        The second is the paper's: gradient steps of length 1/(n r/mu + delta). The objective may then rise by
        the smoothing error, d n mu / 2 at most; with the first it never does.
    smoothing : float
        mu of "huber-descent".
    start : {"separated", "random"}
        What to begin with: codes as far apart as the targets are, or random codes improved for a random W.
        With few classes it decides most, for the W-step fits any distinct codes.
    random_state : int, RandomState instance or None
    n_jobs : int, optional
        Threads, in scikit-learn's sense. The codes do not depend on it.
    executor : dask.distributed.Client or concurrent.futures.Executor, optional
        Who improves codes, as in `dcra.minimize_batch`: in chunks of 4096 distinct samples, which may give
        other codes than all at once. Clones share it.
    progress : bool
        Print a line per round, on a terminal.

    Attributes
    ----------
    codes_ : (n, n_bits) array of int8
        The learned codes of the training samples, -1 and 1.
    W_ : (d, n_bits) array
    intercept_ : (d,) array
    projection_ : (m + 1, n_bits) array
        P; the last row belongs to the constant.
    feature_map_ : transformer
    objective_path_ : list of float
        The objective after every W-step and every X-step that changed something.
    n_iter_ : int
        Rounds made.
    status_ : Status
        "interrupted" after Ctrl-C, when codes and hash function are the best so far, else "converged".
    classes_ : (c,) array
        Where y has one class per sample.

    Examples
    --------
    >>> import numpy as np
    >>> from dcra.apps import SupervisedHashing
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(60) % 3
    >>> X = np.eye(3)[y] + 0.1 * rng.normal(size=(60, 3))
    >>> model = SupervisedHashing(8, feature_map="linear", random_state=0).fit(X, y)
    >>> bool((model.transform(X) == model.codes_).all())
    True
    """

    def __init__(
        self,
        n_bits: int = 32,
        *,
        loss: str = "l1",
        threshold: float = 1.0,
        delta: float | None = None,
        nu: float = 0.0,
        target: str = "relevance",
        fit_intercept: bool = True,
        feature_map: Any = "rbf",
        n_anchors: int = 1000,
        sigma: float = 0.4,
        ridge: float = 1e-2,
        max_rounds: int = 5,
        tol: float = 1e-4,
        solver: str | Engine = "auto",
        w_step: str = "accelerated",
        smoothing: float = 0.1,
        start: str = "separated",
        random_state: Any = None,
        n_jobs: int | None = None,
        progress: bool = False,
        executor: Any = None,
    ) -> None:
        self.n_bits = n_bits
        self.loss = loss
        self.threshold = threshold
        self.delta = delta
        self.nu = nu
        self.target = target
        self.fit_intercept = fit_intercept
        self.feature_map = feature_map
        self.n_anchors = n_anchors
        self.sigma = sigma
        self.ridge = ridge
        self.max_rounds = max_rounds
        self.tol = tol
        self.solver = solver
        self.w_step = w_step
        self.smoothing = smoothing
        self.start = start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress
        self.executor = executor

    def _needs_labels(self) -> bool:
        return self.target != "features"

    def _learn(self, features: Features, table: TargetTable | None, seed: int) -> None:
        targets = self._targets(features, table)
        x_step = XStep(self._loss(), float(self.nu), self.solver, seed, self._jobs, self.executor)
        model = HashingModel(
            targets, features, x_step, self._delta(targets), float(self.ridge), self.fit_intercept
        )
        W = None
        if self.start == "random":
            X = random_codes(features.rows.n, self.n_bits, seed)
            W = random_coefficients(targets.d, self.n_bits, self.fit_intercept, seed)
        else:
            X = separated_codes(targets, self.n_bits, seed, self._jobs)
        smoothing = self.smoothing if self.w_step == "huber-descent" else 0.0
        fitted = Alternation(self.max_rounds, self.tol, smoothing).run(model, X, W, self._report())
        self.codes_ = fitted.X
        self.W_, self.intercept_ = model.split(fitted.W)
        self.projection_ = fitted.P
        self.objective_path_ = fitted.path
        self.n_iter_ = fitted.n_rounds

    def _targets(self, features: Features, table: TargetTable | None) -> Targets:
        if table is None:
            return features.rows
        return table if self.target == "labels" else relevance_table(table)

    def _delta(self, targets: Targets) -> float:
        if self.delta is not None:
            return float(self.delta)
        return targets.n * self.n_bits / targets.d if isinstance(targets, TargetTable) else 1.0

    def _loss(self) -> Loss:
        if self.loss == "huber":
            return Huber(self.threshold)
        return L1() if self.loss == "l1" else SquaredL2()

    def _report(self) -> Report:
        from dcra.progress import terminal

        console = terminal() if self.progress else None
        if console is None:
            return lambda k, value, changed: None
        return lambda k, value, changed: console.print(
            f"round {k}: objective {value:.6g}, {changed} codes changed"
        )

    def _check_options(self) -> None:
        super()._check_options()
        for name, value, allowed in (
            ("loss", self.loss, LOSSES),
            ("target", self.target, TARGETS),
            ("w_step", self.w_step, W_STEPS),
            ("start", self.start, STARTS),
        ):
            if value not in allowed:
                raise ValueError(suggest(name, value, allowed))
        for name in ("delta", "ridge", "smoothing", "threshold"):
            value = getattr(self, name)
            if not (name == "delta" and value is None) and not (
                isinstance(value, NUMBER) and 0 < value < inf
            ):
                raise ValueError(f"`{name}` must be positive and finite; got {value!r}")
        if not (isinstance(self.nu, NUMBER) and 0 <= self.nu < inf):
            raise ValueError(f"`nu` must be finite and not negative; got {self.nu!r}")
        if not isinstance(self.max_rounds, int | np.integer) or self.max_rounds < 1:
            raise ValueError(f"`max_rounds` must be a positive integer; got {self.max_rounds!r}")
        check_solver(self.solver)
