"""Laws cut off at what a release must satisfy: what that costs, and how they are drawn and summed.

congeniality.py  gamma, what conditioning costs
spread.py        how much normalisers differ between tables
laws.py          laws whose every table has a normaliser of its own
totals.py        these normalisers, where totals are kept
chain.py         draws by a Markov chain
"""
