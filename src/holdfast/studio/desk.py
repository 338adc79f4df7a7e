"""What the studio remembers: a folder, a spec in it, and what was worked out of both.

The text of the spec file is read anew whenever the file has changed, whoever changed it. What was worked out
is kept by what it was worked out of: the universe of a set of invariants is looked for once, and a table is
read once for as long as its file stays as it is.
"""

import hashlib
import secrets
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import RLock
from typing import Any, Literal, TypeVar

from holdfast.data.files import parts_of
from holdfast.data.read import ReadTable, read_table
from holdfast.public import Public, publish
from holdfast.spec.files import FilesSpec, of_files
from holdfast.spec.load import MOST_BYTES, spec_of, toml_values
from holdfast.spec.model import Spec
from holdfast.spec.tables import TablesSpec
from holdfast.studio.jobs import Job
from holdfast.studio.place import CERTIFICATE, Place
from holdfast.system.errors import HoldfastError, SpecError
from holdfast.system.files import require_file
from holdfast.system.ways import of_a_file

MOST_KEPT, MOST_STEPS_BACK = 48, 100
STAND_IN = "record"
"""The unit by which figures are worked out until one is chosen."""
KeptT = TypeVar("KeptT")


AnySpec = Spec | TablesSpec | FilesSpec


@dataclass(frozen=True)
class SpecState:
    """The spec as it is now: its text, and what it asks for, or why it asks for nothing."""

    text: str
    values: Mapping[str, Any] = field(default_factory=dict)
    spec: AnySpec | None = field(default=None, repr=False)
    problem: str = ""
    no_unit: bool = False
    """Whether nobody has said yet who is protected."""

    @property
    def digest(self) -> str:
        """What tells this text from others."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:16]

    @property
    def kind(self) -> Literal["table", "tables", "records", "none"]:
        """What it is of."""
        if self.spec is None:
            return "none"
        if not isinstance(self.spec, Spec):
            return "tables"
        return "records" if self.spec.of_records else "table"

    @property
    def budget_name(self) -> str:
        """What a budget of its standard is called."""
        if self.spec is None:
            return "epsilon"
        first = self.spec.specs[0] if isinstance(self.spec, FilesSpec) else self.spec
        return first.privacy.budget

    @property
    def table(self) -> Spec:
        """The spec of one table; raises SpecError where there is none."""
        if isinstance(self.spec, Spec) and not self.spec.of_records:
            return self.spec
        raise SpecError(self.problem or "this is of one table of counts, and the spec is not of one.")


@dataclass(eq=False)
class _Slot:
    lock: RLock = field(default_factory=RLock)
    value: Any = None
    full: bool = False


class Desk:
    """The state of the studio, which all tabs share."""

    def __init__(self, place: Place, spec: str | None = None, release: str | None = None) -> None:
        self.place, self.spec_name, self.release = place, spec, release
        self.table: str | None = None
        """Which of several tables is looked at."""
        self.account: str | None = None
        """The ledger that is looked at."""
        self.nonce = secrets.token_urlsafe(16)
        """What tells one release that is asked for from the next."""
        self.jobs: dict[str, Job] = {}
        self.beginning = RLock()
        """Held while a release begins, so that none begins twice."""
        self._lock = RLock()
        self._soon: OrderedDict[Hashable, tuple[str, Job]] = OrderedDict()
        self._slots: OrderedDict[Hashable, _Slot] = OrderedDict()
        self._back: list[tuple[str, str]] = []

    @classmethod
    def at(cls, target: Path) -> "Desk":
        """Return the desk for a folder, a spec or a release; SpecError where it is none of these."""
        if (target / CERTIFICATE).is_file():
            place = Place.of(target.absolute().parent)
            return cls(place, _only_spec(place), target.resolve().name)
        if target.is_dir():
            place = Place.of(target)
            return cls(place, _only_spec(place))
        require_file(target)
        if target.suffix != ".toml":
            raise SpecError(f"{target} is no spec: name a folder, a .toml file, or the folder of a release.")
        return cls(Place.of(target.absolute().parent), target.name)

    # the spec

    @property
    def asked(self) -> SpecState:
        """What the spec asks for, as its file is now."""
        name = self.spec_name
        if name is None:
            return SpecState("", problem="There is no spec yet: choose the data first.")
        text = self._read(name)
        return self.kept(("asked", name, text), lambda: self._parsed(name, text))

    def save(self, text: str) -> None:
        """Write the text of the spec; SpecError where it is none, and the file stays as it was."""
        with self._lock:
            if self.spec_name is None:
                raise SpecError("there is no spec yet: choose the data first.")
            text = text.replace("\r\n", "\n")
            if len(text.encode(errors="surrogatepass")) > MOST_BYTES:
                raise SpecError("the spec is too long: shorten it.")
            toml_values(text, self.spec_name)
            before = self._read(self.spec_name)
            if text != before:
                self._end_searches()
                self.place.write(self.spec_name, text, replace=True)
                self._back = [*self._back[-MOST_STEPS_BACK:], (self.spec_name, before)]

    def edit(self, change: Callable[[str], str]) -> None:
        """Change the text of the spec."""
        with self._lock:
            asked = self.asked
            if self.spec_name is not None:
                toml_values(asked.text, self.spec_name)  # what is no TOML is corrected in its text
            self.save(change(asked.text))

    def undo(self) -> bool:
        """Take the last edit back; whether there was one."""
        with self._lock:
            if not self._back or self._back[-1][0] != self.spec_name:
                return False
            name, text = self._back.pop()
            self.place.write(name, text, replace=True)
            return True

    def take(self, name: str) -> None:
        """Turn to another spec of the folder."""
        require_file(self.place.inside(name))
        with self._lock:
            self.spec_name = name

    @property
    def can_undo(self) -> bool:
        """Whether an edit can be taken back."""
        return bool(self._back) and self._back[-1][0] == self.spec_name

    def _read(self, name: str) -> str:
        path = self.place.inside(name)
        require_file(path)
        if path.stat().st_size > MOST_BYTES:
            raise SpecError(f"{name} is too long for a spec: choose another.")
        return path.read_bytes().decode("utf-8-sig", errors="replace").replace("\r\n", "\n")

    def _parsed(self, name: str, text: str) -> SpecState:
        values: dict[str, Any] = {}
        try:
            with of_a_file():
                values = toml_values(text, name)
                open_unit = any(not unit for _, unit in units_of(values))
                spec = spec_of(_stand_in(values), self.place.inside(name).parent, name)
        except HoldfastError as error:
            return SpecState(text, values, problem=str(error))
        return SpecState(text, values, spec, no_unit=open_unit)

    # what takes long

    def running(self, name: str) -> Job | None:
        """Return the job of a name, while it is not over."""
        job = self.jobs.get(name)
        return job if job is not None and not job.over else None

    def begin(self, name: str, words: str, work: Callable[[Job], Any], wait: float = 1.0) -> Job:
        """Begin a job unless one of its name runs, and wait a moment for it; return the one there is."""
        with self.beginning:
            job = self.running(name)
            if job is None:
                job = self.jobs[name] = Job(words, work).start()
        job.wait(wait)
        return job

    def once(self, name: str, of: Hashable, words: str, work: Callable[[Job], Any], wait: float = 1.0) -> Job:
        """Begin a job unless that of its name is or was for the same; what is for something else is ended."""
        with self.beginning:
            job = self.jobs.get(name)
            if job is None or job.of != of:
                if job is not None:
                    job.end()
                job = self.jobs[name] = Job(words, work, of=of).start()
        job.wait(wait)
        return job

    def end(self, name: str) -> None:
        """End the job of a name where its next stage begins."""
        if (job := self.running(name)) is not None:
            job.end()
            job.wait(2.0)

    # what was worked out

    def kept(self, key: Hashable, make: Callable[[], KeptT]) -> KeptT:
        """Return what was made for a key before, or make it now: once, whoever else asks meanwhile."""
        with self._lock:
            slot = self._slots.pop(key, None) or _Slot()
            self._slots[key] = slot
            while len(self._slots) > MOST_KEPT:
                self._slots.popitem(last=False)
        with slot.lock:
            if not slot.full:
                slot.value, slot.full = make(), True
            found: KeptT = slot.value
            return found

    def soon(self, key: Hashable, make: Callable[[], KeptT], wait: float) -> KeptT | None:
        """Return what `kept` returns if it is there after so many seconds; None while it is being made.

        What kept it from being made is raised when it is asked for again. What was asked of another text of
        the spec is ended: nobody looks at it any more, and it would take the time of what is asked now.
        """
        now = self.asked.digest
        with self._lock:
            text, job = self._soon.pop(key, ("", None))
            if job is None or job.ended:
                self._end_searches(now)
                text, job = now, Job("", lambda _: self.kept(key, make)).start()
            self._soon[key] = text, job
            while len(self._soon) > MOST_KEPT:
                self._soon.popitem(last=False)
        job.wait(wait)
        if not job.over:
            return None
        if job.problem:
            raise HoldfastError(job.problem)
        found: KeptT = job.result
        return found

    def note(self, key: Hashable, value: object) -> None:
        """Keep what is known of a key."""
        self.kept(key, lambda: value)

    def known(self, key: Hashable) -> Any:
        """Return what was kept for a key, None where nothing is."""
        slot = self._slots.get(key)
        return slot.value if slot is not None and slot.full else None

    def _end_searches(self, but: str = "") -> None:
        """End what is looked for of any text of the spec but one: it would take the time of what is asked."""
        for before, older in tuple(self._soon.values()):
            if before != but:
                older.end()

    def reading(self, spec: Spec) -> ReadTable:
        """Return the confidential table of a spec, read once for as long as its file stays as it is."""
        return self.kept(("reading", *self.file_key(spec)), lambda: read_table(spec))

    def public(self, spec: Spec) -> Public:
        """Return what a spec makes public; its universe is worked out once."""
        return self.kept(self.public_key(spec), lambda: self._published(spec))

    def public_key(self, spec: Spec) -> Hashable:
        """Return what the public values of a spec depend on."""
        asked = (spec.invariants, spec.constraints, spec.privacy.whom)
        return ("public", *self.file_key(spec), repr(asked))

    def _published(self, spec: Spec) -> Public:
        reading = self.reading(spec)
        return publish(spec, reading.table, reading.inferred)

    def file_key(self, spec: Spec) -> tuple[Hashable, ...]:
        """Return what tells a table from others: how it is read, and its files as they are."""
        zeros = repr(spec.constraints.structural_zeros)
        return (str(spec.folder), repr(spec.data), zeros, spec.privacy.unit, *self._stamps(spec))

    def _stamps(self, spec: Spec) -> tuple[Hashable, ...]:
        if spec.data.path is None or spec.data.database is not None or "://" in spec.data.path:
            return ()
        path = spec.data_path
        try:
            stats = [(str(one), one.stat()) for one in parts_of(path) or [path]]
        except OSError:
            return ()
        return tuple((name, stat.st_mtime_ns, stat.st_size, stat.st_ino) for name, stat in stats)


def units_of(values: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
    """Return who is protected as a spec says it, "" where it does not: by table, where each is of a file.

    >>> units_of({}), units_of({"privacy": {"unit": "person"}})
    ((('', ''),), (('', 'person'),))
    """
    whole = _unit(values)
    if not of_files(values):
        return (("", whole),)
    tables = [one for one in values["tables"] if isinstance(one, dict)]
    return tuple((str(one.get("name", "")), _unit(one) or whole) for one in tables)


def _stand_in(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values with a unit wherever none is named, by which figures are worked out."""
    found, given = dict(values), values.get("privacy", {})
    if isinstance(given, dict) and not given.get("unit"):
        found["privacy"] = {**given, "unit": STAND_IN}
    if of_files(values):
        found["tables"] = [
            {**one, "privacy": {**one["privacy"], "unit": _unit(one) or _unit(values) or STAND_IN}}
            if isinstance(one, dict) and isinstance(one.get("privacy"), dict)
            else one
            for one in values["tables"]
        ]
    return found


def _unit(values: Mapping[str, Any]) -> str:
    given = values.get("privacy")
    return str(given.get("unit", "")) if isinstance(given, dict) else ""


def _only_spec(place: Place) -> str | None:
    """Return the spec of a folder that has one, or one with the usual name."""
    specs = [name for name in place.specs if "/" not in name]
    return "holdfast.toml" if "holdfast.toml" in specs else specs[0] if len(specs) == 1 else None
