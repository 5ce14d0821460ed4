"""Problems in files: `read` and `write`, one module per format."""

from dcra.io.formats import FORMATS, read, recognised, write
from dcra.io.proofs import read_proof

__all__ = ["FORMATS", "read", "read_proof", "recognised", "write"]
