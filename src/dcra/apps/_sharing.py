"""Estimators whose clones share an executor: it cannot be copied, and need not be."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, Self


class SharesExecutor:
    """A scikit-learn estimator with a parameter `executor`."""

    executor: Any

    def __sklearn_clone__(self) -> Self:
        from sklearn.base import clone

        params: dict[str, Any] = self.get_params(deep=False)  # type: ignore[attr-defined]
        executor = params.pop("executor")
        twin: Self = type(self)(**{name: clone(value, safe=False) for name, value in params.items()})
        twin.executor = executor
        for name in ("_metadata_request", "_sklearn_output_config"):  # of set_fit_request, set_output
            if hasattr(self, name):
                setattr(twin, name, deepcopy(getattr(self, name)))
        return twin
