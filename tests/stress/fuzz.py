"""Fuzzing: whatever a file holds, it is read, or refused in one sentence, soon and in little memory."""

import json
import re
import shutil
from pathlib import Path
from random import Random

from tests.stress.material import ledger_at, material
from tests.stress.trial import Outcome, Setting, Trial
from tests.stress.workers import Attempt, Bench, inputs

from holdfast.certificate.sign import read_public_key, read_signing_key, signature_check
from holdfast.certificate.text import canonical, digest
from holdfast.ledger.account import Ledger
from holdfast.ledger.report import export_csv, ledger_report
from holdfast.ledger.verify import verify_ledger
from holdfast.releases.prepare import prepare
from holdfast.verification.verify import verify

TOKENS = (
    *(
        b"0",
        b"-1",
        b"1e999",
        b"-1e-999",
        b"nan",
        b"inf",
        b"9" * 25,
        b"9" * 5000,
        b"0x10",
        b"1_000",
        b"1/0",
        b"1/3",
    ),
    *(
        b"9223372036854775808",
        b"-9223372036854775808",
        b"1.5",
        b"1e5",
        b"true",
        b"null",
        b"''",
        b'""',
        b'"',
        b"'",
    ),
    *(b"\0", b"\xef\xbb\xbf", b"\xff\xfe", b"\r\n", b"\r", b"\n", b"\t", b"\x1b[31m", b"\x7f", b"\xc2\x85"),
    *("\u2028".encode(), "\u202e".encode(), "é".encode(), "\U0001f600".encode(), b"\xed\xa0\x80", b"\xc3"),
    *(
        b"[" * 3000,
        b"{" * 3000,
        b'{"a":' * 1500,
        b"[[",
        b"]",
        b"}",
        b",",
        b",,,,",
        b";",
        b"=",
        b"=1+1",
        b"#",
        b"\\",
    ),
    *(
        b"../../etc/passwd",
        b"/dev/zero",
        b"*.csv",
        b"http://localhost:1/x",
        b"x" * 70_000,
        b"%s%n",
        b"$(id)",
        b" ",
    ),
)
NUMBER = re.compile(rb"-?\d+(\.\d+)?")
STRING = re.compile(rb'"[^"\n]{0,80}"')


def mutated(content: bytes, chance: Random) -> bytes:
    """Change a valid content in a few ways."""
    for _ in range(chance.choice((1, 1, 1, 2, 4, 12))):
        content = chance.choice(CHANGES)(content, chance)
    return content


def _flip(content: bytes, chance: Random) -> bytes:
    changed = bytearray(content or b"\0")
    changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def _delete(content: bytes, chance: Random) -> bytes:
    start, end = _slice(content, chance)
    return content[:start] + content[end:]


def _double(content: bytes, chance: Random) -> bytes:
    start, end = _slice(content, chance)
    return content[:end] + content[start:end] * chance.choice((1, 1, 2, 50)) + content[end:]


def _cut(content: bytes, chance: Random) -> bytes:
    return content[: chance.randrange(len(content) + 1)]


def _insert(content: bytes, chance: Random) -> bytes:
    place = chance.randrange(len(content) + 1)
    return content[:place] + chance.choice(TOKENS) + content[place:]


def _number(content: bytes, chance: Random) -> bytes:
    return _replace(NUMBER, content, chance, chance.choice(TOKENS))


def _string(content: bytes, chance: Random) -> bytes:
    return _replace(STRING, content, chance, b'"' + chance.choice(TOKENS) + b'"')


def _line(content: bytes, chance: Random) -> bytes:
    lines = content.split(b"\n")
    chance.shuffle(lines) if chance.random() < 0.2 else lines.insert(
        chance.randrange(len(lines)), chance.choice(lines)
    )
    return b"\n".join(lines)


CHANGES = (_flip, _flip, _delete, _double, _cut, _insert, _insert, _number, _number, _string, _line)


def _slice(content: bytes, chance: Random) -> tuple[int, int]:
    start = chance.randrange(len(content) + 1)
    return start, min(len(content), start + chance.choice((1, 1, 4, 30, 1000)))


def _replace(pattern: re.Pattern[bytes], content: bytes, chance: Random, new: bytes) -> bytes:
    found = list(pattern.finditer(content[:200_000]))
    if not found:
        return content
    one = chance.choice(found)
    return content[: one.start()] + new + content[one.end() :]


def _change(source: Path, target: Path, bench: Bench) -> None:
    target.write_bytes(mutated(source.read_bytes(), bench.chance))


