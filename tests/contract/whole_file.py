"""`whole-file`: some columns are swapped among all records of a file.

It is permutation swapping with one stratum, the file, and its theorem holds with b the number of records
[theory, 8]. Every release shares with the file the counts of swapped values, and those of all that is held.
"""

from typing import ClassVar, Literal

from holdfast.workshop import (
    MechanismOptions,
    MechanismRecord,
    PermutationSwapping,
    PermutationSwappingOptions,
    SwappingRecord,
)


class WholeFileOptions(PermutationSwappingOptions):
    """What is swapped; there is no key to swap within."""

    name: Literal["whole-file"] = "whole-file"  # type: ignore[assignment]
    stratify: tuple[()] = ()


class WholeFileRecord(SwappingRecord):
    """The design of the swap."""

    name: Literal["whole-file"]  # type: ignore[assignment]


class WholeFile(PermutationSwapping):
    """Swapping at a rate within the file."""

    name: ClassVar[str] = "whole-file"
    Options: ClassVar[type[MechanismOptions]] = WholeFileOptions
    Record: ClassVar[type[MechanismRecord]] = WholeFileRecord
