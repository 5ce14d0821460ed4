"""What an installation must do in an empty environment: solve, prove, and use its compiled loops."""

import numpy as np

import dcra
from dcra._kernels import library

rng = np.random.default_rng(0)
A = rng.standard_normal((30, 40))
result = dcra.minimize(A, A @ rng.choice([-1.0, 1.0], 40), time_limit=2.0, seed=0)
assert library.available(), library.why_not()
assert result.fun < 1e-9, result
assert dcra.apps.maxcut(np.ones((6, 6)) - np.eye(6), seed=0).weight == 9
print(f"dcra {dcra.__version__}, loops for {library.level()}: 2 passed, 0 failed")
