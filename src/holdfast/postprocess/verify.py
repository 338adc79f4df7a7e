"""Verifying a processed table: its files, every invariant, its page, and, with the release, all of it.

The folder alone shows that nothing was changed, that the table keeps what the release keeps, with exact
equality, and that no count is negative. That the table is the processed release, and that the bias is as it
says, follows by doing it again: processing is deterministic.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from io import BytesIO
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.certificate.checks import Check, Verification, ViolatedError
from holdfast.certificate.quick import DAMAGE, Cells, DamagedError, Sums, read_column, warnings_of
from holdfast.certificate.strangers import strangers
from holdfast.certificate.text import CERTIFICATE, canonical, digest, parse, parsed, read_text
from holdfast.certificate.write import PAGE, sha256
from holdfast.errors import HoldfastError, ReleaseError
from holdfast.machine import require_memory
from holdfast.postprocess.form import (
    EVEN,
    FORMAT,
    KEYS,
    NOT_ASKED,
    NOT_SIMULATED,
    RELEASE,
    ROUGH,
    STATEMENT,
    TABLE,
    release_section,
)
from holdfast.postprocess.methods import METHODS
from holdfast.version import VERSION, is_version

NOT_DERIVED = (
    "the release was not at hand, and it was not checked that this table and its bias follow from it: give"
    " --release."
)
MEAN = {"cells", "stand_in", "bias", "standard_error"}
MOST_DRAWS = 10**7
SIGMAS = 5
"""Standard errors within which biases of two versions agree."""


def verify_processed(
    folder: str | Path, *, release: str | Path | None = None, quick: bool = False
) -> Verification:
    """Check a processed folder; with its ``release``, or where that lies beside it, process it again.

    Raises ReleaseError where there is no such folder; everything else is a check that fails.
    """
    folder = Path(folder)
    text = read_text(folder)
    content = parsed(text, str(folder / CERTIFICATE))
    if content.get("format") != FORMAT:
        raise ReleaseError(f"{folder / CERTIFICATE} is not of the form {FORMAT}: restore it.")
    checks = list(_seal(folder, text, content))
    warnings: list[str] = []
    derived: tuple[str, ...] = ()
    if all(check.holds for check in checks):
        checks += _caught("certificate", _kept(folder, content))
    if all(check.holds for check in checks) and not quick:
        checks += _caught("page", _page(folder, content))
        source = _beside(folder) if release is None else Path(release)
        if source is None:
            warnings.append(NOT_DERIVED)
        elif all(check.holds for check in checks):
            checks += _caught("release", _again(folder, content, source))
            derived = ("table", "bias", "page")
    if (folder / RELEASE).is_file() and all(check.holds for check in checks):
        warnings += warnings_of(_release(folder))
    told = (*warnings, *strangers(folder, content))
    return Verification(folder, tuple(checks), told, quick=quick, derived=derived)


def _caught(name: str, checks: Iterator[Check]) -> list[Check]:
    """Return checks; what damage raises is one that fails."""
    found: list[Check] = []
    try:
        found.extend(checks)
    except ViolatedError:
        found.append(Check(name, holds=False, detail="the release itself is not as it was certified"))
    except (*DAMAGE, HoldfastError, OSError, ArithmeticError) as error:
        require_memory(error)
        told = isinstance(error, DamagedError | HoldfastError)
        detail = str(error).rstrip(".") if told else f"{CERTIFICATE} is damaged: restore it"
        found.append(Check(name, holds=False, detail=detail))
    return found


def _seal(folder: Path, text: str, content: Mapping[str, Any]) -> Iterator[Check]:
    """Check the digest, the text, and the hash of each file."""
    body = {key: value for key, value in content.items() if key != "digest"}
    yield Check.that("certificate unchanged", digest(body) == content.get("digest"), "its digest differs")
    written = text == canonical(content) and tuple(content) == KEYS
    yield Check.that("certificate text", written, "it is not in the one form that it is written in")
    files = content.get("files")
    if not isinstance(files, dict) or tuple(files) != (TABLE, RELEASE, PAGE):
        yield Check("files", holds=False, detail="the certificate does not name its three files")
        return
    for name, expected in files.items():
        try:
            found = sha256(folder / name)
        except OSError as error:
            require_memory(error)
            yield Check(f"file {name}", holds=False, detail="it cannot be read")
            continue
        yield Check.that(f"file {name}", found == expected, "its SHA-256 differs")


def _release(folder: Path) -> dict[str, Any]:
    return parse((folder / RELEASE).read_bytes().decode("utf-8"), RELEASE)


def _kept(folder: Path, content: Mapping[str, Any]) -> Iterator[Check]:
    """Check what is said against the release's certificate, and the table against what that keeps."""
    release = _release(folder)
    body = {key: value for key, value in release.items() if key != "digest"}
    named = content["release"]
    same = digest(body) == release.get("digest") == named["certificate_digest"]
    yield Check.that("release named", same, f"{RELEASE} is not the certificate that is named")
    if not same:
        return
    wrong = _misstated(content, release)
    yield Check.that("certificate", not wrong, wrong)
    cells = Cells.of(release["table"])
    quotes = release.get("quoted_formulas") is True
    counts = _numerators(folder / TABLE, cells.quoted if quotes else cells, content["places"])
    yield Check("schema", holds=True)
    yield Check.that("counts at least 0", bool((counts >= 0).all()), "a count is negative")
    if cells.impossible:
        empty = not counts[~cells.possible].any()
        yield Check.that("structural zeros", empty, "a structural zero holds a count")
    for item in release["invariants"]:
        sums = Sums.of(item, cells)
        told = [value * 10 ** content["places"] for value in item["values"]]
        kept = sums.evaluate(counts) == told
        yield Check.that(f"invariant {sums.name}", kept, "a sum differs from its value")


