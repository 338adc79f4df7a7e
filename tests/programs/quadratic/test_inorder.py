"""Every machine finds the same bits: sums in one order, and no library that chooses another."""

import ast
import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.estimation.hierarchy.trees import grown

from holdfast.estimation.hierarchy.descent import descend
from holdfast.programs.quadratic import equations, inorder
from holdfast.programs.quadratic.equations import Equations

ROOT = Path(__file__).parents[3]
SRC = ROOT / "src" / "holdfast"
DECIDING = (
    *(f"programs/quadratic/{name}.py" for name in ("equations", "inorder", "interior", "newton", "program")),
    "programs/quadratic/squares.py",
    "estimation/hierarchy/family.py",
)
"""What real counts are made by."""
ELSEWHERE = {"dot", "einsum", "inner", "linalg", "matmul", "mean", "norm", "outer", "tensordot", "vdot"}
"""What adds up in an order of its own; ``sum`` is let pass where it adds whole numbers."""
WHOLE = {
    *(("squares.py", name) for name in ("forced", "kept", "wide")),
    *(("family.py", name) for name in ("dense", "floor", "roof")),
}
PLAIN = {
    "NUMBA_CPU_NAME": "generic",
    "NUMBA_CPU_FEATURES": "",
    "OPENBLAS_CORETYPE": "Prescott",
    "NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3",
}
"""A processor of twenty years ago, as far as libraries can be told so."""


def bits() -> str:
    """Return the digest of the counts of some trees, as this process finds them."""
    found = sha256()
    for seed in range(15):
        tree = grown(seed, widest=6)
        descent = descend(tree.parents, tree.levels, reals=True)
        assert descent.reals is not None
        for table in (*descent.reals, *descent.counts):
            found.update(table.tobytes())
    return found.hexdigest()


def test_another_processor_finds_the_same_bits(tmp_path: Path) -> None:
    own = {**os.environ, **PLAIN, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    done = subprocess.run(
        [sys.executable, "-c", f"from {__name__} import bits; print(bits())"],
        env={**own, "NUMBA_CACHE_DIR": str(tmp_path)},  # it compiles for itself
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == bits()


@pytest.mark.parametrize("name", DECIDING)
def test_no_sum_is_left_to_a_library(name: str) -> None:
    for node in ast.walk(ast.parse((SRC / name).read_text(encoding="utf-8"))):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            assert ast.unparse(node) in ("ones @ ones.T", "self.rows @ counts")  # whole numbers
        if isinstance(node, ast.Attribute) and node.attr == "sum":
            of = getattr(node.value, "id", type(node.value).__name__)
            assert (Path(name).name, of) in WHOLE
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
    assert inorder.dot(one, one) == pytest.approx((one**2).sum())
    assert inorder.times(sparse, other[:, 0]) == pytest.approx(sparse @ other[:, 0])


@pytest.mark.parametrize("few", [300, 0])
def test_equations_are_solved_dense_and_sparse(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(equations, "FEW", few)
    monkeypatch.setattr(equations, "FILLED", 1.0)
    for seed in range(10):
        generator = np.random.default_rng(seed)
        rows = csr_array(np.where(generator.random((40, 90)) < 0.05, generator.random((40, 90)), 0.0))
        free, added = generator.random(90), generator.random(40)
        matrix = rows.toarray() @ np.diag(free) @ rows.toarray().T + np.diag(added)
        right = generator.normal(size=40)
        found = Equations(rows, csr_array(rows.T)).solve(free, added, 0.0)(right)
        assert found == pytest.approx(np.linalg.solve(matrix, right), rel=1e-9, abs=1e-9)
