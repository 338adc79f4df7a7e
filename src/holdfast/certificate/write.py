"""Writing a release: outputs, page and certificate into a draft, which then takes its name whole."""

import errno
import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from holdfast.certificate.head import LedgerSection
from holdfast.certificate.model import Certificate
from holdfast.certificate.read import read_certificate
from holdfast.certificate.sign import SIGNATURE, SigningKey, sign
from holdfast.certificate.text import CERTIFICATE
from holdfast.outputs import Output, digest_of_all
from holdfast.system.drafts import Draft
from holdfast.system.errors import ReleaseError
from holdfast.system.files import special
from holdfast.system.ways import option

PAGE = "certificate.html"


class OtherFormats(Protocol):
    """What is written beside a release, in other formats."""

    def files(
        self, certificate: Certificate, outputs: Mapping[str, Output], sizes: Mapping[str, int]
    ) -> Iterator[tuple[str, bytes]]:
        """Yield each file with its content; ``sizes`` are of what is written by then."""
        ...


def write_page(page: str, draft: Draft) -> None:
    """Write the page, which is settled before anything is drawn."""
    draft.inside.write(PAGE, page.encode("utf-8"))


def write_outputs(
    outputs: Mapping[str, Output],
    certificate: Certificate,
    draft: Draft,
    *,
    parquet: bool,
    ledger: LedgerSection | None = None,
    key: SigningKey | None = None,
    quote_formulas: bool = False,
    beside: OtherFormats | None = None,
) -> Certificate:
    """Write the rest of a release beside its page, the certificate last; return it sealed.

    What is ``beside`` it is made of a certificate that has all but its digest.
    """
    quoted = quote_formulas and not parquet
    names: list[str] = [
        output.write(draft.inside, name, parquet=parquet, quote_formulas=quoted)
        for name, output in outputs.items()
    ]
    hashes = {file: draft.inside.sha256(file) for file in (*names, PAGE)}
    measured = digest_of_all([each.measured for each in outputs.values()])
    exports = list[str]()
    if beside is not None:
        so_far = certificate.model_copy(
            update={"files": hashes, "ledger": ledger, "quoted_formulas": quoted, "measured": measured}
        )
        sizes = {file: draft.inside.size(file) for file in hashes}
        for file, content in beside.files(so_far, outputs, sizes):
            draft.inside.write(file, content)
            hashes[file], sizes[file] = draft.inside.sha256(file), len(content)
            exports.append(file)
    sealed = certificate.sealed(hashes, ledger, quoted_formulas=quoted, measured=measured, exports=exports)
    if key is not None:
        draft.inside.write(SIGNATURE, sign(b"".join(sealed.in_parts()), key))
    with draft.inside.create(CERTIFICATE) as opened:
        opened.writelines(sealed.in_parts())
    draft.seal()
    return sealed


@contextmanager
def cannot_write(folder: Path) -> Iterator[None]:
    """Say of a folder what went wrong in its draft."""
    try:
        yield
    except (OSError, ReleaseError) as error:
        cause = error if isinstance(error, OSError) else error.__cause__
        reason = getattr(cause, "strerror", None) or "the disk refuses"
        reason = reason[:1].lower() + reason[1:]
        raise ReleaseError(f"{folder} cannot be written ({reason}): name another place.") from error


def charged_draft(draft: Path) -> str | None:
    """Say why a draft must stay: it may hold a whole release whose cost a ledger has taken."""
    try:
        row = read_certificate(draft).ledger
    except ReleaseError:
        return None
    if row is None:
        return None
    return (
        f"{draft} holds a release that was charged as row {row.row} of a ledger and not given its name:"
        f" release it again with its ledger and {option('resume', row.row)}, or name a new folder."
    )


def sha256(path: Path) -> str:
    """Return the SHA-256 of a plain file; raises OSError where it is another thing, or a link."""
    if (kind := special(path, links=False)) is not None:
        raise OSError(errno.EINVAL, f"it is {kind}", str(path))
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
