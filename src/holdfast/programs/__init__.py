"""Programs given to HiGHS: ``solver`` is the one file that knows it, others ask one kind of question each.

What comes back was found in floats. ``integer`` checks its points in integers; the others return suggestions
that their callers check.
"""