def _misstated(content: Mapping[str, Any], release: Mapping[str, Any]) -> str:
    """Return which field does not say what it has to, "" where all do."""
    method = METHODS.get(content["method"]["name"])
    software = content["software"]
    right = {
        "method": method is not None
        and content["method"] == {"name": method.name, "description": method.words},
        "statement": content["statement"] == STATEMENT,
        "guarantee": content["guarantee"] == release["guarantee"]["statement"],
        "release": content["release"] == release_section(release),
        "places": content["places"] == (6 if content["method"]["name"] == "nonnegative-l2" else 0),
        "software": set(software) == {"name", "version"}
        and software["name"] == "holdfast"
        and is_version(software["version"]),
        "created": datetime.fromisoformat(content["created"]).tzinfo is not None,
        "solver": set(content["solver"]) == {"name", "version"}
        and content["solver"]["name"] == "HiGHS"
        and is_version(content["solver"]["version"]),
        "bias": _bias_is_told(content["bias"]),
    }
    return next((f"{name} is not what it has to be" for name, so in right.items() if not so), "")


def _numerators(path: Path, cells: Cells, places: int) -> NDArray[np.int64]:
    """Return the counts of a table times ten to the places; each is written in one way."""
    form = re.compile(r"(0|[1-9]\d{0,17})" + (rf"\.(\d{{{places}}})" if places else ""), re.ASCII)
    found = read_column(path, cells)
    for row, text in enumerate(found, start=2):
        if not form.fullmatch(text):
            raise DamagedError(f"{path.name}, row {row} has {text[:20]!r}, which is not a count as written")
    numbers = [int(text.replace(".", "")) for text in found]
    if sum(numbers) >= 2**63:
        raise DamagedError(f"the counts of {path.name} sum to more than fits 64 bits")
    return np.array(numbers, dtype=np.int64)


def _page(folder: Path, content: Mapping[str, Any]) -> Iterator[Check]:
    from holdfast.postprocess.page import render  # noqa: PLC0415 - loaded late

    record = {key: value for key, value in content.items() if key not in ("files", "digest")}
    same = render(record).encode("utf-8") == (folder / PAGE).read_bytes()
    yield Check.that("page", same, "the page is not the page of this certificate")


