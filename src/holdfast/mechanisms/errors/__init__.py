"""How far counts are expected to be off, told from public laws, before and after a draw.

laws.py          errors of some counts and what they come to: deviations, bounds, goals
counts.py        which counts are asked for
closed.py        errors with closed forms
forms.py         errors of Gaussian and radial noise, from the form of its weight
simulated.py     errors from seeded draws, where no formula tells them
accuracy.py      how large noise is, per cell and per margin
least_budget.py  the least budget that is as accurate as was asked for
zero_noise.py    how likely noise leaves a cell, or everything, as it is
"""
