"""Approximate message passing for A s = b + noise over spins, many right-hand sides or starts in lockstep.

Every spin keeps a mean m_j; every step sends the residual, corrected for its own echo (Onsager's term), back
through A' and turns the fields into new means:

    g = (b - A m + V g_old) / (V + noise),   V = sum_j c_j (1 - m_j^2) / M
    m = tanh(h + c_j m_j / (V + noise) + A'g)

with c_j the squared length of column j and h the field of the prior. The mean of A over rows is taken out of
A and b: a biased A would otherwise send all means the same way. What it says about the number of ones goes
into the prior (`density`), which the means then sharpen.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from dcra._array import Host, to_numpy
from dcra.apps.compressed_sensing.density import Density, estimate
from dcra.compiled.form import Compiled
from dcra.engines.base import Engine, Starts, State
from dcra.model.operators import DenseMatrix, MatrixFree, Operator, as_operator
from dcra.named import load

MAX_STEPS = 150
STILL = 1e-4
"""Means that move less have settled."""

SURE = 0.05
"""Share of the prior's variance below which signs are worth checking."""

FLOOR = 1e-9
"""Least V, relative to that of unknown spins."""

SHAKE = 0.15
"""Standard deviation of the random fields that tell one start from another."""

DAMPING = 0.3
"""Share of the old messages in every second of the later starts."""

BATCH = 16


@dataclass(frozen=True, eq=False)
class Channel:
    """A without its mean over rows: products, and the squared lengths of its columns."""

    operator: Operator

    @classmethod
    def of(cls, A: Any, dtype: Any = np.float32) -> Channel:
        return cls.around(as_operator(A), dtype)

    @classmethod
    def around(cls, operator: Operator, dtype: Any = np.float32) -> Channel:
        if isinstance(operator, DenseMatrix):
            return cls(DenseMatrix(np.asarray(to_numpy(operator.A), dtype)))
        return cls(operator)

    @property
    def rows(self) -> int:
        return self.operator.shape[0]

    @property
    def n(self) -> int:
        return self.operator.shape[1]

    @cached_property
    def row_sums(self) -> Host:
        sums: Host = np.asarray(self.operator.row_sums, np.float64)
        return sums

    @cached_property
    def squares(self) -> Host:
        """Squared lengths of the columns about their means; their average where only products are known."""
        ones = np.ones((1, self.rows), self.dtype)
        means = np.asarray(self.operator.adjoint(ones)[0], np.float64) / self.rows
        squares = np.asarray(self.operator.column_norms, np.float64) ** 2 - self.rows * means**2
        if isinstance(self.operator, MatrixFree):
            squares = np.full(self.n, squares.mean())
        return np.asarray(np.maximum(squares, 1e-12 * squares.max()), self.dtype)

    @property
    def dtype(self) -> Any:
        dtype = getattr(self.operator.A, "dtype", np.dtype(np.float64))
        return np.dtype(np.float32 if dtype == np.float32 else np.float64)

    @cached_property
    def spread(self) -> float:
        """Squared length of a row, on average, about its mean."""
        return max(float(np.sum(self.squares, dtype=np.float64)) / self.rows, 1e-300)

    def apply(self, X: Host) -> Host:
        return centred(np.asarray(self.operator.apply(X)))

    def adjoint(self, G: Host) -> Host:
        return np.asarray(self.operator.adjoint(centred(G)))


def centred(Z: Host) -> Host:
    """Z (k, M) without the mean of each row."""
    return np.asarray(Z - Z.mean(axis=1, keepdims=True))


@dataclass(eq=False)
class Prior:
    """Fields of the prior: atanh of a mean per right-hand side, and what tells starts apart."""

    density: Density
    shake: Host | float
    fixed: bool = False

    @classmethod
    def known(cls, mean: float, k: int, n: int) -> Prior:
        return cls(Density(np.full(k, mean), np.full(k, float(n))), 0.0, True)

    def fields(self, means: Host) -> Host:
        """(k, 1) or (k, n): the prior after one look at the means (k, n) of now."""
        first, strength = self.density
        if self.fixed:
            mean = first
        else:
            mean = (means.sum(axis=1) + strength * first) / (means.shape[1] + strength)
        limit = 1 - 1 / means.shape[1]
        fields: Host = np.arctanh(np.clip(mean, -limit, limit)).astype(means.dtype)[:, None]
        return fields + self.shake

    def keep(self, rows: Host) -> Prior:
        shake = self.shake if isinstance(self.shake, float) else self.shake[rows]
        return Prior(Density(self.density.mean[rows], self.density.strength[rows]), shake, self.fixed)


