"""A solve at work: its state, plans that choose tasks, the driver that keeps limits, the workers."""
