"""Work on other machines, and in other processes, by the engine that the user has chosen."""
