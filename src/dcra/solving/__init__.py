"""One solve from options to result, solves inside it, and batches."""
