"""Classes of laws given public facts, each with its framework and its Delta_z.

listed.py            listed laws on any metric space, and of one count
dependent_counts.py  one count of people whose answers depend on each other, or within disclosure rules
normal.py            the mean of normal values, with a public normal value
joint.py             a listed law of records and public facts together
presence.py          whether people are in the data at all, given its size or totals
"""

from holdfast.privacy.pufferfish.families.dependent_counts import DependentCounts, DisclosedCount
from holdfast.privacy.pufferfish.families.joint import JointLaws
from holdfast.privacy.pufferfish.families.listed import ListedCounts, ListedLaws
from holdfast.privacy.pufferfish.families.normal import CorrelatedMean, ListedMean
from holdfast.privacy.pufferfish.families.presence import Person, Presence
from holdfast.privacy.pufferfish.framework import Family

__all__ = [
    "CorrelatedMean",
    "DependentCounts",
    "DisclosedCount",
    "Family",
    "JointLaws",
    "ListedCounts",
    "ListedLaws",
    "ListedMean",
    "Person",
    "Presence",
]