class Messages:
    """Means of k sets of spins that move together; rows that have settled are left where they are."""

    def __init__(
        self,
        channel: Channel,
        B: Host,
        prior: Prior,
        noise: float | Host,
        damping: float | Host = 0.0,
        learn_noise: bool = False,
    ) -> None:
        k = len(B)
        self.channel, self.prior, self.learn_noise = channel, prior, learn_noise
        self.B = np.asarray(B, channel.dtype)
        self.target = centred(self.B)
        self.noise = np.broadcast_to(np.asarray(noise, channel.dtype), (k,)).copy()
        self.damping = np.broadcast_to(np.asarray(damping, channel.dtype), (k,))
        start = prior.density.mean[:, None] * np.ones((1, channel.n))
        self.means = start.astype(channel.dtype)
        self.g = np.zeros((k, channel.rows), channel.dtype)
        self.settled = np.zeros(k, bool)
        self.steps = 0
        if learn_noise:
            self.noise = np.maximum(self.noise, 0.1 * self._variance(self.means))

    @property
    def doubt(self) -> Host:
        """Mean variance of the spins of each row: 0 where all are decided."""
        return np.asarray(np.mean(1 - self.means**2, axis=1))

    def step(self) -> None:
        """One exchange of messages for all rows that have not settled."""
        rows = np.flatnonzero(~self.settled)
        everything = rows.size == len(self.settled)
        pick = slice(None) if everything else rows
        m, g, damping = self.means[pick], self.g[pick], self.damping[pick][:, None]
        prior = self.prior if everything else self.prior.keep(rows)
        V = self._variance(m)[:, None]
        misfit = self.target[pick] - self.channel.apply(m) + V * g
        fresh, slope = self.answer(misfit, V, pick)
        if self.steps > 0:
            fresh += damping * (g - fresh)
        fields = self.channel.adjoint(fresh)
        fields += prior.fields(m)
        fields += m * (self.channel.squares * slope)
        new = np.tanh(fields)
        new += damping * (m - new)
        self.settled[pick] = np.abs(new - m).max(axis=1) < STILL
        self.means[pick], self.g[pick] = new, fresh
        self.steps += 1

    def answer(self, misfit: Host, V: Host, pick: Any) -> tuple[Host, Host]:
        """The messages (k, M) that misfits are answered with, and their slope (k, 1), the mean over rows."""
        noise = self.noise[pick][:, None]
        if self.learn_noise:
            share = noise / (V + noise)
            learned = share**2 * np.mean(misfit**2, axis=1, keepdims=True) + V * share
            self.noise[pick] = np.maximum(learned, FLOOR * self.channel.spread)[:, 0]
        return misfit / (V + noise), 1 / (V + noise)

    def signs(self) -> Host:
        return np.where(self.means > 0, 1.0, -1.0)

    def matched(self) -> Host:
        """Which rows' signs solve A s = b up to what the float type can tell."""
        likely = np.flatnonzero(self.doubt < SURE)
        exact = np.zeros(len(self.settled), bool)
        if likely.size:
            S = self.signs()[likely].astype(self.channel.dtype)
            gap = np.abs(np.asarray(self.channel.operator.apply(S)) - self.B[likely]).max(axis=1)
            eps = float(np.finfo(self.channel.dtype).eps)
            size = np.abs(self.B).max() + float(np.sqrt(self.channel.squares.max()))
            exact[likely] = gap <= 8 * eps * np.sqrt(self.channel.n) * size
        return exact

    def _variance(self, m: Host) -> Host:
        V = (1 - m * m) @ self.channel.squares / self.channel.rows
        return np.asarray(np.maximum(V, FLOOR * self.channel.spread))


