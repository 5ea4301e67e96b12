"""Writes an export under a temporary name in its folder, and renames it when it is complete.

A killed process leaves its temporary file, whose hidden name contains the process id. The next export to the same place
removes temporary files whose process has ended. Files written on another machine, or before the last boot, stay.
"""

from __future__ import annotations

import glob
import os
import platform
import re
import shutil
import uuid
import zlib
from contextlib import suppress
from pathlib import Path

from duckdb_priv.engine.private_files import for_readers, write_ahead_of
from duckdb_priv.errors import InvalidParameter, echoed

OTHER_FORMATS = re.compile(
    r"arrow|avro|bz2|csv|feather|gz|html?|ipynb|json|jsonl|ndjson|ods|orc|pdf|pickle|rds|sas7bdat|sav|sql|sqlite3?|tar"
    r"|tsv|txt|xlsx?|xml|xz|ya?ml|zip|zst"
)
"""Extensions of other file formats than DuckDB and Parquet."""
ENDINGS = {"duckdb": frozenset({"duckdb", "ddb", "db"}), "parquet": frozenset({"parquet"})}
"""Extensions of each export format, which the other format may not use."""
HIDING = frozenset({"priv", "estimated"})
"""Schemas of a release that a database of the same name would hide."""
LEFT = re.compile(r"\.(\d+)-([0-9a-f]{8})[0-9a-f]{24}\.(partial|earlier)")


def _machine() -> str:
    """Return a hash of host name, boot and container: within it, process ids are unique."""
    parts = [platform.node()]
    with suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text("ascii"))
    with suppress(OSError):
        parts.append(str(Path("/proc/self/ns/pid").readlink()))
    return f"{zlib.crc32(' '.join(parts).encode()):08x}"


MACHINE = _machine()
"""Part of every temporary name, because process ids have other meanings on other machines."""

_at_work: set[str] = set()
"""The temporary names that this process is writing."""


def place_for(path: str, form: str) -> Path:
    """Return the absolute path of an export after checking its folder, name and extension.

    Raises InvalidParameter for a missing folder, for an extension of another format, and for a path that is neither
    file nor folder, such as a pipe: opening a pipe would block.
    """
    try:
        place = Path(path).expanduser().absolute()
    except RuntimeError as error:
        raise InvalidParameter(
            f"the folder of {echoed(path)} is not known", hint="write the path out"
        ) from error
    if not place.parent.is_dir():
        raise InvalidParameter(
            f"the folder {echoed(str(place.parent))} does not exist",
            hint="make it, or choose another",
        )
    refuse_ending(place, form)
    if form == "duckdb" and place.stem.lower() in HIDING:
        raise InvalidParameter(
            f"a file called {place.stem!r} would hide the schema of that name from everyone who opens it",
            hint="choose another name",
        )
    if place.exists() and not (place.is_file() or place.is_dir()):
        raise InvalidParameter(
            f"{echoed(str(place))} is neither a file nor a folder", hint="choose another name"
        )
    return place


def refuse_ending(place: Path, form: str) -> None:
    """Raise InvalidParameter for a name with the extension of another format."""
    ending = place.suffix.removeprefix(".").lower()
    of_another = [
        f"format := {name!r}" for name in ENDINGS if name != form and ending in ENDINGS[name]
    ]
    if of_another or OTHER_FORMATS.fullmatch(ending):
        raise InvalidParameter(
            f"a name that ends in .{ending} is none of what format := {form!r} writes",
            hint=" or ".join([f"choose a name that ends in .{form}", *of_another]),
        )


def beside(place: Path, ending: str) -> Path:
    """Return the path of an export's companion file with another extension.

    >>> beside(Path("visits.duckdb"), "html").name, beside(Path("visits_1.2"), "html").name
    ('visits.html', 'visits_1.2.html')
    """
    ends = place.suffix.removeprefix(".").lower() in frozenset().union(*ENDINGS.values())
    return place.with_name(f"{place.stem if ends else place.name}.{ending}")


