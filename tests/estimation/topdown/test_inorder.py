"""Every machine finds the same bits: sums in one order, and no library that chooses another."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from holdfast.estimation.topdown import inorder, symmetric
from holdfast.estimation.topdown.symmetric import Equations

ROOT = Path(__file__).parents[3]
ROOM = ROOT / "src" / "holdfast" / "estimation" / "topdown"
DECIDING = (
    *("ascent", "children", "general", "inorder", "interior", "levels"),
    *("prices", "quadratic", "squares", "sums", "symmetric"),
)
"""What real counts are made by."""
ELSEWHERE = {"dot", "einsum", "inner", "linalg", "matmul", "mean", "norm", "outer", "tensordot", "vdot"}
"""What adds up in an order of its own; ``sum`` is let pass where it adds whole numbers."""
WHOLE = {("squares.py", "kept"), ("squares.py", "wide"), ("symmetric.py", "BinOp")}
BITS = """
import hashlib
from tests.estimation.topdown.trees import grown
from holdfast.estimation.topdown.descent import descend
found = hashlib.sha256()
for seed in range(40):
    tree = grown(seed, widest=6)
    descent = descend(tree.parents, tree.levels, reals=True)
    for table in (*descent.reals, *descent.counts):
        found.update(table.tobytes())
print(found.hexdigest())
"""
PLAIN = {
    "NUMBA_CPU_NAME": "generic",
    "NUMBA_CPU_FEATURES": "",
    "OPENBLAS_CORETYPE": "Prescott",
    "NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3",
}
"""A processor of twenty years ago, as far as libraries can be told so."""


def bits(folder: Path, **more: str) -> str:
    """Return the digest of the counts of many trees, as a process with this environment finds them."""
    own = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]), **more}
    own |= {"NUMBA_CACHE_DIR": str(folder)} if more else {}
    done = subprocess.run([sys.executable, "-c", BITS], env=own, capture_output=True, text=True, check=True)
    return done.stdout


def test_another_processor_finds_the_same_bits(tmp_path: Path) -> None:
    assert bits(tmp_path) == bits(tmp_path, **PLAIN)


@pytest.mark.parametrize("name", DECIDING)
def test_no_sum_is_left_to_a_library(name: str) -> None:
    for node in ast.walk(ast.parse((ROOM / f"{name}.py").read_text(encoding="utf-8"))):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            assert ast.unparse(node) == "ones @ ones.T"  # whole numbers
        if isinstance(node, ast.Attribute) and node.attr == "sum":
            of = getattr(node.value, "id", type(node.value).__name__)
            assert (f"{name}.py", of) in WHOLE
        assert not (isinstance(node, ast.Attribute) and node.attr in ELSEWHERE), ast.unparse(node)


def test_products_are_not_contracted() -> None:
    """A product that is added at once is rounded first."""
    one, other = np.array([1.0, 1 + 2.0**-30]), np.array([-1.0, 1 - 2.0**-30])
    assert inorder.dot(one, other) == 0.0  # fused, it would be -2^-60


def test_sums_and_products_are_those_of_numpy() -> None:
    generator = np.random.default_rng(0)
    one, other = generator.normal(size=(7, 5)), generator.normal(size=(5, 4))
    sparse = csr_array(np.where(generator.random((6, 5)) < 0.5, generator.normal(size=(6, 5)), 0.0))
    assert inorder.total(one) == pytest.approx(one.sum())
    assert inorder.across(one) == pytest.approx(one.sum(axis=1))
    assert inorder.down(one) == pytest.approx(one.sum(axis=0))
    assert inorder.product(one, other) == pytest.approx(one @ other)
    assert inorder.times(sparse, other[:, 0]) == pytest.approx(sparse @ other[:, 0])
    square = generator.normal(size=(8, 8))
    assert inorder.solved(square, square @ np.arange(8.0)) == pytest.approx(np.arange(8.0))


@pytest.mark.parametrize("few", [300, 0])
def test_equations_are_solved_dense_and_sparse(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(symmetric, "FEW", few)
    monkeypatch.setattr(symmetric, "FILLED", 1.0)
    for seed in range(10):
        generator = np.random.default_rng(seed)
        rows = csr_array(np.where(generator.random((40, 90)) < 0.05, generator.random((40, 90)), 0.0))
        free, added = generator.random(90), generator.random(40)
        matrix = rows.toarray() @ np.diag(free) @ rows.toarray().T + np.diag(added)
        right = generator.normal(size=40)
        found = Equations(rows).solve(free, added, 0.0)(right)
        assert found == pytest.approx(np.linalg.solve(matrix, right), rel=1e-9, abs=1e-9)
