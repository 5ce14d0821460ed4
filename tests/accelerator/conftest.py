"""Tests that need a device skip elsewhere; the others run on any machine."""

from __future__ import annotations

import pytest

from dcra.accelerator import device
from dcra.auto import placement


@pytest.fixture
def there(monkeypatch):
    """A device, on which problems of any size are searched."""
    if missing := device.why_not():
        pytest.skip(missing)
    monkeypatch.setattr(placement, "REPLICA_ENTRIES", 0)
    monkeypatch.setattr(placement, "HOST_ENTRIES", 0)
    return device.library()