def spec(bench: Bench) -> None:
    """A changed spec beside a good table."""
    shutil.copy2(bench.material / "children.csv", bench.folder)
    _change(bench.material / "holdfast.toml", bench.folder / "holdfast.toml", bench)
    prepare(bench.folder / "holdfast.toml")


def csv(bench: Bench) -> None:
    """A changed table beside a good spec."""
    shutil.copy2(bench.material / "holdfast.toml", bench.folder)
    _change(bench.material / "children.csv", bench.folder / "children.csv", bench)
    prepare(bench.folder / "holdfast.toml")


def parquet(bench: Bench) -> None:
    """A changed Parquet table beside a good spec."""
    text = (bench.material / "holdfast.toml").read_text(encoding="utf-8")
    (bench.folder / "holdfast.toml").write_text(
        text.replace("children.csv", "children.parquet"), encoding="utf-8"
    )
    _change(bench.material / "children.parquet", bench.folder / "children.parquet", bench)
    prepare(bench.folder / "holdfast.toml")


def certificate(bench: Bench) -> str | None:
    """A changed certificate, its digest made right again where that can be."""
    name = bench.chance.choice(("csv", "parquet"))
    folder = Path(shutil.copytree(bench.material / name, bench.folder / "release"))
    path, before = folder / "certificate.json", (folder / "certificate.json").read_bytes()
    after = mutated(before, bench.chance)
    resealed = False
    if bench.chance.random() < 0.5:
        try:
            body = {key: value for key, value in json.loads(after).items() if key != "digest"}
            after = canonical({**body, "digest": digest(body)}).encode()
            resealed = True
        except (ValueError, AttributeError, TypeError, RecursionError):
            pass
    path.write_bytes(after)
    quick, full = verify(folder, quick=True).kept, verify(folder).kept
    changed = after != before and not resealed
    return "a changed certificate is kept" if changed and (quick or full) else None


def released(bench: Bench) -> str | None:
    """A changed table in a release."""
    name, file = bench.chance.choice((("csv", "table.csv"), ("parquet", "table.parquet")))
    folder = Path(shutil.copytree(bench.material / name, bench.folder / "release"))
    _change(folder / file, folder / file, bench)
    content = json.loads((folder / "certificate.json").read_bytes())
    before = content["files"][file]
    from holdfast.certificate.write import sha256

    after = sha256(folder / file)
    body = {**{key: value for key, value in content.items() if key != "digest"}}
    body["files"] = {**body["files"], file: after}
    (folder / "certificate.json").write_text(canonical({**body, "digest": digest(body)}), encoding="utf-8")
    verify(folder, quick=True)
    return None if before != after or verify(folder).kept else "an unchanged table is not kept"


def ledger(bench: Bench) -> None:
    """A changed ledger, or a changed salt."""
    path = ledger_at(bench.material, bench.folder)
    changed = path if bench.chance.random() < 0.9 else Path(f"{path}.salt")
    _change(changed, changed, bench)
    verify_ledger(path)
    account = Ledger.open(path)
    account.rows()
    ledger_report(path)
    export_csv(path)


def keys(bench: Bench) -> str | None:
    """Changed keys and signatures."""
    source = bench.chance.choice(("key", "key.pub", "csv/certificate.sig"))
    changed = bench.folder / "certificate.sig"
    _change(bench.material / source, changed, bench)
    if source == "key":
        read_signing_key(changed)
    elif source == "key.pub":
        read_public_key(changed)
    else:
        key = read_public_key(bench.material / "key.pub")
        text = (bench.material / "csv" / "certificate.json").read_bytes()
        same = changed.read_bytes() == (bench.material / source).read_bytes()
        return (
            "another signature holds" if signature_check(bench.folder, text, key).holds and not same else None
        )
    return None


def fuzzed(attempt: Attempt, short: int, full: int) -> Trial:
    """Return the trial of one kind of file."""

    def run(setting: Setting) -> Outcome:
        return inputs(setting, (attempt,), material(setting.folder))

    return Trial((attempt.__doc__ or "").split(",")[0].rstrip("."), short, full, run)


TRIALS = (
    fuzzed(spec, 800, 2600),
    fuzzed(csv, 600, 2000),
    fuzzed(parquet, 400, 1200),
    fuzzed(certificate, 500, 1800),
    fuzzed(released, 300, 1000),
    fuzzed(ledger, 300, 900),
    fuzzed(keys, 200, 500),
)
