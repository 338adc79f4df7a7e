"""Files of object stores, as s3://, by fsspec: copied into a folder of this user, removed at the end.

Credentials are those that the store's own library finds: in the environment, or in its files.
"""

import atexit
import shutil
import tempfile
from pathlib import Path, PurePosixPath

from holdfast.spec.model import Spec
from holdfast.system.errors import DataError, SpecError
from holdfast.system.machine import require_memory
from holdfast.system.ways import setting


def located(spec: Spec) -> Path:
    """Return where the file of a spec is: a copy of it, where it is in an object store."""
    path = spec.data.path
    return spec.data_path if path is None or "://" not in path else copied(path)


def copied(address: str) -> Path:
    """Copy a file, the files below a folder, or those that a pattern stands for."""
    try:
        import fsspec  # noqa: PLC0415 - an extra
    except ImportError:
        raise SpecError(
            f"{setting('data', 'path')} is in an object store: install the extra lakes of holdfast-dp."
        ) from None
    try:
        store, place = fsspec.core.url_to_fs(address)
    except (ImportError, ValueError):
        scheme = address.partition("://")[0]
        raise SpecError(
            f"{setting('data', 'path')} is of a store {scheme!r} that fsspec cannot open here: install its"
            " library, such as s3fs for s3."
        ) from None
    root = place.partition("*")[0].rpartition("/")[0] if "*" in place else place
    try:
        whole = "*" in place or store.isdir(place)
        found = store.glob(place) if "*" in place else store.find(place) if whole else [place]
        folder = Path(tempfile.mkdtemp(prefix="holdfast-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        copy = folder
        for one in found:
            name = PurePosixPath(one).relative_to(root) if whole else PurePosixPath(PurePosixPath(one).name)
            copy = folder.joinpath(*(part for part in name.parts if part not in ("..", "/")))
            copy.parent.mkdir(parents=True, exist_ok=True)
            store.get_file(one, str(copy))
    except FileNotFoundError:
        raise DataError(f"{address} does not exist: check the path.") from None
    except Exception as error:  # of any library: what it says may hold a secret
        require_memory(error)
        raise DataError(
            f"{address} cannot be read: check the path, and the credentials in the environment."
        ) from None
    if not found:
        raise DataError(f"{address} stands for no file: check the path.")
    return folder if whole else copy
