"""Exact laws of one integer, or of a few that need no lattice."""
