"""`holdfast keygen`."""

from pathlib import Path

from holdfast.certificate.sign import generate_keys
from holdfast.cli.reports import print_values
from holdfast.cli.terminal import terminal


def run(path: Path, *, as_json: bool) -> None:
    """Make a pair of keys, and say what each is for."""
    private, public = generate_keys(path)
    if as_json:
        print_values(private=private, public=public)
        return
    console = terminal()
    console.print(
        f"Wrote {private}: keep it secret; sign with holdfast release --sign {private}", soft_wrap=True
    )
    console.print(
        f"Wrote {public}: publish it where readers trust it; they check with"
        f" holdfast verify DIR --public-key {public}",
        soft_wrap=True,
    )
