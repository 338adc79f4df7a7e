"""The figures of semi-dp, and what changes when its mistakes are not repeated."""
