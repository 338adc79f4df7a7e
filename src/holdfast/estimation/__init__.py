"""Tables that keep what is known and lie near what was measured, in whole numbers or decimal fractions.

Only public values enter: released counts, invariants and bounds. Steps after a release are made of it, and
mechanisms that measure first and estimate then.
"""
