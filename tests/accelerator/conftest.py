"""Tests of a device that is `there` skip elsewhere, or with DCRA_EMULATE=1 run on an `emulated` one."""

from __future__ import annotations

import os
import platform
import sys

import pytest

from dcra.accelerator import device, loader, rehearsal
from dcra.auto import placement


@pytest.fixture(autouse=True)
def arriving(monkeypatch):
    """With DCRA_RACECHECK=1 every lane says that a stage is read.

    compute-sanitizer does not see that one which does so after __syncwarp speaks for its warp.
    """
    if os.environ.get("DCRA_RACECHECK"):
        options = loader.options_of
        monkeypatch.setattr(loader, "options_of", lambda wanted: (*options(wanted), "-DARRIVING=32"))


@pytest.fixture
def emulated(monkeypatch, tmp_path):
    """The emulated device in CuPy's place; its `state` may be changed."""
    from . import emulator

    if emulator.COMPILER is None or platform.machine() != "x86_64":
        pytest.skip("kernels are emulated by g++ on x86-64")
    monkeypatch.setitem(sys.modules, "cupy", emulator)
    monkeypatch.setenv("CUPY_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(emulator, "state", emulator.State())
    monkeypatch.setattr(placement, "REPLICA_ENTRIES", 0)
    monkeypatch.setattr(placement, "HOST_ENTRIES", 0)
    monkeypatch.setattr(rehearsal, "_hold", lambda way, rehearse: None)  # nothing there takes time to be made
    forget()
    yield emulator
    forget()


def forget():
    """Forget which device there is, and its kernels."""
    for known in (device.why_not, device._properties, loader._load, rehearsal._folder):
        known.cache_clear()
    rehearsal._known.clear()
    rehearsal._asked.clear()


@pytest.fixture
def there(request, monkeypatch):
    """A device, on which problems of any size are searched."""
    if os.environ.get("DCRA_EMULATE"):
        return request.getfixturevalue("emulated")
    if missing := device.why_not():
        pytest.skip(missing)
    monkeypatch.setattr(placement, "REPLICA_ENTRIES", 0)
    monkeypatch.setattr(placement, "HOST_ENTRIES", 0)
    return device.library()
