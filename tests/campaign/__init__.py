"""Random trials at length, from a seed and a number of seconds; a slice of each runs with the other tests."""
