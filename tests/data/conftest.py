"""Random small schemas and tables, and the folder of a spec with its files."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from holdfast.data.runs import Runs
from holdfast.data.schema import Attributes, Schema
from holdfast.data.table import Table
from holdfast.spec.model import Spec

# Any text but lone surrogates; the empty text means that a level is missing.
LEVELS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=6)


@st.composite
def some_schemas(draw: st.DrawFn) -> Schema:
    names = draw(st.lists(st.sampled_from("abcd"), min_size=1, max_size=3, unique=True))
    levels = st.lists(LEVELS, min_size=1, max_size=4, unique=True)
    attributes = Attributes.of({name: draw(levels) for name in names})
    size = Schema(attributes).size
    return Schema(attributes, Runs.of(draw(st.frozensets(st.integers(0, size - 1), max_size=3))))


@st.composite
def some_tables(draw: st.DrawFn) -> Table:
    schema = draw(some_schemas())
    count = st.integers(-(10**12), 10**12)
    counts = draw(st.lists(count, min_size=schema.size, max_size=schema.size))
    return Table(schema, np.where(schema.possible, counts, 0).astype(np.int64))


@pytest.fixture(scope="session")
def schemas() -> SearchStrategy[Schema]:
    return some_schemas()


@pytest.fixture(scope="session")
def tables() -> SearchStrategy[Table]:
    return some_tables()


@pytest.fixture
def spec_for(tmp_path: Path) -> Callable[..., Spec]:
    """Make a spec whose data file holds the given text or bytes."""

    def make(content: str | bytes, data: Mapping[str, Any], **sections: Any) -> Spec:
        raw = content.encode() if isinstance(content, str) else content
        (tmp_path / "data.csv").write_bytes(raw)
        data = {"path": "data.csv", **data}
        return Spec.of({"data": data, "privacy": {"epsilon": "1"}, **sections}, folder=tmp_path)

    return make
