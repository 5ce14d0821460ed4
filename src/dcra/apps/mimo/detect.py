"""Detection of the symbols that were sent, from what was received."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dcra.apps.mimo.alphabets import Alphabet, choose, choose_by_huber, kind_of
from dcra.apps.mimo.constellations import Constellation
from dcra.apps.mimo.model import Received, check_frames, check_variance, prepared, received
from dcra.apps.mimo.parallel import Threads
from dcra.apps.mimo.robust import down_weighted, fit_robustly, residuals
from dcra.apps.mimo.search import (
    SMALL,
    DetectionEffort,
    Posterior,
    effort_for,
    fit_least_squares,
    fitted,
    sampled,
)
from dcra.losses import Loss, SquaredL2, as_loss
from dcra.result import Status
from dcra.search.checks import check_jobs, check_seconds, check_seed
from dcra.search.interrupts import on_interrupt
from dcra.search.threads import default_jobs, one_blas_thread

Host = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Detection:
    """What was most likely sent.

    Attributes
    ----------
    symbols : (n_send,) or (n_send, k) complex array
        Points of the constellation.
    bits : (..., bits per symbol) array of 0 and 1
        What they stand for: Gray bits, those of the real part first, unless `labels` or an alphabet says
        otherwise.
    spins : (n,) or (n, k) array of -1 and 1
        The unknowns of the template: natural-binary digits, all most significant ones first.
    fun : float or (k,) array
        The loss at the symbols, in float64; with `noise` for each antenna, that of the rows divided by its
        root.
    llrs : (..., bits per symbol) array, optional
        log P(bit = 0) - log P(bit = 1), in soft mode; none is much beyond 40.
    proven : bool or (k,) array
        Whether no other symbols have a smaller loss, proven by sphere search, or by enumeration.
    status, message : Status, str
        "optimal" where all frames are proven, else "converged"; "interrupted" after Ctrl-C, with the best
        that was known of every frame by then.
    seconds : float
    seed : int
    method : str
        The stages that were run, such as "k-best, sphere" or "matched filter, annealing, sampling"; under
        losses other than squares the method of `dcra.minimize`, "auto" or "enumerate".
    """

    symbols: Host
    bits: Host
    spins: Host
    fun: Any
    llrs: Host | None
    proven: Any
    status: Status
    seconds: float
    seed: int
    method: str

    @property
    def message(self) -> str:
        """The status in a sentence."""
        return self.status.message

    def __str__(self) -> str:
        frames = 1 if self.symbols.ndim == 1 else self.symbols.shape[1]
        return (
            f"{frames} frames of {self.symbols.shape[0]} symbols, mean loss {np.mean(self.fun):.6g}, "
            f"{np.count_nonzero(self.proven)} proven, {self.seconds:.3g} s "
            f"({self.method}; {self.status.value})"
        )


def detect(
    H: Any,
    y: Any,
    noise: Any = None,
    constellation: str | Constellation | Alphabet = "qpsk",
    loss: str | Loss = "squared",
    *,
    soft: bool = False,
    seed: int | None = None,
    n_jobs: int | None = None,
    labels: str | None = None,
    time_limit: float | None = None,
    executor: Any = None,
    chunk: int | None = None,
) -> Detection:
    """Symbols s with a small loss of Hs - y.

    Parameters
    ----------
    H : (n_receive, n_send) or (k, n_receive, n_send) complex array
        One channel for all frames, or one for each of k frames or subcarriers.
    y : (n_receive,) or (n_receive, k) complex array
        One frame, or one per column.
    noise : float or (n_receive,) array, optional
        The variance E|n_i|^2; one for each antenna, by whose root its row is divided first. Without it the
        answer is the frame of least loss that was found. With it, frames too large to be proven are decided
        beside the likeliest bits, which makes fewer errors. Soft answers without it rest on a guess.
    constellation : {"bpsk", "qpsk", "8psk", "16qam", "64qam", "256qam"} or Alphabet
        Of unit mean energy, by name in any case; or points of your own, by `mimo.alphabet`.
    loss : {"squared", "l1", "huber"} or Loss
        Of the real and imaginary parts: squares for normal noise (maximum likelihood), the others for
        impulsive noise. The threshold of "huber" comes from the residuals of an l1 fit.
    soft : bool
        Decide each bit by its own posterior probability and return log-likelihood ratios. For squares: the
        fewest wrong bits, where otherwise it is the most likely frame.
    seed, n_jobs
        As in `dcra.solve`. The answer does not depend on `n_jobs`.
    labels : {"gray", "3gpp"}, optional
        Which bits the points of a grid have: Gray bits, those of the real part first (the default), or those
        of 3GPP TS 38.211.
    time_limit : float, optional
        Seconds; frames that are left then have the best that is known of them, with status "time_limit".
    executor : dask.distributed.Client or concurrent.futures.Executor, optional
        Whose workers decide chunks of frames, each by one thread: see docs/scale.md.
    chunk : int, optional
        Frames that are decided together, as if they were all; where they have one channel, the answer
        depends on it. All of them by default, 256 with an executor.

    Returns
    -------
    Detection

    Examples
    --------
    >>> import numpy as np
    >>> from dcra.apps import mimo
    >>> rng = np.random.default_rng(0)
    >>> sent = mimo.transmit(mimo.iid_channel(8, 8, rng), 12.0, "16qam", frames=20, rng=rng)
    >>> found = mimo.detect(sent.H, sent.y, sent.noise, "16qam", seed=0)
    >>> found.symbols.shape, found.bits.shape, bool(found.proven.all())
    ((8, 20), (8, 20, 4), True)
    """
    begun = time.perf_counter()
    chosen = secrets.randbits(32) if seed is None else check_seed(seed)
    limit = check_seconds("time_limit", time_limit)
    if (executor is not None or chunk is not None) and np.ndim(y) == 2 and np.ndim(H) in (2, 3):
        if limit is not None:
            raise ValueError("`time_limit` does not go with `executor` or `chunk`: leave one of them out")
        from dcra.apps.mimo.chunks import detect_chunks

        about = {"noise": noise, "constellation": constellation, "loss": loss, "soft": soft}
        about |= {"seed": chosen, "labels": labels}
        return detect_chunks(H, y, about, n_jobs, executor, chunk, begun)
    threads = Threads(check_jobs("n_jobs", n_jobs) or default_jobs(), limit, begun)
    request = Request(kind_of(constellation, labels), loss, soft, chosen, threads)
    H, y, noise, short = prepared(H, y, noise)
    with one_blas_thread(), on_interrupt(threads.interrupt):
        if H.ndim == 3:
            found = together([_detect(one, y[:, f], noise, request, begun) for f, one in enumerate(H)])
        else:
            found = _detect(H, y, noise, request, begun)
    return replace(found, seconds=time.perf_counter() - begun, symbols=short(found.symbols))


class Request(NamedTuple):
    """What is asked of each channel."""

    kind: Constellation | Alphabet
    loss: str | Loss
    soft: bool
    seed: int
    threads: Threads


def _detect(H: Host, y: Host, noise: Any, request: Request, begun: float) -> Detection:
    """The frames y (n_receive,) or (n_receive, k) of one channel."""
    kind, threads = request.kind, request.threads
    if isinstance(kind, Alphabet):
        check_frames(H, y)
        check_variance(noise)
        return _choose(H, y, request, begun)
    model, single = received(H, y, kind, noise)
    found = _decide(model, request.loss, request.soft, request.seed, threads)
    status = threads.why or _ending(found.sure)
    return _pack(model, found, status, single, time.perf_counter() - begun, request.seed)


def _choose(H: Host, y: Host, request: Request, begun: float) -> Detection:
    """Frames of points that are no grid."""
    kind, threads = request.kind, request.threads
    assert isinstance(kind, Alphabet)
    if request.soft:
        raise ValueError("`soft=True` needs a constellation that is a grid, such as 16qam")
    single, Y = y.ndim == 1, np.atleast_2d(y.T)
    if request.loss == "huber":
        found = choose_by_huber(H, Y, kind, request.seed, threads)
    else:
        found = choose(H, Y, kind, as_loss(request.loss), request.seed, threads)

    def turned(x: Host) -> Host:
        return x[0] if single else np.moveaxis(x, 0, 1)

    spins = np.where(np.arange(kind.q) == found.index[..., None], 1.0, -1.0).reshape(len(found.index), -1)
    return Detection(
        symbols=turned(kind.points[found.index]),
        bits=turned(kind.table[found.index]),
        spins=turned(spins),
        fun=float(found.fun[0]) if single else found.fun,
        llrs=None,
        proven=bool(found.sure[0]) if single else found.sure,
        status=threads.why or found.status,
        seconds=time.perf_counter() - begun,
        seed=request.seed,
        method=found.method,
    )


def together(parts: list[Detection]) -> Detection:
    """Frames of several channels, one each, as one answer."""

    def joined(name: str) -> Host:
        return np.stack([getattr(part, name) for part in parts], axis=1)

    endings = [part.status for part in parts]
    ended = next(
        (s for s in (Status.INTERRUPTED, Status.TIME_LIMIT, Status.CONVERGED) if s in endings), endings[0]
    )
    return replace(
        parts[0],
        symbols=joined("symbols"),
        bits=joined("bits"),
        spins=joined("spins"),
        fun=np.array([part.fun for part in parts]),
        llrs=None if parts[0].llrs is None else joined("llrs"),
        proven=np.array([part.proven for part in parts]),
        status=ended,
        method=", ".join(dict.fromkeys(stage for part in parts for stage in part.method.split(", "))),
    )


class Decided(NamedTuple):
    """Levels (k, n), their losses (k,), log-likelihood ratios in soft mode, what is proven, what was run."""

    levels: Host
    fun: Host
    llrs: Host | None
    sure: Host
    stages: tuple[str, ...]


def _decide(model: Received, loss: str | Loss, soft: bool, seed: int, threads: Threads) -> Decided:
    effort = effort_for(model.n, len(model.y))
    measure = as_loss(loss)
    squared = isinstance(measure, SquaredL2)
    if squared:
        fit = fit_least_squares(model, effort, seed, threads)
    else:
        fit, measure = fit_robustly(model, loss, seed, threads)
    levels, sure, stages = fit
    llrs = None
    if soft or (squared and by_bits(model)):
        P, low = _posterior(model, levels, squared, effort, seed, threads)
        ratios = model.constellation.llrs(P)
        decided = model.constellation.from_bits((ratios < 0).astype(int))
        levels, llrs = (decided, ratios) if soft else (fitted(model, decided, low), None)
        sure, stages = np.zeros(len(model.y), bool), (*stages, "sampling")
    return Decided(levels, measure.value(residuals(model, levels)), llrs, sure, stages)


def by_bits(model: Received) -> bool:
    """Whether hard decisions, too, begin with the posterior of each bit: large frames of known noise.

    There the frame of least loss fits the noise, and has more wrong bits than those likeliest one by one. The
    loss of what was sent is that of samples of the posterior: hard decisions are the likeliest bits, moved
    until their loss is below it.
    """
    return model.noise is not None and model.n > SMALL


def _posterior(
    model: Received, levels: Host, squared: bool, effort: DetectionEffort, seed: int, threads: Threads
) -> Posterior:
    """The posterior of the levels around a good answer."""
    if squared:
        return sampled(model, levels, effort, seed, threads)
    frames = zip(down_weighted(model, levels), levels, strict=True)
    each = [sampled(one, start[None], effort, seed, threads) for one, start in frames]
    return Posterior(*(np.concatenate(parts) for parts in zip(*each, strict=True)))


def _ending(sure: Host) -> Status:
    return Status.OPTIMAL if sure.all() else Status.CONVERGED


def _pack(
    model: Received, found: Decided, status: Status, single: bool, seconds: float, seed: int
) -> Detection:
    """Frames to the second axis, or away if there is but one."""
    kind = model.constellation

    def turned(x: Host) -> Host:
        return x[0] if single else np.moveaxis(x, 0, 1)

    return Detection(
        symbols=turned(kind.symbols(found.levels)),
        bits=turned(kind.bits(found.levels)),
        spins=turned(kind.spins(found.levels)),
        fun=float(found.fun[0]) if single else found.fun,
        llrs=None if found.llrs is None else turned(found.llrs),
        proven=bool(found.sure[0]) if single else found.sure,
        status=status,
        seconds=seconds,
        seed=seed,
        method=", ".join(found.stages),
    )
