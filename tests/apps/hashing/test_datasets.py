"""Data sets from small files of the same formats, and from the real ones where they are present."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import sys
import tarfile
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from dcra import datasets
from dcra.datasets import _files
from dcra.datasets._files import Source
from dcra.datasets.cifar10 import ARCHIVE, BATCHES, FEATURES, RECORD
from dcra.datasets.mnist import read_idx


def write_idx(path, array):
    head = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes()
    path.write_bytes(gzip.compress(head + array.astype(np.uint8).tobytes()))


@pytest.fixture
def mnist_folder(tmp_path, rng):
    for part, n in (("train", 6), ("t10k", 3)):
        write_idx(tmp_path / f"{part}-images-idx3-ubyte.gz", rng.integers(0, 256, (n, 28, 28)))
        write_idx(tmp_path / f"{part}-labels-idx1-ubyte.gz", rng.integers(0, 10, n))
    return tmp_path


@pytest.fixture
def no_data(tmp_path, monkeypatch):
    """Neither a folder of data nor a filled cache."""
    monkeypatch.delenv("DCRA_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_mnist_is_read(mnist_folder, monkeypatch):
    data = datasets.mnist(mnist_folder)
    assert data.features.shape == (9, 784)
    assert data.labels.shape == (9,)
    assert "mnist" in repr(data)
    root = mnist_folder.parent / "root"
    root.mkdir()
    os.symlink(mnist_folder, root / "mnist")
    monkeypatch.setenv("DCRA_DATA", str(root))
    np.testing.assert_array_equal(datasets.mnist().features, data.features)


@pytest.mark.parametrize("damage", ["cut", "text", "header", "length"])
def test_damaged_idx_files_are_named(mnist_folder, damage):
    file = mnist_folder / "train-labels-idx1-ubyte.gz"
    whole = gzip.decompress(file.read_bytes())
    file.write_bytes(
        {
            "cut": file.read_bytes()[:-6],
            "text": b"not found",
            "header": gzip.compress(b"\0\0\x09\x01" + whole[4:]),
            "length": gzip.compress(whole[:-1]),
        }[damage]
    )
    with pytest.raises(ValueError, match=r"train-labels.*damaged or of another kind"):
        datasets.mnist(mnist_folder)


def test_missing_files_say_how_to_get_them(tmp_path, no_data):
    with pytest.raises(FileNotFoundError, match=r"no file 'train-images.*Put the four original files"):
        datasets.mnist(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"cannot be downloaded.*mirflickr25k-yall.mat"):
        datasets.mirflickr25k()


def test_no_network(no_data, monkeypatch):
    pooch = pytest.importorskip("pooch")

    def refuse(*args, **options):
        raise OSError("no route to host")

    monkeypatch.setattr(pooch, "retrieve", refuse)
    with pytest.raises(ConnectionError, match=r"could not be downloaded.*no route.*\$DCRA_DATA"):
        datasets.mnist()
    assert not no_data.exists()


def test_wrong_checksum_keeps_nothing(tmp_path, no_data, monkeypatch):
    pytest.importorskip("pooch")
    folder = tmp_path / "server"
    folder.mkdir()
    (folder / "a.bin").write_bytes(b"changed")
    source = _files.Source("thing", "", {"a.bin": "md5:" + "0" * 32}, "Ask for it.")
    pooch = pytest.importorskip("pooch")
    real = pooch.retrieve

    def local(url, **options):
        def copy(url, target, retriever):
            Path(target).write_bytes((folder / "a.bin").read_bytes())

        return real("https://example.invalid/a.bin", downloader=copy, **options)

    monkeypatch.setattr(pooch, "retrieve", local)
    source = _files.Source("thing", "https://example.invalid/", source.registry, source.hint)
    with pytest.raises(ValueError, match=r"does not match its checksum; it was not kept. Ask for it."):
        source.download("a.bin")
    assert not [path for path in no_data.rglob("*") if path.is_file()]


class _Files(BaseHTTPRequestHandler):
    """Serves one file; from /cut/ it breaks off half-way."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", str(len(CONTENT)))
        self.end_headers()
        self.wfile.write(CONTENT[: len(CONTENT) // 2] if self.path.startswith("/cut/") else CONTENT)

    def log_message(self, *args):
        pass


CONTENT = bytes(range(256)) * 64


@pytest.fixture
def server(monkeypatch):
    """The address of a server on this machine."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with HTTPServer(("127.0.0.1", 0), _Files) as http:
        thread = threading.Thread(target=http.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{http.server_port}"
        http.shutdown()
        thread.join()


def source_at(url):
    return _files.Source("thing", url, {"a.bin": "md5:" + hashlib.md5(CONTENT).hexdigest()}, "Ask for it.")


def test_downloads_are_kept(server, no_data):
    pytest.importorskip("pooch")
    source = source_at(server + "/whole/")
    assert source.find("a.bin", None).read_bytes() == CONTENT
    nowhere = source_at("http://127.0.0.1:1/")  # not asked for what is there
    assert nowhere.find("a.bin", None).read_bytes() == CONTENT


@pytest.mark.parametrize("case", ["cut", "refused"])
def test_broken_downloads_leave_nothing(case, server, no_data):
    pytest.importorskip("pooch")
    source = source_at(server + "/cut/" if case == "cut" else "http://127.0.0.1:1/")
    with pytest.raises(ConnectionError, match=r"'a.bin' could not be downloaded.*Ask for it"):
        source.find("a.bin", None)
    assert not [path for path in no_data.rglob("*") if path.is_file()]


def test_mirflickr_is_read(tmp_path, rng):
    savemat(tmp_path / "mirflickr25k-yall.mat", {"YAll": rng.integers(0, 2, (7, 5))})
    savemat(tmp_path / "mirflickr25k-lall.mat", {"LAll": rng.integers(0, 2, (7, 3))})
    data = datasets.mirflickr25k(tmp_path)
    assert data.features.shape == (7, 5)
    assert data.labels.shape == (7, 3)
    savemat(tmp_path / "mirflickr25k-lall.mat", {"LAll": rng.integers(0, 2, (6, 3))})
    with pytest.raises(ValueError, match="7 rows of tags but 6"):
        datasets.mirflickr25k(tmp_path)
    savemat(tmp_path / "mirflickr25k-lall.mat", {"LAll": np.full((7, 3), 2)})
    with pytest.raises(ValueError, match="not a matrix of 0 and 1"):
        datasets.mirflickr25k(tmp_path)
    (tmp_path / "mirflickr25k-lall.mat").write_bytes(b"nonsense")
    with pytest.raises(ValueError, match="damaged"):
        datasets.mirflickr25k(tmp_path)


def write_archive(path, rng, records=4, cut=0):
    with tarfile.open(path, "w:gz") as archive:
        for name in BATCHES:
            data = rng.integers(0, 256, (records, RECORD), np.uint8)
            data[:, 0] %= 10
            body = data.tobytes()[: records * RECORD - cut]
            member = tarfile.TarInfo(f"cifar-10-batches-bin/{name}")
            member.size = len(body)
            archive.addfile(member, io.BytesIO(body))


def test_cifar_features_are_made_from_pixels_once(tmp_path, no_data, rng, monkeypatch):
    write_archive(tmp_path / ARCHIVE, rng)
    data = datasets.cifar10(tmp_path)
    assert data.features.shape == (24, 512)
    assert data.features.dtype == np.float32
    (kept,) = (no_data / "dcra" / "cifar10").iterdir()
    monkeypatch.setattr(sys.modules["dcra.datasets.cifar10"], "gist", None)
    again = datasets.cifar10(tmp_path)
    np.testing.assert_array_equal(again.features, data.features)
    (tmp_path / "features").mkdir()
    kept.rename(tmp_path / "features" / FEATURES)
    np.testing.assert_array_equal(datasets.cifar10(tmp_path / "features").labels, data.labels)


def test_features_of_another_archive_are_not_taken_for_cifar(tmp_path, no_data, rng, monkeypatch):
    write_archive(tmp_path / ARCHIVE, rng)
    datasets.cifar10(tmp_path)
    asked = []
    monkeypatch.setattr(Source, "download", lambda self, file: asked.append(file) or tmp_path / "none")
    with pytest.raises(OSError, match="none"):
        datasets.cifar10()
    assert asked == [ARCHIVE]
    (tmp_path / "other").mkdir()
    write_archive(tmp_path / "other" / ARCHIVE, rng, records=2)
    assert len(datasets.cifar10(tmp_path / "other").features) == 12
    assert len(datasets.cifar10(tmp_path).features) == 24


def test_a_cache_that_is_damaged_or_cannot_be_written_does_no_harm(tmp_path, no_data, rng, monkeypatch):
    write_archive(tmp_path / ARCHIVE, rng)
    data = datasets.cifar10(tmp_path)
    (kept,) = (no_data / "dcra" / "cifar10").iterdir()
    kept.write_bytes(kept.read_bytes()[:1000])
    np.testing.assert_array_equal(datasets.cifar10(tmp_path).features, data.features)

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    kept.unlink()
    monkeypatch.setattr(np, "savez_compressed", full)
    with pytest.warns(UserWarning, match="could not be kept .No space left"):
        again = datasets.cifar10(tmp_path)
    np.testing.assert_array_equal(again.features, data.features)
    assert not list(kept.parent.iterdir())


def test_archives_that_swell_are_refused(tmp_path, no_data, rng, monkeypatch):
    monkeypatch.setattr(sys.modules["dcra.datasets.cifar10"], "MOST_RECORDS", 3)
    write_archive(tmp_path / ARCHIVE, rng)
    with pytest.raises(ValueError, match="at most 3 records"):
        datasets.cifar10(tmp_path)
    head = bytes([0, 0, 8, 3]) + np.array([4_000_000_000] * 3, ">u4").tobytes()
    (tmp_path / "t.gz").write_bytes(gzip.compress(head + bytes(10_000_000)))
    with pytest.raises(ValueError, match="its header promises"):
        read_idx(tmp_path / "t.gz", 3)
    head = bytes([0, 0, 8, 1]) + np.array([5], ">u4").tobytes()
    (tmp_path / "t.gz").write_bytes(gzip.compress(head + bytes(10_000_000)))
    with pytest.raises(ValueError, match="6 bytes, or more, for shape"):
        read_idx(tmp_path / "t.gz", 1)


def test_damaged_cifar_files(tmp_path, no_data, rng):
    write_archive(tmp_path / ARCHIVE, rng, cut=5)
    with pytest.raises(ValueError, match="no whole number of records"):
        datasets.cifar10(tmp_path)
    (tmp_path / ARCHIVE).write_bytes(b"\x1f\x8b damaged")
    with pytest.raises(ValueError, match="damaged"):
        datasets.cifar10(tmp_path)
    assert not no_data.exists()
    np.savez(tmp_path / FEATURES, codes=np.zeros((3, 2)))
    with pytest.raises(ValueError, match="damaged"):
        datasets.cifar10(tmp_path)


def test_gist_sees_direction_and_place(rng):
    stripes = np.tile(128 + 100 * np.sin(np.arange(32) * 1.6), (32, 1))
    here = np.full((32, 32), 128.0)
    here[:16, :16] = stripes[:16, :16]
    descriptors = datasets.gist(np.stack([stripes, stripes.T, here]))
    assert descriptors.shape == (3, 512)
    assert np.isfinite(descriptors).all()
    across, down, corner = descriptors.reshape(3, 32, 4, 4)
    assert np.argmax(across.sum(axis=(1, 2))) != np.argmax(down.sum(axis=(1, 2)))
    strongest = corner[np.argmax(across.sum(axis=(1, 2)))]
    assert strongest[:2, :2].min() > strongest[2:, 2:].max()
    with pytest.raises(ValueError, match="`images` must have shape"):
        datasets.gist(np.zeros((2, 30, 31)))


def test_split_is_a_partition(rng):
    data = datasets.Dataset("toy", np.arange(20.0)[:, None], np.arange(20))
    split = data.split(5, seed=1)
    assert sorted([*split.query_labels, *split.labels]) == list(range(20))
    np.testing.assert_array_equal(split.features[:, 0], split.labels)
    np.testing.assert_array_equal(data.split(5, seed=1).labels, split.labels)
    assert len(data.first(7).labels) == 7
    with pytest.raises(ValueError, match=r"`n_queries` must lie in 1..19"):
        data.split(20, seed=0)


@pytest.mark.parametrize(
    ("name", "shape"), [("mnist", (70000, 784)), ("cifar10", (60000, 512)), ("mirflickr25k", (20015, 1386))]
)
def test_the_real_files(name, shape):
    root = os.environ.get("DCRA_DATA", "")
    if not Path(root, name).is_dir():
        pytest.skip(f"no {name} under DCRA_DATA")
    data = getattr(datasets, name)()
    assert data.features.shape == shape
    assert len(data.labels) == shape[0]
