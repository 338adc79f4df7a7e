"""Classes of laws given public facts, one family a file, each with its framework and its Delta_z.

counts.py            one count, its laws given each secret listed
dependent_counts.py  one count of people whose answers depend on each other
disclosure.py        one count within the bounds of disclosure rules
normal.py            the mean of normal values, with a public normal value
laws.py              listed laws on any metric space
joint.py             a listed law of records and public facts together
presence.py          whether people are in the data at all, given its size or totals
"""

from holdfast.privacy.pufferfish.families.counts import ListedCounts
from holdfast.privacy.pufferfish.families.dependent_counts import DependentCounts
from holdfast.privacy.pufferfish.families.disclosure import DisclosedCount
from holdfast.privacy.pufferfish.families.family import Family
from holdfast.privacy.pufferfish.families.joint import JointLaws
from holdfast.privacy.pufferfish.families.laws import ListedLaws
from holdfast.privacy.pufferfish.families.normal import CorrelatedMean, ListedMean
from holdfast.privacy.pufferfish.families.presence import Person, Presence

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