@dataclass(frozen=True)
class MessagePassing(Engine):
    """Message passing as an engine; the first start is plain, later ones lean towards random fields.

    Parameters
    ----------
    mean : float, optional
        Mean of the spins; estimated from the measurements when not given.
    noise : float
        Variance of the error of the measurements, in their own units.
    learn_noise : bool
        Estimate that variance along with the means.
    wary : bool
        Expect errors of two sizes, both unknown: see `gross`.
    """

    mean: float | None = None
    noise: float = 0.0
    learn_noise: bool = False
    wary: bool = False
    name: ClassVar[str] = "messages"

    def batch(self, compiled: Compiled) -> int:
        return BATCH

    def start(self, compiled: Compiled, starts: Starts) -> MessageState:
        return MessageState(self, compiled, starts)


class MessageState(State):
    """Start 0 runs alone, for it is mostly enough; the others of its batch follow together."""

    def __init__(self, engine: MessagePassing, compiled: Compiled, starts: Starts) -> None:
        self.engine, self.compiled = engine, compiled
        self.channel = channel_of(compiled)
        self.spins = np.ones((starts.count, compiled.n))
        last = starts.first + starts.count
        alone = [range(1), range(1, last)] if starts.first == 0 else [range(starts.first, last)]
        self.waiting = [part for part in alone if len(part)]
        self.first, self.seed = starts.first, starts.seed
        self._steps = 0
        self.run, self.part = self._begin()

    def _begin(self) -> tuple[Messages, range]:
        part = self.waiting.pop(0)
        piece = self.compiled.pieces[0]
        B = np.repeat(np.asarray(to_numpy(piece.b), np.float64)[None], len(part), axis=0)
        noise = self.engine.noise / piece.unit**2
        prior = prior_of(self.channel, B, self.engine.mean, noise, self._shakes(part))
        damping = np.where(np.arange(part.start, part.stop) % 2 == 1, DAMPING, 0.0)
        kind = load("dcra.apps.compressed_sensing.gross:WaryMessages") if self.engine.wary else Messages
        return kind(self.channel, B, prior, noise, damping, self.engine.learn_noise), part

    def _shakes(self, part: range) -> Host:
        draws = [np.random.default_rng((self.seed, i)).standard_normal(self.channel.n) for i in part]
        size = np.where(np.asarray(part) == 0, 0.0, SHAKE)
        return (size[:, None] * np.stack(draws)).astype(self.channel.dtype)

    def advance(self, work: int) -> None:
        per_step = 2 * self.compiled.work_per_pass * len(self.part)
        for _ in range(max(1, work // per_step)):
            if self.done:
                return
            self.run.step()
            self._steps += len(self.part)
            if self.run.steps % 3 == 0 or self.run.settled.all():
                self._look()

    def _look(self) -> None:
        exact = self.run.matched()
        over = self.run.settled.all() or self.run.steps >= MAX_STEPS
        if exact.any() or over:
            self.spins[[i - self.first for i in self.part]] = self.run.signs()
            if exact.any():
                self.spins[:] = self.run.signs()[np.argmax(exact)]
                self.waiting = []
            if self.waiting:
                self.run, self.part = self._begin()
            else:
                self.part = range(0)

    @property
    def done(self) -> bool:
        return len(self.part) == 0

    @property
    def steps(self) -> int:
        return self._steps

    def candidates(self) -> Host:
        if not self.done:
            self.spins[[i - self.first for i in self.part]] = self.run.signs()
        return self.spins


def prior_of(channel: Channel, B: Host, mean: float | None, noise: float, shake: Host | float = 0.0) -> Prior:
    """The prior with the mean that is known, or with the one that the measurements B suggest."""
    if mean is not None:
        return Prior(Prior.known(mean, len(B), channel.n).density, shake, fixed=True)
    return Prior(estimate(B, channel.row_sums, channel.spread, noise), shake)


def channel_of(compiled: Compiled) -> Channel:
    """The channel of a compiled problem, made once."""
    cache = compiled.__dict__
    if "_channel" not in cache:
        cache["_channel"] = Channel.around(compiled.pieces[0].operator)
    channel: Channel = cache["_channel"]
    return channel
