"""Exact laws on {z : A z = 0, low <= z <= high}."""
