"""The four census regions, by the numbers (FIPS) of their states."""

REGIONS: dict[str, frozenset[int]] = {
    "Northeast": frozenset({9, 23, 25, 33, 34, 36, 42, 44, 50}),
    "Midwest": frozenset({17, 18, 19, 20, 26, 27, 29, 31, 38, 39, 46, 55}),
    "South": frozenset({1, 5, 10, 11, 12, 13, 21, 22, 24, 28, 37, 40, 45, 47, 48, 51, 54}),
    "West": frozenset({2, 4, 6, 8, 15, 16, 30, 32, 35, 41, 49, 53, 56}),
}
"""Fifty states and the District of Columbia."""

REGION_OF: dict[int, int] = {
    state: number for number, states in enumerate(REGIONS.values()) for state in states
}
"""The region of each state, numbered from 0."""
