"""Examples of docstrings run in an empty folder, with the names that the page of Python shows at its top."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from website.reference.shared import SHARED


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Make what examples share, once."""
    names: dict[str, Any] = {}
    with contextlib.chdir(tmp_path_factory.mktemp("shared")):
        exec(SHARED, names)  # noqa: S102
        names["folder"] = names["folder"].resolve()
    return {name: names[name] for name in ("hf", "pl", "people", "spec", "folder")}


@pytest.fixture(autouse=True)
def an_empty_folder(
    tmp_path: Path, shared: dict[str, Any], doctest_namespace: dict[str, Any]
) -> Iterator[None]:
    """Run each example by itself."""
    doctest_namespace.update(shared)
    with contextlib.chdir(tmp_path):
        yield
