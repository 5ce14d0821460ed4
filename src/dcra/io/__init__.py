"""Problems in files: `read` and `write`, one module per format."""

from dcra.io.formats import FORMATS, read, write

__all__ = ["FORMATS", "read", "write"]