def _beside(folder: Path) -> Path | None:
    """Return the release if its folder lies beside this one: the certificate is the one that is kept here."""
    kept = (folder / RELEASE).read_bytes()
    for path in sorted(folder.absolute().parent.iterdir()):
        with suppress(OSError, HoldfastError):
            size = (path / CERTIFICATE).lstat().st_size  # most are told apart by it
            if size == len(kept) and read_text(path).encode("utf-8") == kept:
                return path
    return None


def _again(folder: Path, content: Mapping[str, Any], source: Path) -> Iterator[Check]:
    """Process the release again, and compare the table and the bias."""
    from holdfast.postprocess.processed import process  # noqa: PLC0415 - loaded late

    there = read_text(source)
    same = there == (folder / RELEASE).read_bytes().decode("utf-8")
    yield Check.that("release", same, f"{source} is not the release that is named")
    if not same:
        return
    bias = content["bias"]
    draws = bias["draws"] if bias["measured"] else 0
    processed = process(source, METHODS[content["method"]["name"]], bias_draws=draws)
    follows = BytesIO()
    processed.write_table(follows)
    same = follows.getvalue() == (folder / TABLE).read_bytes()
    yield Check.that("table follows from the release", same, "processing the release gives another table")
    if not bias["measured"]:
        yield Check("bias", holds=True, detail="it was not measured")
        return
    again = processed.bias_section()
    if bias == again:
        yield Check("bias", holds=True)
    elif content["software"]["version"] != VERSION:
        agree = _agree(bias, again)
        said = "within simulation error" if agree else "it is not within simulation error"
        yield Check("bias", holds=agree, detail=said)
    else:
        yield Check("bias", holds=False, detail="measuring it again gives other numbers")


def _bias_is_told(bias: Mapping[str, Any]) -> bool:
    """Whether a bias has its numbers, each of them one, or one of the reasons why there are none."""
    if bias["measured"] is False:
        return set(bias) == {"measured", "reason"} and bias["reason"] in (NOT_ASKED, NOT_SIMULATED)
    parts = ({key: value for key, value in bias.items() if key not in ("measured", "rough")}, bias["rough"])
    return bias["measured"] is True and all(
        _part_is_told(part, stand_in) for part, stand_in in zip(parts, (EVEN, ROUGH), strict=True)
    )


def _part_is_told(part: Mapping[str, Any], stand_in: str) -> bool:
    means = ("small_cells", "large_cells")
    classes = part["classes"]
    return (
        set(part) == {"stand_in", "draws", *means, "classes"}
        and part["stand_in"] == stand_in
        and type(part["draws"]) is int
        and 2 <= part["draws"] <= MOST_DRAWS
        and type(classes) is list
        and all(_is_mean(part[name]) for name in means)
        and all(_is_class(one) for one in classes)
    )


def _is_class(one: Mapping[str, Any]) -> bool:
    """Whether this is the mean of cells of some size."""
    least, most = one["least"], one["most"]
    mean = {key: value for key, value in one.items() if key not in ("least", "most")}
    return type(least) is int and (most is None or type(most) is int) and _is_mean(mean)


def _is_mean(mean: Mapping[str, Any]) -> bool:
    return set(mean) == MEAN and all(
        type(value) in (int, float) and isfinite(value) for value in mean.values()
    )


def _agree(claimed: Mapping[str, Any], follows: Mapping[str, Any]) -> bool:
    """Whether two measurements of the bias agree within simulation error."""
    if set(claimed) != set(follows) or claimed["stand_in"] != follows["stand_in"]:
        return False
    pairs = [
        (part[name], other[name])
        for part, other in ((claimed, follows), (claimed["rough"], follows["rough"]))
        for name in ("small_cells", "large_cells")
    ]
    return all(
        abs(one["bias"] - two["bias"]) <= SIGMAS * (one["standard_error"] + two["standard_error"]) + 0.01
        for one, two in pairs
    )
