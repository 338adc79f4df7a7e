"""Names lead into the folder and nowhere else; what comes in appears whole."""

from pathlib import Path
from typing import Any

import pytest
from tests.studio.visitor import Visitor, words

from holdfast.studio.place import Incoming, Place
from holdfast.system.errors import SpecError


def named(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


OUTSIDE = [
    "../x",
    "/etc/passwd",
    "a/../../x",
    "..",
    ".",
    "",
    "a//b",
    "C:x",
    "a\\b",
    "a\0b",
    "a\nb",
    "x" * 2000,
]


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_name_that_leads_out_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(SpecError):
        Place.of(tmp_path).inside(name)


@pytest.mark.parametrize("name", OUTSIDE)
@pytest.mark.parametrize(("path", "field"), [("/data/choose", "file"), ("/data/open", "spec")])
def test_no_form_leads_out(tmp_path: Path, name: str, path: str, field: str) -> None:
    (tmp_path / "desk").mkdir()
    (tmp_path / "x").write_text("a,b\n1,2\n")
    visitor = Visitor.at(tmp_path / "desk")
    answer = visitor.post(path, {field: name})
    assert answer.status_code == 422
    assert list((tmp_path / "desk").iterdir()) == []


def test_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "desk").mkdir()
    (tmp_path / "secret.toml").write_text("[data]\n")
    (tmp_path / "desk" / "out").symlink_to(tmp_path)
    (tmp_path / "desk" / "link.toml").symlink_to(tmp_path / "secret.toml")
    visitor = Visitor.at(tmp_path / "desk")
    for name in ("out/secret.toml", "link.toml"):
        answer = visitor.post("/data/open", {"spec": name})
        assert (answer.status_code, "link" in words(answer)) == (422, True)
    assert visitor.desk.place.specs == []


def test_a_file_appears_whole_and_takes_no_name_of_another(tmp_path: Path) -> None:
    place = Place.of(tmp_path)
    for name in ("a.csv", "a-2.csv"):
        file = Incoming(place, "a.csv")
        file.write(b"x,y\n")
        assert not (tmp_path / name).exists()
        assert file.done() == name
        assert (tmp_path / name).read_bytes() == b"x,y\n"
    file = Incoming(place, "b.csv")
    file.write(b"x")
    file.drop()
    assert named(tmp_path) == ["a-2.csv", "a.csv"]


def sent(name: str, content: bytes, boundary: str = "frontier") -> dict[str, Any]:
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="upload"; filename="{name}"\r\n\r\n'
    body = head.encode() + content + f"\r\n--{boundary}--\r\n".encode()
    return {"content": body, "headers": {"content-type": f"multipart/form-data; boundary={boundary}"}}


@pytest.mark.parametrize(
    ("given", "name"),
    [
        *(
            ("people.csv", "people.csv"),
            ("../../people.csv", "people.csv"),
            ("C:\\x\\people.csv", "people.csv"),
        ),
        *((".hidden.csv", "hidden.csv"), ("<script>.csv", "<script>.csv")),
    ],
)
def test_an_upload_stays_in_the_folder(tmp_path: Path, given: str, name: str) -> None:
    visitor = Visitor.at(tmp_path)
    answer = visitor.post("/data/upload", **sent(given, b"sex,n\nf,1\nm,2\n"))
    assert answer.status_code == 200, words(answer)
    assert named(tmp_path) == sorted([name, "holdfast.toml"])
    assert "<script>" not in answer.text


@pytest.mark.parametrize("given", ["..", "", "a\0b"])
def test_an_upload_without_a_name_is_no_file(tmp_path: Path, given: str) -> None:
    answer = Visitor.at(tmp_path).post("/data/upload", **sent(given, b"sex,n\nf,1\nm,2\n"))
    assert answer.status_code == 422
    assert named(tmp_path) == []


@pytest.mark.parametrize("content", [b"", b"--other\r\n", b"--frontier\r\nx", b"--frontier--"])
def test_a_damaged_upload_leaves_nothing(tmp_path: Path, content: bytes) -> None:
    headers = {"content-type": "multipart/form-data; boundary=frontier"}
    answer = Visitor.at(tmp_path).post("/data/upload", content=content, headers=headers)
    assert answer.status_code == 422
    assert named(tmp_path) == []


def test_files_are_offered_that_a_first_spec_reads(tmp_path: Path) -> None:
    for name in ("a.csv", "b.tsv.gz", "c.XLSX", "d.xlsx.gz", "e.json", "f.dta"):
        (tmp_path / name).touch()
    assert Place.of(tmp_path).data == ["a.csv", "b.tsv.gz", "c.XLSX", "f.dta"]
