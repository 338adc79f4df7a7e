"""Markov chains for laws that no exact sampler reaches, and how far off they are.

A chain's law after finitely many steps is off by a total variation distance, and whoever uses a draw has to
pay for it [theory, 6]; it can be estimated only, by coupled chains that meet (coupling.py). Since a chain is
an estimate anyway, floats decide the acceptances of most kernels; every jump is drawn exactly, and so is
every step of row pairs.
"""
