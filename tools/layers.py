"""Rooms and what each may include, as tools/layers.toml has them.

What tools/check_layers and tools/draw_rooms.py share.
"""

import dataclasses
import fnmatch
import pathlib
import posixpath
import re
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLE = ROOT / "tools" / "layers.toml"

INCLUDE = re.compile(r'^#include ["<]tally/(.+?)[">]')


@dataclasses.dataclass(frozen=True)
class Row:
    """A row of the table, which may stand for several rooms."""

    pattern: str
    holds: str
    uses: tuple
    inner: bool = False
    over: tuple = ()
    like: str = ""

    def names(self, path):
        """Whether the pattern is this folder or file."""
        own, given = self.pattern.split("/"), path.split("/")
        return len(own) == len(given) and all(map(fnmatch.fnmatchcase, given, own))

    @property
    def is_file(self):
        return "." in posixpath.basename(self.pattern)

    @property
    def is_pattern(self):
        return "*" in self.pattern and not self.is_file


@dataclasses.dataclass(frozen=True)
class Exemption:
    """An include or a name that the rules forbid, and why it is there."""

    files: tuple
    uses: tuple
    reason: str


class Layers:
    def __init__(self, table):
        self.rows = [
            Row(pattern, row["holds"], tuple(row["uses"]), row.get("inner", False),
                tuple(row.get("over", ())), row.get("like", ""))
            for pattern, row in table["room"].items()
        ]
        self.exempt = [
            Exemption(tuple(each["files"]), tuple(each["uses"]), each["reason"])
            for each in table.get("exempt", ())
        ]
        self.never = table.get("never", [])
        self.libtorch = table.get("libtorch", {"room": "", "private": [], "public": []})
        self.namespaces = table.get("namespaces", {})
        self._rooms = {}

    def is_private(self, header):
        """Whether a header is one of LibTorch's that only its room includes."""
        def matches(kind):
            return any(fnmatch.fnmatchcase(header, each) for each in self.libtorch[kind])

        return matches("private") and not matches("public")

    def row(self, room):
        """The row of a room: its own, or the first pattern that it matches."""
        if room not in self._rooms:
            fitting = [row for row in self.rows if row.names(room)]
            self._rooms[room] = min(fitting, key=lambda row: row.is_pattern, default=None)
        return self._rooms[room]

    def room_of(self, file):
        """The room a file lies in, or nothing if no row has it."""
        for row in self.rows:
            if row.is_file and row.names(file):
                return row.pattern
        folder = posixpath.dirname(file)
        row = self.row(folder) if folder else None
        return folder if row else None

    def top(self, room):
        """The room that stands for this one where circles are looked for."""
        return next((row.pattern for row in self.rows if room in row.over), room)

    def may_use(self, room, other):
        if room == other:
            return True
        row = self.row(other)
        for entry in self.row(room).uses:
            if entry.startswith("."):
                if posixpath.normpath(posixpath.join(room, entry)) == other:
                    return True
            elif entry == other or row is not None and entry in (row.pattern, row.like):
                return True
        return False

    def allowed(self, rooms):
        """The arrows that the table allows between these rooms."""
        return {
            (room, other)
            for room in rooms
            for other in rooms
            if room != other and self.may_use(room, other)
        }


def read_table():
    with TABLE.open("rb") as file:
        return Layers(tomllib.load(file))


def path_from(start, wanted, arrows):
    """The shortest way along arrows (a mapping to iterables) to what is wanted, or
    nothing: a list that begins with `start`."""
    came, queue = {start: None}, [start]
    while queue:
        here = queue.pop(0)
        for there in sorted(arrows.get(here, ())):
            if there in wanted:
                way = [there]
                while here is not None:
                    way.append(here)
                    here = came[here]
                return way[::-1]
            if there not in came:
                came[there] = here
                queue.append(there)
    return None


def circles(arrows):
    """A shortest circle through each node that lies on one, each once: lists that
    begin and end with the same node. `arrows` are pairs."""
    following = {}
    for one, other in arrows:
        following.setdefault(one, set()).add(other)
    found, seen = [], set()
    for start in sorted(following):
        if start in seen:
            continue
        way = path_from(start, {start}, following)
        if way:
            found.append(way)
            seen.update(way)
    return found
