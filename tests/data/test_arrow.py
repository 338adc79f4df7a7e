"""Arrow's arrays are made without pandas."""

import subprocess
import sys

import numpy as np
import pyarrow as pa

from holdfast.data.arrow import arrow_numbers, arrow_texts


def test_numbers_and_texts_are_those_of_arrow() -> None:
    for kind in (np.int64, np.int32, np.uint8, np.float64):
        numbers = np.array([0, 3, 7], dtype=kind)
        assert arrow_numbers(numbers).equals(pa.array(numbers))
    assert arrow_numbers(np.zeros(0, dtype=np.int64)).equals(pa.array([], pa.int64()))
    assert arrow_texts(["a", "", "\u00e9"]).equals(pa.array(["a", "", "\u00e9"], pa.string()))
    assert arrow_texts([]).equals(pa.array([], pa.string()))


def test_pandas_is_left_alone() -> None:
    program = (
        "import sys, numpy as np; from holdfast.data.in_parts import always, levels_at\n"
        "levels_at(['a', 'b'], np.array([1, 0])); always('a', 3)\n"
        "print('pandas' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
