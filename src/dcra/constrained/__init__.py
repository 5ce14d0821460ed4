"""Searches under constraints: penalties, repair, swaps, branch and bound."""