def begin(place: Path) -> Path:
    """Return a temporary path to write to, after removing the temporary files of killed processes."""
    for left in place.parent.glob(f".{glob.escape(place.name)}.*"):
        if (of := LEFT.match(left.name.removeprefix(f".{place.name}"))) and not _is_at_work(
            left.name[: len(place.name) + 1 + of.end()], int(of[1]), of[2]
        ):
            remove(left)
    part = _beside(place, "partial")
    _at_work.add(part.name)
    return part


def hidden_name(name: str, what: str) -> str:
    """Return a unique temporary name for a file that this process writes."""
    return f".{name}.{os.getpid()}-{MACHINE}{uuid.uuid4().hex[8:]}.{what}"


def _beside(place: Path, what: str) -> Path:
    return place.with_name(hidden_name(place.name, what))


def _is_at_work(name: str, process: int, machine: str) -> bool:
    """Return whether the process may still write under a name; True for other machines."""
    if machine != MACHINE:
        return True
    if process == os.getpid():
        return name in _at_work
    if os.name != "posix":
        # Here a file that a running process has open cannot be removed anyway.
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def give_up(part: Path) -> None:
    """Remove a temporary file that will not be renamed."""
    for file in (part, *write_ahead_of(part)):
        remove(file)
    _at_work.discard(part.name)


def remove(path: Path) -> None:
    """Remove a file or a folder with its contents; ignore missing files and files that another process holds."""
    with suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def move_file(part: Path, place: Path) -> None:
    """Move a database file to its place, and remove old write-ahead logs there."""
    for_readers(part)
    sync(part)
    for file in write_ahead_of(place):
        file.unlink(missing_ok=True)
    part.replace(place)
    sync(place.parent)
    _at_work.discard(part.name)


def write_text(place: Path, text: str) -> None:
    """Write a text file under a temporary name, and rename it when it is complete."""
    part = begin(place)
    try:
        part.write_text(text, "utf-8", newline="\n")
        move_file(part, place)
    except BaseException:
        give_up(part)
        raise


def replaceable(place: Path, mark: str) -> bool:
    """Return whether a path does not exist, or is a file that begins with ``mark``."""
    if not place.exists():
        return True
    expected, found = mark.encode(), b""
    if place.is_file():
        with place.open("rb") as file:
            found = file.read(len(expected))
    return found == expected


def refuse_unmarked(place: Path, mark: str, release: str, argument: str) -> None:
    """Refuse to overwrite anything but an earlier file of the same release, which begins with ``mark``.

    ``argument`` is the name of the argument that requests such files.
    """
    if not replaceable(place, mark):
        raise InvalidParameter(
            f"{str(place)!r} exists and does not describe {release!r}",
            hint=f"choose another name for the export, remove it first, or leave {argument} out",
        )


def move_new_folder(part: Path, place: Path) -> None:
    """Move a folder to a path that does not exist; raises InvalidParameter if another process was faster."""
    _complete(part)
    try:
        part.rename(place)
    except OSError as error:
        if not place.exists():
            raise
        raise InvalidParameter(
            f"{echoed(str(place))} exists: it was made meanwhile", hint="choose another path"
        ) from error
    sync(place.parent)
    _at_work.discard(part.name)


def _complete(part: Path) -> None:
    for_readers(part)
    for file in (*part.rglob("*"), part):
        sync(file)


def move_folder(part: Path, place: Path) -> None:
    """Move a folder to its place; replacing an existing folder takes several steps."""
    _complete(part)
    earlier = _beside(place, "earlier")
    if place.exists():
        place.rename(earlier)
    try:
        part.replace(place)
    except BaseException:
        if earlier.exists():
            earlier.rename(place)
        raise
    sync(place.parent)
    remove(earlier)
    _at_work.discard(part.name)


def refuse_replaying(place: Path) -> None:
    """Refuse a path with an old write-ahead log, which DuckDB would replay into the new file."""
    for file in write_ahead_of(place):
        if file.exists():
            raise InvalidParameter(
                f"{echoed(str(file))} is what DuckDB replays when {place.name!r} is opened, which is not there",
                hint="remove it, or choose another name",
            )


def sync(path: Path) -> None:
    """Flush a file, or a folder's list of names, to disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
