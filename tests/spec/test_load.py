from pathlib import Path

import pytest

from holdfast.spec.example import EXAMPLE_SPEC
from holdfast.spec.load import read_spec
from holdfast.system.errors import SpecError


def test_paths_start_at_the_spec(example: Path) -> None:
    spec = read_spec(example)
    assert spec.data_path == example.parent / "children.csv"


@pytest.mark.parametrize("prefix", ["\ufeff", "# Windows\r\n"])
def test_files_from_windows_are_fine(tmp_path: Path, prefix: str) -> None:
    path = tmp_path / "holdfast.toml"
    path.write_bytes((prefix + EXAMPLE_SPEC.replace("\n", "\r\n")).encode())
    assert read_spec(path).data.count == "children"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"[data]\npath = \n", "line 2"),
        (b"[data]\npath = 'caf\xe9.csv'\n", "line 2 is not UTF-8"),
        (b"a = " + b"[" * 5000, "is not TOML"),
        (b"", "[data] is missing"),
        (b"[data]\npath = 'a.csv'\ncells = []\n", "[data] cells is empty"),
    ],
)
def test_a_bad_file_is_named(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "holdfast.toml"
    path.write_bytes(content)
    with pytest.raises(SpecError) as caught:
        read_spec(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert words in message
    assert "\n" not in message


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"none\.toml does not exist"):
        read_spec(tmp_path / "none.toml")
    with pytest.raises(SpecError, match="is a folder"):
        read_spec(tmp_path)


@pytest.mark.parametrize("wrong", [None, {"data": {}}, 3])
def test_what_is_no_file_is_refused_in_a_sentence(wrong: object) -> None:
    with pytest.raises(SpecError, match="a spec is a file or a Spec, not a"):
        read_spec(wrong)  # type: ignore[arg-type]
