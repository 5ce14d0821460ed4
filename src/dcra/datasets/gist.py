"""GIST descriptors: how much of each frequency and direction an image holds in each part of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from dcra._array import Host

ORIENTATIONS = (8, 8, 8, 8)
BLOCKS = 4
PAD = 16
CONTRAST = 4.0
"""Cycles per image below which contrast is taken out."""
CHUNK = 500


def gist(images: Host, *, progress: bool = False) -> Host:
    """Descriptors (n, 512) of square images (n, s, s) or (n, s, s, 3), float32.

    The usual recipe: grey values, logarithm, local contrast normalised, then the mean magnitude of the answer
    of 4 scales x 8 directions of Gabor filters in each of 4 x 4 blocks; the filters are set up in the
    frequency domain, and images are mirrored beyond their border by 16 pixels.

    Parameters
    ----------
    images : array of 0..255, s a multiple of 4
    progress : bool
        Show a bar on a terminal.
    """
    images = np.asarray(images)
    if images.ndim not in (3, 4) or images.shape[1] != images.shape[2] or images.shape[1] % BLOCKS:
        raise ValueError(
            f"`images` must have shape (n, s, s) or (n, s, s, 3), s a multiple of {BLOCKS}; "
            f"got {images.shape}"
        )
    size = images.shape[1]
    filters = gabor_filters(size + 2 * PAD)
    out = np.empty((len(images), BLOCKS * BLOCKS * len(filters)), np.float32)
    for lo in _chunks(len(images), progress):
        grey = images[lo : lo + CHUNK].astype(np.float64)
        grey = grey.mean(axis=3) if grey.ndim == 4 else grey
        out[lo : lo + CHUNK] = _describe(_even_contrast(grey), filters)
    return out


def gabor_filters(size: int) -> Host:
    """Transfer functions (32, size, size): Gaussians in radius and direction around each centre frequency."""
    axis = np.fft.fftfreq(size) * size
    fx, fy = np.meshgrid(axis, axis)
    radius, angle = np.hypot(fx, fy), np.arctan2(fy, fx)
    filters = []
    for scale, directions in enumerate(ORIENTATIONS):
        centre = 0.3 / 1.85**scale * size
        sharpness = 16 * directions**2 / 32**2
        for direction in range(directions):
            turned = angle + np.pi / directions * direction
            turned = (turned + np.pi) % (2 * np.pi) - np.pi
            filters.append(
                np.exp(-10 * 0.35 * (radius / centre - 1) ** 2 - 2 * sharpness * np.pi * turned**2)
            )
    return np.array(filters)


def _even_contrast(grey: Host) -> Host:
    """Logarithm, less its local mean, over the local deviation from it."""
    images = _mirrored(np.log(grey + 1))
    axis = np.fft.fftfreq(images.shape[1]) * images.shape[1]
    width = CONTRAST / np.sqrt(np.log(2))
    blur = np.exp(-(axis[:, None] ** 2 + axis**2) / width**2)
    images = images - _filtered(images, blur).real
    deviation = np.sqrt(np.abs(_filtered(images**2, blur)))
    even: Host = images / (0.2 + deviation)
    return even[:, PAD:-PAD, PAD:-PAD]


def _describe(images: Host, filters: Host) -> Host:
    n, size = images.shape[:2]
    spectrum = np.fft.fft2(_mirrored(images))
    parts = []
    for transfer in filters:
        answer = np.abs(np.fft.ifft2(spectrum * transfer))[:, PAD:-PAD, PAD:-PAD]
        blocks = answer.reshape(n, BLOCKS, size // BLOCKS, BLOCKS, size // BLOCKS).mean(axis=(2, 4))
        parts.append(blocks.reshape(n, -1))
    return np.concatenate(parts, axis=1)


def _mirrored(images: Host) -> Host:
    return np.pad(images, ((0, 0), (PAD, PAD), (PAD, PAD)), mode="symmetric")


def _filtered(images: Host, transfer: Host) -> Host:
    return np.fft.ifft2(np.fft.fft2(images) * transfer)


def _chunks(n: int, progress: bool) -> Any:
    steps = range(0, n, CHUNK)
    if not progress:
        return steps
    from dcra.progress import terminal

    console = terminal()
    if console is None:
        return steps
    from rich.progress import track

    return track(steps, description="GIST", console=console)
