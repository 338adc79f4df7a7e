import pytest

from holdfast.ledger import LedgerError, fingerprint

SALT = bytes(range(32))


def test_a_file_is_named_by_its_identity_and_the_salt() -> None:
    one, other = bytes(32), bytes(range(32))
    prints = {fingerprint(SALT, one), fingerprint(SALT, other), fingerprint(SALT[::-1], one)}
    assert len(prints) == 3
    # HMAC-SHA256 of "holdfast-fingerprint/1", a line feed and the identity
    assert fingerprint(SALT, one) == "d0467c176d13199a4bfcb6c23a14d6cb212fd94443217ab5d790c366f7bd5bea"
    with pytest.raises(LedgerError, match="32 bytes"):
        fingerprint(SALT, b"name.csv")
