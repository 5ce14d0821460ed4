"""Array libraries to run tests on, a browser, and the profile of property tests."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

from dcra._array import to_numpy
from dcra._kernels import library

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as shells leave it to what runs in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("dcra", derandomize=True, deadline=None, max_examples=30)
settings.load_profile("dcra")

LIBRARIES = {
    "numpy": "numpy",
    "numpy-readonly": "numpy",
    "array-api-strict": "array_api_strict",
    "torch": "torch",
}


@dataclass(frozen=True)
class Backend:
    """An array library: `asarray` moves host data into it, `host` back to float64 NumPy."""

    name: str
    library: Any

    def asarray(self, x: Any, dtype: str = "float64") -> Any:
        array = self.library.asarray(np.array(x), dtype=getattr(self.library, dtype))
        if self.name == "numpy-readonly":
            array.flags.writeable = False
        return array

    def host(self, x: Any) -> Any:
        return np.asarray(to_numpy(x), np.float64)

    def is_ours(self, x: Any) -> bool:
        """Whether `x` is an array of this library."""
        return type(x).__module__.split(".")[0] == self.library.__name__


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, driven by playwright."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None or find_spec("playwright") is None:
        pytest.skip("needs Chromium and playwright")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as tools:
        made = tools.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield made
        made.close()


@pytest.fixture(scope="session", params=LIBRARIES)
def xp(request: pytest.FixtureRequest) -> Backend:
    """Every array library in turn; read-only NumPy proves that inputs are never written to."""
    module = LIBRARIES[request.param]
    if find_spec(module) is None:
        pytest.skip(f"{module} is not installed")
    return Backend(request.param, import_module(module))


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20240)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, Any, Any]:
    return (yield from skipped_without_loops())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    return (yield from skipped_without_loops())


def skipped_without_loops() -> Generator[None, Any, Any]:
    """Where there are no compiled loops, what fails for want of them is skipped; elsewhere nothing is."""
    try:
        return (yield)
    except Exception as error:
        if wants_loops(error):
            pytest.skip("needs the compiled loops")
        raise


def wants_loops(error: BaseException | None) -> bool:
    """Whether an error, or one that it came from, says what keeps the loops from being called."""
    if error is None or library.available():
        return False
    return library.why_not() in str(error) or wants_loops(error.__cause__ or error.__context__)


@pytest.fixture
def compiled_loops() -> None:
    """For what array code cannot reach in the starts of a test, or is a trait of the loops."""
    if not library.available():
        pytest.skip("needs the compiled loops")
