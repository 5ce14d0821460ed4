"""Binary codes in use: packing, exact Hamming search, and the figures that rankings are judged by."""

from dcra.retrieval.codes import hamming_distances, pack, unpack
from dcra.retrieval.evaluate import Scores, evaluate, mean_average_precision
from dcra.retrieval.search import search

__all__ = ["Scores", "evaluate", "hamming_distances", "mean_average_precision", "pack", "search", "unpack"]
