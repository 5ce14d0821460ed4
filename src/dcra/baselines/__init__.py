"""Rivals, one file each: the same call as any other method."""
