"""What engines see: a problem over spins, its terms in a row, and the arrays of the inner loops."""
