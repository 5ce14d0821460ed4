"""Problems in files: `read` and `write`, one module per format."""

from dcra.io.formats import FORMATS, read, recognised, write

__all__ = ["FORMATS", "read", "recognised", "write"]
