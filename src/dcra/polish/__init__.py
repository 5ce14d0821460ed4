"""Local search on the true objective: each is an engine, and each starts from any point."""
