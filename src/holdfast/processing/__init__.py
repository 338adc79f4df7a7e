"""Named steps after a release: counts without negative numbers, or whole ones, that keep the invariants.

They use the release and the invariants alone, so they cost no budget [semi-dp, Proposition 23], and they
bias what was unbiased [theory, 5]. None is ever a default.
"""
