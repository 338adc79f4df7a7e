from typing import Any

import numpy as np
import pytest

from holdfast.privacy.ledger import LedgerError, fingerprint

SALT, SCHEMA = bytes(range(32)), {"attributes": [["sex", ["f", "m"]]]}


def test_the_same_table_has_the_same_fingerprint_whatever_it_is_held_in() -> None:
    counts = np.array([[3, -1], [2**40, 0]])
    forms: list[Any] = [
        counts,
        counts.ravel(),
        np.asfortranarray(counts),
        counts.astype(">i8"),
        counts.ravel().tolist(),
        counts.astype("<i8").tobytes(),
        np.stack([counts, counts], axis=-1)[..., 0],
    ]
    assert len({fingerprint(SALT, SCHEMA, form) for form in forms}) == 1
    assert fingerprint(SALT, SCHEMA, np.array([1, 2], dtype=np.uint8)) == fingerprint(SALT, SCHEMA, [1, 2])


def test_another_salt_schema_or_count_has_another() -> None:
    prints = {
        fingerprint(SALT, SCHEMA, [1, 2]),
        fingerprint(SALT[::-1], SCHEMA, [1, 2]),
        fingerprint(SALT, {"attributes": []}, [1, 2]),
        fingerprint(SALT, SCHEMA, [2, 1]),
        fingerprint(SALT, SCHEMA, [1, 2, 0]),
        fingerprint(SALT, SCHEMA, []),
    }
    assert len(prints) == 6
    assert all(len(each) == 64 for each in prints)


def test_counts_are_whole() -> None:
    for counts in (np.array([0.5]), np.array([2**63], dtype=np.uint64)):
        with pytest.raises(LedgerError, match="whole counts"):
            fingerprint(SALT, SCHEMA, counts)
