"""Who carries out the sweeps over blocks: plain array code or, with torch on CUDA, recorded graphs.

The arithmetic is `block.step` either way. Started one by one, its dozen kernels take longer to launch than to
run; a recording of them is launched at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dcra._array import Array, Host, is_torch, namespace
from dcra.compiled.form import Compiled
from dcra.compiled.piece import Smoothing
from dcra.engines.blocks import Block, step, sweep
from dcra.engines.rule import Rule


class Runner:
    """Points X (k, n), their residuals, and where columns were before their last step."""

    def __init__(
        self, compiled: Compiled, blocks: list[Block], X: Array, delta: Smoothing, rule: Rule
    ) -> None:
        self.compiled, self.blocks, self.delta, self.rule = compiled, blocks, delta, rule
        self.X, self.Z, self.before = X, compiled.residual(X), namespace(X).asarray(X, copy=True)

    def sweep(self, order: Host, rho: Array) -> None:
        """One pass over all blocks."""
        point = (self.X, self.Z, rho, self.delta, self.rule, self.before)
        self.X, self.Z, self.before = sweep(self.compiled, self.blocks, order, *point)

    def refresh(self) -> None:
        """Compute the residuals anew."""
        self.Z = self.compiled.residual(self.X)


class GraphRunner(Runner):
    """A CUDA graph for each block, which reads and writes the same memory at every replay."""

    def __init__(
        self, compiled: Compiled, blocks: list[Block], X: Array, delta: Smoothing, rule: Rule
    ) -> None:
        import torch

        super().__init__(compiled, blocks, X.clone(), delta, rule)
        self.rho = torch.zeros((X.shape[0], 1), dtype=X.dtype, device=X.device)
        aside = torch.cuda.Stream(X.device)  # libraries allocate at first use, which cannot be recorded
        aside.wait_stream(torch.cuda.current_stream(X.device))
        with torch.cuda.stream(aside):
            for block in {block.hi - block.lo: block for block in blocks}.values():
                self._step(block)
        torch.cuda.current_stream(X.device).wait_stream(aside)
        self.graphs = [torch.cuda.CUDAGraph() for _ in blocks]
        pool = torch.cuda.graph_pool_handle()
        with _quick_products():
            for graph, block in zip(self.graphs, blocks, strict=True):
                with torch.cuda.graph(graph, pool=pool):
                    self._step(block)
        self.X.copy_(X)
        self.before.copy_(X)
        self.refresh()

    def sweep(self, order: Host, rho: Any) -> None:
        self.rho.copy_(rho)
        for q in order:
            self.graphs[q].replay()

    def refresh(self) -> None:
        self.Z.copy_(self.compiled.residual(self.X))

    def _step(self, block: Block) -> None:
        columns = slice(block.lo, block.hi)
        point = (self.X, self.Z, self.rho, self.delta, self.rule, self.before)
        new, Z = step(self.compiled, block, *point)
        self.before[:, columns] = self.X[:, columns]
        self.X[:, columns] = new
        self.Z.copy_(Z)


@contextmanager
def _quick_products() -> Iterator[None]:
    """float32 products on tensor cores in what is recorded now; residuals are refreshed without them."""
    import torch

    chosen = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = chosen


def runner_for(compiled: Compiled, blocks: list[Block], X: Array, delta: Smoothing, rule: Rule) -> Runner:
    """Graphs where they can be recorded; a loss that talks to the host cannot be."""
    if is_torch(X) and X.is_cuda:
        try:
            return GraphRunner(compiled, blocks, X, delta, rule)
        except RuntimeError:
            pass
    return Runner(compiled, blocks, X, delta, rule)
