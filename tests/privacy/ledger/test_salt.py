from typing import Any

import numpy as np
import pytest

from holdfast.privacy.ledger import LedgerError, fingerprint, table_fingerprint

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
    assert len({table_fingerprint(SALT, SCHEMA, form) for form in forms}) == 1
    assert table_fingerprint(SALT, SCHEMA, np.array([1, 2], dtype=np.uint8)) == table_fingerprint(
        SALT, SCHEMA, [1, 2]
    )


def test_another_salt_schema_or_count_has_another() -> None:
    prints = {
        table_fingerprint(SALT, SCHEMA, [1, 2]),
        table_fingerprint(SALT[::-1], SCHEMA, [1, 2]),
        table_fingerprint(SALT, {"attributes": []}, [1, 2]),
        table_fingerprint(SALT, SCHEMA, [2, 1]),
        table_fingerprint(SALT, SCHEMA, [1, 2, 0]),
        table_fingerprint(SALT, SCHEMA, []),
    }
    assert len(prints) == 6
    assert all(len(each) == 64 for each in prints)


def test_counts_are_whole() -> None:
    for counts in (np.array([0.5]), np.array([2**63], dtype=np.uint64)):
        with pytest.raises(LedgerError, match="whole counts"):
            table_fingerprint(SALT, SCHEMA, counts)


def test_a_file_is_named_by_its_identity_and_the_salt() -> None:
    one, other = bytes(32), bytes(range(32))
    prints = {fingerprint(SALT, one), fingerprint(SALT, other), fingerprint(SALT[::-1], one)}
    assert len(prints) == 3
    # as in ledgers that exist: HMAC-SHA256 of "holdfast-fingerprint/2", a line feed and the identity
    assert fingerprint(SALT, one) == "37b956c856e6c7c36652e0668e86490516a4f0b1e904323142a8c8664097e921"
    with pytest.raises(LedgerError, match="32 bytes"):
        fingerprint(SALT, b"name.csv")
