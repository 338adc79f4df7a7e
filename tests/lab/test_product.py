import numpy as np
import pytest

from holdfast.lab.product import product


def test_products_are_exact_or_refused() -> None:
    vectors = np.array([[1, -1], [3, 0]])
    for size in (1, 2**20, 2**55):
        assert product(np.array([[size, 1]]), vectors).tolist() == [[size + 3, -size]]
    with pytest.raises(OverflowError):
        product(np.array([[2**61, 0]]), vectors)
