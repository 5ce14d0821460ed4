"""What the user states: matrices, terms, constraints, the problem; knows no search."""
