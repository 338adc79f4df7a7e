"""Coupled chains, and what their meeting times say of the distance to the target.

The lag-L coupling of [biswas2019] bounds the total variation distance between a chain's law after l steps
and its target. The bound is measured, so whatever rests on it is an estimate.
"""
