"""Mechanisms for data of which something is public: exponential weights around a base measure.

`wasserstein-exponential` [partially-private-data, Theorem 9] releases a table,
`wasserstein-k-norm-gradient` [partially-private-data, Theorem 10] an estimate. Both lose in proportion to
how far a loss moves between two tables that the guarantee tells apart; where these are at most Delta_z
records apart, that is epsilon-TP.
"""
