"""The hull of the sensitivity space as the unit ball of a norm [semi-dp, Lemma 29].

``moves`` lists the space, ``norm`` writes points as combinations of moves and turns that into proved bounds
and exact values, ``lattice`` says where noise with this norm lives.
"""
