import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from holdfast.data.table import first_repeat


@given(st.lists(st.integers(0, 9)))
def test_is_the_first_of_a_plain_loop(keys: list[int]) -> None:
    expected = next(((keys.index(key), at) for at, key in enumerate(keys) if key in keys[:at]), None)
    assert first_repeat(np.array(keys, dtype=np.int64)) == expected
