"""Data sets that hashing is measured on: from a folder, or downloaded once."""

from dcra.datasets.base import Dataset, Split
from dcra.datasets.cifar10 import cifar10
from dcra.datasets.gist import gist
from dcra.datasets.mirflickr25k import mirflickr25k
from dcra.datasets.mnist import mnist

__all__ = ["Dataset", "Split", "cifar10", "gist", "mirflickr25k", "mnist"]
