"""One A, many right-hand sides."""
