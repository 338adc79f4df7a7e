"""The hull of the sensitivity space as the unit ball of a norm [semi-dp, Lemma 29].

``moves`` lists the space and says where noise with this norm lives, ``norm`` writes points as combinations of
moves, turns that into proved bounds and exact values, and compares norms.
"""
