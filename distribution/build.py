"""Build all that is handed out: python -m distribution.build [FOLDER].

Wheels and sources of Holdfast, of its verifier and of its documentation, with the bill of materials and
SHA256SUMS. Whoever builds a commit again gets the same bytes: files stand in the order of their names, under
one time, that of SOURCE_DATE_EPOCH where it is set.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from hashlib import sha256
from pathlib import Path

from distribution.sbom import bill
from holdfast.version import VERSION

ROOT = Path(__file__).parents[1]


def packed(source: Path, out: Path) -> None:
    """Put the wheel and the sources of a project into a folder."""
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(out.absolute())]
    ran = subprocess.run(
        [*command, "-t", "sdist", "-t", "wheel"], cwd=source, capture_output=True, check=False
    )
    if ran.returncode:
        sys.exit(f"{source}: {ran.stderr.decode(errors='replace')}")


def packed_site(site: Path, out: Path) -> None:
    """Put the wheel and the sources of the documentation into a folder, from a site that was built."""
    with tempfile.TemporaryDirectory() as folder:
        staged = Path(folder) / "docs"
        shutil.copytree(ROOT / "distribution" / "docs", staged)
        shutil.copy(ROOT / "LICENSE", staged)
        shutil.copytree(site, staged / "holdfast_docs" / "site")
        packed(staged, out)


def main() -> None:
    """Build the site and all distributions, and say what was made."""
    from website.build import SITE, build  # noqa: PLC0415 - what only the site takes

    out = Path(sys.argv[1] if sys.argv[1:] else "wheels")
    if flaws := build():
        sys.exit("\n".join(flaws))
    shutil.rmtree(out, ignore_errors=True)
    packed(ROOT, out)
    packed(ROOT / "verify", out)
    packed_site(SITE, out)
    text = json.dumps(bill(os.environ.get("SOURCE_DATE_EPOCH")), indent=1) + "\n"
    (out / f"holdfast_dp-{VERSION}.cdx.json").write_text(text, encoding="utf-8")
    made = sorted(path for path in out.iterdir() if path.name != ".gitignore")
    sums = [f"{sha256(path.read_bytes()).hexdigest()}  {path.name}" for path in made]
    (out / "SHA256SUMS").write_text("".join(f"{line}\n" for line in sums), encoding="utf-8")
    for line in sums:
        print(line)


if __name__ == "__main__":
    main()
