"""The example of `holdfast init` as files, and variations of it."""

from pathlib import Path
from typing import Any

from holdfast.spec.example import EXAMPLE_DATA, EXAMPLE_SPEC
from holdfast.spec.load import read_spec
from holdfast.spec.model import Spec


def written(folder: Path, *changes: tuple[str, str]) -> Path:
    """Write the table and the spec with some of its text changed; return where the spec is."""
    text = EXAMPLE_SPEC
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / "children.csv").write_text(EXAMPLE_DATA)
    path = folder / "holdfast.toml"
    path.write_text(text)
    return path


def changed(example: Path, **sections: Any) -> Spec:
    """Return a spec with some keys of its sections changed, or left out where they are None."""
    spec = read_spec(example)
    values = spec.model_dump(mode="json", exclude_none=True)
    for section, keys in sections.items():
        values[section] = {key: value for key, value in (values[section] | keys).items() if value is not None}
    return Spec.of(values, folder=spec.folder)
