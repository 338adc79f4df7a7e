"""The gallery: a project is a folder of its page, data, specs, a script, and the picture that this makes.

On the site its page ends with these files, and with all of them in one archive; tests run what is in the archive.
"""

import io
import zipfile
from pathlib import Path

from website.pages import DOCS

GALLERY = DOCS / "gallery"
PAGE, SCRIPT, PICTURE = "README.md", "project.py", "picture.svg"
SHOWN = {".toml": "toml", ".py": "python"}
MADE = (1980, 1, 1, 0, 0, 0)  # archives of the same files are the same


def projects() -> list[Path]:
    """Return the folder of every project."""
    return sorted(path.parent for path in GALLERY.glob(f"*/{SCRIPT}"))


def archive(project: Path) -> bytes:
    """Return all files of a project in one folder, as a ZIP archive."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in _files(project):
            packed.writestr(zipfile.ZipInfo(f"{project.name}/{path.name}", MADE), path.read_bytes())
    return made.getvalue()


def begin(project: Path, folder: Path) -> None:
    """Put what a project begins with into a folder: the files of its archive but the page and the picture."""
    with zipfile.ZipFile(io.BytesIO(archive(project))) as packed:
        for name in packed.namelist():
            if not name.endswith((PAGE, PICTURE)):
                (folder / Path(name).name).write_bytes(packed.read(name))


def completed(project: Path, text: str) -> str:
    """Return the page of a project with its specs, its script and the archive."""
    lines = [text.rstrip("\n"), "", "## Its files", ""]
    for path in _files(project):
        if language := SHOWN.get(path.suffix):
            code = path.read_text(encoding="utf-8").rstrip("\n")
            lines += [f"`{path.name}`", "", f"```{language}", code, "```", ""]
    data = [f"[`{path.name}`]({path.name})" for path in _files(project) if path.suffix == ".csv"]
    lines += [f"All of it, with {' and '.join(data)}: [{project.name}.zip]({project.name}.zip)."]
    return "\n".join([*lines, ""])


def _files(project: Path) -> list[Path]:
    return [path for path in sorted(project.iterdir()) if path.is_file()]
