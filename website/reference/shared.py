"""What examples of docstrings share, so that each is short: a frame, a spec of it, and the folder of a release."""

SHARED = """\
import polars as pl

import holdfast as hf

people = pl.DataFrame({"county": ["A", "A", "B", "B"], "sex": ["f", "m", "f", "m"], "n": [12, 9, 7, 15]})
spec = hf.Spec(
    data=hf.Data(cells=["county", "sex"], count="n"),
    invariants=[hf.Invariant(margin=["county"])],
    privacy=hf.Privacy(epsilon="1"),
)
folder = hf.release(spec, "release", data=people).folder
"""
