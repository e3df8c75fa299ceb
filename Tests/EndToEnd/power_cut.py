# SPDX-License-Identifier: Apache-2.0
"""The remains of files after a power cut, for programs that ran with Tests/Disk/power_cut.c preloaded.

The disk of this model is as bad as POSIX permits: the contents of a file are safe when the file was synchronised, and a
name when its folder was. Any part of later changes may be there, and in place of data there may be zeros. A rename is
there whole or not at all.

"""

import bisect
import os
import pathlib
from dataclasses import dataclass, field

MODES = ("strict", "all", "random")


@dataclass
class Record:
    kind: str
    inode: str
    offset: int
    path: str
    data: bytes


def read_log(path):
    """All whole records."""
    bytes_, records, place = pathlib.Path(path).read_bytes(), [], 0
    while (end := bytes_.find(b"\n", place)) >= 0:
        kind, inode, offset, names, count = bytes_[place:end].decode().split(" ")
        middle = end + 1 + int(names)
        place = middle + int(count)
        if place > len(bytes_):
            break
        records.append(Record(kind, inode, int(offset), os.fsdecode(bytes_[end + 1:middle]), bytes_[middle:place]))
    return records


@dataclass
class File:
    """A file, or a folder: what happened to it and when, and when it was synchronised."""

    is_folder: bool
    number: int
    changes: list = field(default_factory=list)
    # Pairs: when a synchronisation ended, and when it had begun.
    synchronised: list = field(default_factory=list)

    def safe(self, cut):
        """How many of the changes a power cut at `cut` spares for certain."""
        until = max((began for ended, began in self.synchronised if ended < cut), default=-1)
        return bisect.bisect_left(self.changes, until, key=lambda change: change[0])

    def before(self, cut):
        return bisect.bisect_left(self.changes, cut, key=lambda change: change[0])


def content(changes):
    """The contents of a file after its changes: pairs of an offset and data, or of a size and None."""
    held = bytearray()
    for offset, data in changes:
        if data is None:
            held = held[:offset] if len(held) >= offset else held + bytes(offset - len(held))
        else:
            if len(held) < offset:
                held += bytes(offset - len(held))
            held[offset:offset + len(data)] = data
    return bytes(held)


def names(changes):
    """The names in a folder after its changes."""
    there = {}
    for change in changes:
        match change:
            case ("add", name, file):
                there[name] = file
            case ("remove", name):
                there.pop(name, None)
            case ("move", old, new, file):
                there.pop(old, None)
                there[new] = file
    return there


class History:
    """Everything that happened below a folder that was empty, by the log of the library."""

    def __init__(self, records, root):
        self.records, self.root, self.files = records, str(root), []
        self.top = self.add(True)
        self.inodes, begun = {}, {}
        status = os.stat(root)
        self.inodes[f"{status.st_dev}:{status.st_ino}"] = self.top
        # Lines of what processes reported, and when each was whole.
        self.reports, parts = [], {}
        self.now = {}
        for index, record in enumerate(records):
            match record.kind:
                case "C" | "D":
                    file = self.inodes[record.inode] = self.add(record.kind == "D")
                    self.name(index, record.path, file)
                case "W" if record.inode in self.inodes:
                    self.inodes[record.inode].changes.append((index, record.offset, record.data))
                case "T" if record.inode in self.inodes:
                    self.inodes[record.inode].changes.append((index, record.offset, None))
                case "S":
                    begun[record.offset] = index
                case "E" if record.inode in self.inodes:
                    self.inodes[record.inode].synchronised.append((index, begun[record.offset]))
                case "U":
                    folder, name = self.place(record.path)
                    folder.changes.append((index, "remove", name))
                    self.forget(record.path)
                case "R":
                    self.rename(index, os.fsdecode(record.data), record.path)
                case "L":
                    self.name(index, record.path, self.now[os.fsdecode(record.data)])
                case "M":
                    text = parts.pop((record.path, record.offset), b"") + record.data
                    *lines, rest = text.split(b"\n")
                    self.reports += [(index, line.decode(errors="replace")) for line in lines if line]
                    parts[record.path, record.offset] = rest

    def add(self, is_folder):
        self.files.append(File(is_folder, len(self.files)))
        return self.files[-1]

    def place(self, path):
        folder, _, name = path.rpartition("/")
        return (self.top if folder == self.root else self.now[folder]), name

    def name(self, index, path, file):
        folder, name = self.place(path)
        folder.changes.append((index, "add", name, file))
        self.now[path] = file

    def forget(self, path):
        self.now.pop(path, None)

    def rename(self, index, old, new):
        file = self.now[old]
        (source, was), (target, becomes) = self.place(old), self.place(new)
        if source is target:
            source.changes.append((index, "move", was, becomes, file))
        else:
            source.changes.append((index, "remove", was))
            target.changes.append((index, "add", becomes, file))
        for path in [path for path in self.now if path == old or path.startswith(old + "/")]:
            self.now[new + path[len(old):]] = self.now.pop(path)

    # The files at an instant.

    def find(self, path, cut):
        """The file that a path led to, as programs saw it; None if there was none."""
        file = self.top
        for name in str(path).removeprefix(self.root).strip("/").split("/"):
            if not file.is_folder:
                return None
            file = names(change[1:] for change in file.changes[:file.before(cut)]).get(name)
            if file is None:
                return None
        return file

    def held(self, file, cut):
        return content(change[1:] for change in file.changes[:file.before(cut)])

    def after_power_cut(self, cut, mode, random, target):
        """Writes below `target` what is left of the folder."""
        self.leave(self.top, cut, mode, random, pathlib.Path(target))

    def leave(self, file, cut, mode, random, path):
        safe, until = file.safe(cut), file.before(cut)
        kept, rest = file.changes[:safe], file.changes[safe:until]
        if file.is_folder:
            path.mkdir()
            for name, inner in names(change[1:] for change in kept + some(rest, mode, random)).items():
                self.leave(inner, cut, mode, random, path / name)
            return
        more = some(rest, mode, random)
        if mode == "random" and random.random() < 0.25:
            # The size is there, and the data are not.
            more = [(index, offset, data and bytes(len(data))) for index, offset, data in more]
        path.write_bytes(content(change[1:] for change in kept + more))


def some(changes, mode, random):
    """Changes that happen to be on the disk without having been synchronised."""
    match mode:
        case "strict":
            return []
        case "all":
            return changes
    choice = random.random()
    if choice < 0.25:
        return []
    if choice < 0.5:
        return changes[:random.randrange(len(changes) + 1)]
    return [change for change in changes if random.random() < 0.5]
